#include "cli/option_flags.hpp"

#include <array>
#include <charconv>
#include <span>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/nearest.hpp"
#include "machine/machine_limits.hpp"
#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

template <typename T>
struct Word {
  std::string_view word;
  T value;
};

constexpr std::array kPolicies{Word<Policy>{"fifo", Policy::fifo}, Word<Policy>{"priority", Policy::priority}};
constexpr std::array kLinks{Word<Links>{"free", Links::free}, Word<Links>{"ports", Links::ports}};
constexpr std::array kPresets{Word<Preset>{"fast", Preset::fast}, Word<Preset>{"default", Preset::standard}, Word<Preset>{"strong", Preset::strong}};

template <typename T, std::size_t N>
T parse_word(const std::array<Word<T>, N>& words, const std::string& typed, std::string_view flag) {
  std::vector<std::string_view> known;
  for (const auto& entry : words) {
    if (entry.word == typed) return entry.value;
    known.push_back(entry.word);
  }
  throw InputError(fmt::format("{} '{}': expected one of {}; did you mean '{}'?", flag, printable(typed, 40), listed(known), nearest(typed, known)));
}

template <typename T, std::size_t N>
const char* find_word(const std::array<Word<T>, N>& words, T value) {
  for (const auto& entry : words) {
    if (entry.value == value) return entry.word.data();
  }
  return "";
}

/// `parse(text)` with the flag's name before its complaint.
template <typename Parse>
std::int64_t parse_flag(std::string_view flag, Parse parse, std::string_view text) {
  try {
    return parse(text);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", flag, error.what()));
  }
}

/// Decimal digits only: 010 is ten, and 0x10 nothing.
std::int64_t parse_count(std::string_view flag, std::string_view text, std::int64_t greatest) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size() || value < 1 || value > greatest) {
    throw InputError(fmt::format("{} {}: expected a whole number from 1 to {}", flag, printable(text, 40), greatest));
  }
  return value;
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

/// Memory of each device: one size for all, or a list of one size for each.
void set_memory(Machine& machine, std::string_view text) {
  const std::vector<std::string_view> sizes = split_at_commas(text);
  if (sizes.size() != 1 && sizes.size() != machine.devices.size()) {
    throw InputError(fmt::format("--memory: {} sizes for {} devices; give one size for all or one for each", sizes.size(), machine.devices.size()));
  }
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    const std::string_view size = sizes[sizes.size() == 1 ? 0 : d];
    machine.devices[d].capacity = parse_flag("--memory", parse_bytes, size);
    if (machine.devices[d].capacity == 0) throw InputError(fmt::format("--memory: '{}': a device needs more than 0 bytes", printable(size, 40)));
  }
  if (sizes.size() > 1) machine.name = fmt::format("{} devices", machine.devices.size());
}

Machine machine_from_numbers(const MachineFlags& flags) {
  if (*flags.devices < 1 || *flags.devices > kMaxDevices) {
    throw InputError(fmt::format("--devices {}: expected 1 to {}", *flags.devices, kMaxDevices));
  }
  const BytesPerSecond bandwidth = flags.bandwidth ? parse_flag("--bandwidth", parse_bandwidth, *flags.bandwidth) : 150'000'000'000;
  const Nanoseconds latency = flags.latency ? parse_flag("--latency", parse_time, *flags.latency) : 5'000;
  if (bandwidth == 0) throw InputError(fmt::format("--bandwidth '{}': it must be at least one byte per second", printable(*flags.bandwidth, 40)));
  Machine machine = homogeneous_machine(static_cast<DeviceId>(*flags.devices), kUnlimited, bandwidth, latency);
  if (flags.memory) set_memory(machine, *flags.memory);
  return machine;
}

}  // namespace

void add_text_flag(CLI::App& app, const std::string& name, std::optional<std::string>& value, const std::string& help,
                   const std::string& placeholder) {
  app.add_option_function<std::string>(name, [&value](const std::string& text) { value = text; }, help)->type_name(placeholder);
}

void add_count_flag(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t greatest, const std::string& help,
                    const std::string& placeholder) {
  const auto read = [&value, name, greatest](const std::string& text) { value = parse_count(name, text, greatest); };
  app.add_option_function<std::string>(name, read, help)->type_name(placeholder);
}

Nanoseconds parse_time_flag(std::string_view flag, std::string_view text) { return parse_flag(flag, parse_time, text); }

void add_machine_flags(CLI::App& app, MachineFlags& flags) {
  const std::string group = "MACHINE";
  app.add_option_function<std::string>("--devices", [&flags](const std::string& text) { flags.devices = parse_count("--devices", text, kMaxDevices); }, "number of equal devices")
      ->type_name("K")->group(group);
  add_text_flag(app, "--machine", flags.machine, "machine file, or a shipped machine: dgx1-8xv100, dgx2-16xv100-32gb, h100-host-8x80gb, a100-2hosts-8x40gb", "FILE|NAME");
  add_text_flag(app, "--memory", flags.memory, "memory of each device, or a list with one size for each (unlimited)", "32GiB[,..]");
  add_text_flag(app, "--bandwidth", flags.bandwidth, "of every link (150GB/s); bits as 200Gbit/s", "150GB/s");
  add_text_flag(app, "--latency", flags.latency, "of every link (5us)", "5us");
  add_text_flag(app, "--headroom", flags.headroom, "share of each device's memory to leave free (0.1)", "0.1");
  add_text_flag(app, "--links", flags.links, "free: without contention; ports: one sending port per device (free)", "free|ports");
  for (const char* name : {"--machine", "--memory", "--bandwidth", "--latency", "--headroom", "--links"}) app.get_option(name)->group(group);
}

Machine machine_of(const MachineFlags& flags) {
  if (flags.devices && flags.machine) throw InputError("give either --devices or --machine, not both");
  if (!flags.names_a_machine()) throw InputError("no machine: give --devices K (with --memory 32GiB ...) or --machine FILE|NAME");
  if (flags.machine && (flags.memory || flags.bandwidth || flags.latency)) {
    throw InputError("--memory, --bandwidth and --latency go with --devices; with --machine the file says them");
  }
  Machine machine = flags.machine ? read_machine(*flags.machine) : machine_from_numbers(flags);
  apply_run_flags(flags, machine);
  return machine;
}

void apply_run_flags(const MachineFlags& flags, Machine& machine) {
  if (flags.headroom) machine.headroom = parse_flag("--headroom", parse_millionths, *flags.headroom);
  if (machine.headroom >= kOne) throw InputError(fmt::format("--headroom {}: expected 0 or more and less than 1", decimal(machine.headroom)));
  if (flags.links) machine.links = parse_links(*flags.links);
}

void add_session_flags(CLI::App& app, SessionFlags& flags) {
  add_json_flag(app, flags.json);
  add_count_flag(app, "--threads", flags.threads, 65536, "threads (as many as this process may use); never changes a result", "N");
  app.add_option("--progress", flags.progress, "auto, bar (terminal), log (sparse lines) or none")->type_name("WORD");
  app.add_flag("-q,--quiet", flags.quiet, "errors only: no progress, no warnings, no report");
}

void add_json_flag(CLI::App& app, std::optional<std::string>& json) {
  add_text_flag(app, "--json", json, "result as JSON; - is standard output", "FILE|-");
}

void add_seed_flag(CLI::App& app, std::uint64_t& seed, const std::string& help) {
  const auto read = [&seed](const std::string& text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error != std::errc{} || end != text.data() + text.size()) {
      throw InputError(fmt::format("--seed '{}': expected a whole number from 0 to 2^64 - 1", printable(text, 40)));
    }
  };
  app.add_option_function<std::string>("--seed", read, help)->type_name("S");
}

void add_policy_flag(CLI::App& app, std::optional<std::string>& policy) {
  add_text_flag(app, "--policy", policy, "how a device picks from its ready operations: fifo or priority (fifo)", "WORD");
}

Policy parse_policy(const std::string& word) { return parse_word(kPolicies, word, "--policy"); }
Links parse_links(const std::string& word) { return parse_word(kLinks, word, "--links"); }
Preset parse_preset(const std::string& word) { return parse_word(kPresets, word, "--preset"); }
const char* word_for(Policy policy) { return find_word(kPolicies, policy); }
const char* word_for(Links links) { return find_word(kLinks, links); }
const char* word_for(Preset preset) { return find_word(kPresets, preset); }

std::string decimal(Millionths value) {
  std::string text = fmt::format("{}.{:06}", value / kOne, value % kOne);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace pardnn::cli
