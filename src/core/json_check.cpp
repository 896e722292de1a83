#include "core/json_check.hpp"

#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "pardnn/error.hpp"

namespace pardnn {

namespace {

using Json = nlohmann::json;

class JsonCheck : public nlohmann::json_sax<Json> {
 public:
  const std::string& fault() const { return fault_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return descend(); }
  bool end_object() override { return ascend(); }
  bool start_array(std::size_t) override { return descend(); }
  bool end_array() override { return ascend(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    fault_ = fmt::format("the key '{}' stands twice in one object", printable(name, 40));
    return false;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) override {
    fault_ = json_fault(position, error.what());
    return false;
  }

 private:
  bool descend() {
    if (keys_.size() == kDeepestJson) {
      fault_ = fmt::format("objects and lists stand more than {} deep in one another", kDeepestJson);
      return false;
    }
    keys_.emplace_back();
    return true;
  }
  bool ascend() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;  ///< of the objects and lists around; none in a list
  std::string fault_;
};

}  // namespace

std::string json_fault(std::size_t byte, std::string_view what) {
  const std::size_t prefix = what.find("] ");
  if (prefix != std::string_view::npos) what.remove_prefix(prefix + 2);
  return fmt::format("not valid JSON at byte {}: {}", byte, printable(what, 200));
}

std::string check_json(const std::string& text) {
  JsonCheck check;
  return Json::sax_parse(text, &check) ? std::string() : check.fault();
}

}  // namespace pardnn
