/// Flags that several subcommands share, and what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pardnn/machine.hpp"
#include "pardnn/options.hpp"

namespace CLI {
class App;
}

namespace pardnn::cli {

/// MACHINE of cli.md. Text as typed; empty optional: the flag was not given.
struct MachineFlags {
  std::optional<std::int64_t> devices;
  std::optional<std::string> machine, memory, bandwidth, latency, headroom, links;

  bool names_a_machine() const { return devices.has_value() || machine.has_value(); }
};

void add_machine_flags(CLI::App& app, MachineFlags& flags);

/// The machine that the flags describe. Throws InputError that names the flag.
Machine machine_of(const MachineFlags& flags);
/// Puts --headroom and --links, where given, into `machine`.
void apply_run_flags(const MachineFlags& flags, Machine& machine);

/// What every long command has: threads, progress, JSON.
struct SessionFlags {
  std::int64_t threads = 0;
  std::string progress = "auto";
  bool quiet = false;
  std::optional<std::string> json;
};

void add_session_flags(CLI::App& app, SessionFlags& flags);
void add_json_flag(CLI::App& app, std::optional<std::string>& json);
/// A whole number from 0 to 2^64 - 1.
void add_seed_flag(CLI::App& app, std::uint64_t& seed, const std::string& help);
void add_policy_flag(CLI::App& app, std::optional<std::string>& policy);

/// A whole number from 1 to `greatest`, in decimal.
void add_count_flag(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t greatest, const std::string& help,
                    const std::string& placeholder);
/// A time with its unit; the complaint names `flag`.
Nanoseconds parse_time_flag(std::string_view flag, std::string_view text);

/// A string option whose presence is known: `--flag ''` is given and empty.
void add_text_flag(CLI::App& app, const std::string& name, std::optional<std::string>& value, const std::string& help,
                   const std::string& placeholder);

// Words and what they stand for. The parsers throw InputError that lists the words.
Policy parse_policy(const std::string& word);
Links parse_links(const std::string& word);
Preset parse_preset(const std::string& word);
const char* word_for(Policy policy);
const char* word_for(Links links);
const char* word_for(Preset preset);
/// Millionths as the shortest decimal: "0.1".
std::string decimal(Millionths value);

}  // namespace pardnn::cli
