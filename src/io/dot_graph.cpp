#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "io/name_index.hpp"
#include "io/text_file.hpp"
#include "io/text_graph.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

namespace {

// ---------------------------------------------------------------------------------------------------- tokens

struct Token {
  enum class Kind { end, name, arrow, symbol };
  Kind kind = Kind::end;
  /// The name, or the one character of a symbol.
  std::string text;
  bool quoted = false;
  std::int64_t line = 1;

  bool is(char symbol) const { return kind == Kind::symbol && text[0] == symbol; }
  /// Keywords are not case-sensitive and never quoted.
  bool is_word(std::string_view word) const {
    return kind == Kind::name && !quoted && text.size() == word.size() &&
           std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
  }
};

[[noreturn]] void refuse(std::int64_t line, const std::string& what) { throw InputError(fmt::format("line {}: {}", line, what)); }

/// Cuts a text into tokens (Graphviz, "DOT Language"); one pass, no recursion.
class DotLexer {
 public:
  explicit DotLexer(std::string_view text) : text_(text) {}

  Token next() {
    skip_blanks();
    Token token;
    token.line = line_;
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (c == '"') return quoted(token);
    if (c == '<') refuse(line_, "HTML-like names are not supported; put the name in quotes");
    if (c == '-' && at_ + 1 < text_.size() && (text_[at_ + 1] == '>' || text_[at_ + 1] == '-')) return arrow(token);
    if (is_name_byte(c) || c == '-' || c == '.') return bare(token);
    if (std::string_view("{}[];,=:").find(c) == std::string_view::npos) refuse(line_, fmt::format("unexpected '{}'", printable(text_.substr(at_, 1))));
    token.kind = Token::Kind::symbol;
    token.text = c;
    ++at_;
    return token;
  }

 private:
  static bool is_name_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80; }

  bool starts(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void advance_past(std::string_view end, const char* what) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) refuse(line_, what);
    line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_), text_.begin() + static_cast<std::ptrdiff_t>(found), '\n');
    at_ = found + end.size();
  }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool line_start = at_ == 0 || text_[at_ - 1] == '\n';
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (starts("//") || (c == '#' && line_start)) {
        skip_line();
      } else if (starts("/*")) {
        at_ += 2;
        advance_past("*/", "comment without an end");
      } else {
        return;
      }
    }
  }

  Token arrow(Token token) {
    if (text_[at_ + 1] == '-') refuse(line_, "undirected edge '--': the graph must be a digraph with '->'");
    token.kind = Token::Kind::arrow;
    token.text = "->";
    at_ += 2;
    return token;
  }

  Token bare(Token token) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_byte(text_[at_]) || text_[at_] == '.' || (text_[at_] == '-' && at_ == begin))) ++at_;
    token.kind = Token::Kind::name;
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }

  Token quoted(Token token) {
    token.kind = Token::Kind::name;
    token.quoted = true;
    while (true) {
      append_quoted(token);
      skip_blanks();
      if (at_ == text_.size() || text_[at_] != '+') return token;
      ++at_;
      skip_blanks();
      if (at_ == text_.size() || text_[at_] != '"') refuse(line_, "expected a quoted text after '+'");
    }
  }

  void append_quoted(Token& token) {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return;
      }
      if (c == '\n') ++line_;
      if (c != '\\' || at_ + 1 == text_.size()) {
        token.text += c;
        continue;
      }
      const char escaped = text_[++at_];
      if (escaped == '\n') {
        ++line_;  // the line goes on
      } else if (escaped == '"' || escaped == '\\') {
        token.text += escaped;
      } else {
        token.text += '\\';
        token.text += escaped;
      }
    }
    refuse(token.line, "quoted text without an end");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

// ---------------------------------------------------------------------------------------------------- statements

struct Attribute {
  std::string key, value;
  std::int64_t line;
};
using Attributes = std::vector<Attribute>;

/// Defaults that `node [...]` and `edge [...]` have set so far; a subgraph starts with those around it.
struct Scope {
  Attributes node, edge;
};

std::string place(std::int64_t line) { return fmt::format("line {}", line); }

class DotReader {
 public:
  explicit DotReader(std::string_view text) : lexer_(text) { step(); }

  TextGraph read() {
    read_head();
    scopes_.emplace_back();
    while (!scopes_.empty()) read_statement();
    if (token_.kind != Token::Kind::end) refuse(token_.line, "expected nothing after the graph; one graph a file");
    return builder_.finish();
  }

 private:
  void step() {
    token_ = std::move(following_);
    if (!primed_) {
      token_ = lexer_.next();
      primed_ = true;
    }
    following_ = token_.kind == Token::Kind::end ? Token{} : lexer_.next();
  }

  std::string take_name(const char* what) {
    if (token_.kind != Token::Kind::name) refuse(token_.line, fmt::format("expected {}, found {}", what, found()));
    std::string text = std::move(token_.text);
    step();
    return text;
  }

  std::string found() const { return token_.kind == Token::Kind::end ? "the end of the text" : fmt::format("'{}'", printable(token_.text, 40)); }

  void expect(char symbol) {
    if (!token_.is(symbol)) refuse(token_.line, fmt::format("expected '{}', found {}", symbol, found()));
    step();
  }

  void read_head() {
    if (token_.is_word("strict")) step();  // parallel edges are merged in any case
    if (token_.is_word("graph")) refuse(token_.line, "an undirected graph; expected a digraph");
    if (!token_.is_word("digraph")) refuse(token_.line, fmt::format("expected 'digraph', found {}: not a graph in DOT", found()));
    step();
    if (token_.kind == Token::Kind::name) builder_.set_graph("name", take_name("a name"), place(token_.line));
    expect('{');
  }

  void open_scope() {
    constexpr std::size_t kDeepest = 1000;
    if (scopes_.size() >= kDeepest) refuse(token_.line, fmt::format("subgraphs nested more than {} deep", kDeepest));
    expect('{');
    scopes_.push_back(Scope(scopes_.back()));
  }

  void close_scope() {
    expect('}');
    scopes_.pop_back();
    if (token_.kind == Token::Kind::arrow) refuse(token_.line, "subgraphs as ends of edges are not supported; write the edges out");
  }

  void read_statement() {
    if (token_.is(';') || token_.is(',')) return step();
    if (token_.is('}')) return close_scope();
    if (token_.is('{')) return open_scope();
    if (token_.is_word("subgraph")) {
      step();
      if (token_.kind == Token::Kind::name) step();
      return open_scope();
    }
    if (token_.is_word("node")) return read_defaults(scopes_.back().node, TextGraphBuilder::knows_node_key);
    if (token_.is_word("edge")) return read_defaults(scopes_.back().edge, TextGraphBuilder::knows_edge_key);
    if (token_.is_word("graph")) {
      step();
      for (const Attribute& attribute : read_attributes()) set_graph(attribute);
      return;
    }
    if (token_.kind == Token::Kind::name && following_.is('=')) return set_graph(read_assignment());
    read_nodes_or_edges();
  }

  void set_graph(const Attribute& attribute) {
    if (scopes_.size() == 1 && attribute.key != "name") builder_.set_graph(attribute.key, attribute.value, place(attribute.line));
  }

  Attribute read_assignment() {
    const std::int64_t line = token_.line;
    std::string key = take_name("the name of an attribute");
    if (!token_.is('=')) return {std::move(key), "true", line};
    step();
    return {std::move(key), take_name("the value of an attribute"), line};
  }

  Attributes read_attributes() {
    Attributes attributes;
    while (token_.is('[')) {
      step();
      while (!token_.is(']')) {
        if (token_.is(',') || token_.is(';')) {
          step();
        } else {
          attributes.push_back(read_assignment());
        }
      }
      step();
    }
    return attributes;
  }

  /// Keeps only what means something here: a scope holds a handful of defaults, however many the text has.
  void read_defaults(Attributes& defaults, bool (*is_known)(std::string_view)) {
    step();
    for (Attribute& attribute : read_attributes()) {
      if (!is_known(attribute.key)) continue;
      const auto known = std::find_if(defaults.begin(), defaults.end(), [&](const Attribute& d) { return d.key == attribute.key; });
      if (known == defaults.end()) {
        defaults.push_back(std::move(attribute));
      } else {
        *known = std::move(attribute);
      }
    }
  }

  std::int64_t read_node() {
    const std::string name = take_name("a node");
    while (token_.is(':')) {  // port, compass point
      step();
      take_name("a port");
    }
    std::int64_t node = builder_.find(name);
    if (node < 0) {
      node = builder_.add_node(name);
      set_node(node, scopes_.back().node);
    }
    return node;
  }

  void set_node(std::int64_t node, const Attributes& attributes) {
    for (const Attribute& attribute : attributes) builder_.set(node, attribute.key, attribute.value, place(attribute.line));
  }

  void read_nodes_or_edges() {
    if (token_.kind != Token::Kind::name) refuse(token_.line, fmt::format("expected a node, an edge or '}}', found {}", found()));
    std::vector<std::int64_t> chain{read_node()};
    while (token_.kind == Token::Kind::arrow) {
      step();
      if (token_.is('{') || token_.is_word("subgraph")) refuse(token_.line, "subgraphs as ends of edges are not supported; write the edges out");
      chain.push_back(read_node());
    }
    const Attributes attributes = read_attributes();
    if (chain.size() == 1) return set_node(chain[0], attributes);
    std::int64_t bytes = 0, output = -1;
    const Attributes& defaults = scopes_.back().edge;
    for (const Attributes* given : {&defaults, &attributes}) {
      for (const Attribute& attribute : *given) {
        if (attribute.key == "bytes") bytes = builder_.bytes_of(attribute.value, place(attribute.line));
        if (attribute.key == "output") output = output_of(attribute);
      }
    }
    for (std::size_t i = 1; i < chain.size(); ++i) builder_.add_edge(chain[i - 1], chain[i], bytes, output);
  }

  std::int64_t output_of(const Attribute& attribute) {
    const std::int64_t output = builder_.integer_of(attribute.value, place(attribute.line));
    if (output < 0) builder_.complain(place(attribute.line), fmt::format("output {} is negative", output));
    return std::max<std::int64_t>(output, 0);
  }

  DotLexer lexer_;
  Token token_, following_;
  bool primed_ = false;
  std::vector<Scope> scopes_;
  TextGraphBuilder builder_;
};

}  // namespace

TextGraph parse_dot_graph(std::string_view text) { return DotReader(text).read(); }

// ---------------------------------------------------------------------------------------------------- writing

namespace {

/// `text` in quotes. Control characters, which no legal name has, cannot leave the quotes either.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string name_text(const GraphData& data, std::int64_t n) {
  std::string buffer;
  return quoted(name_of(data.names, n, buffer));
}

std::string node_line(const GraphData& data, std::int64_t n) {
  std::string text = fmt::format("  {} [comp={}, mem={}", name_text(data, n), data.comp[n], data.mem[n]);
  if (!data.temp.empty() && data.temp[n] != 0) text += fmt::format(", temp={}", data.temp[n]);
  if (!data.kind.empty() && data.kind[n] != 0) text += fmt::format(", kind={}", kind_name(data.kind[n]));
  if (!data.colocation.empty() && data.colocation[n] >= 0) text += fmt::format(", colocation={}", data.colocation[n]);
  if (!data.alias.empty() && data.alias[n] >= 0) text += fmt::format(", alias={}", name_text(data, data.alias[n]));
  if (!data.fixed.empty() && data.fixed[n] >= 0) text += fmt::format(", fixed={}", data.fixed[n]);
  if (!data.gradient_of.empty() && data.gradient_of[n] >= 0) text += fmt::format(", gradient_of={}", name_text(data, data.gradient_of[n]));
  if (!data.op.empty()) text += fmt::format(", op={}", quoted(data.op_types[data.op[n]]));
  return text + "];\n";
}

}  // namespace

void write_dot_graph(const std::string& file, const std::string& shown, const GraphData& data) {
  TextWriter out(file, shown);
  out.append(fmt::format("digraph {} {{\n  graph [producer={}, samples_per_step={}];\n", quoted(data.name), quoted(data.producer), data.samples_per_step));
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) out.append(node_line(data, n));
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) {
    const std::string from = name_text(data, n);
    for (std::int64_t e = data.indptr[n]; e < data.indptr[n + 1]; ++e) {
      const std::string output = data.output.empty() ? "" : fmt::format(", output={}", data.output[e]);
      out.append(fmt::format("  {} -> {} [bytes={}{}];\n", from, name_text(data, data.indices[e]), data.bytes[e], output));
    }
  }
  out.append("}\n");
  out.close();
}

}  // namespace pardnn
