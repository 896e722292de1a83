/// The machine files that come with the program.
#pragma once

#include <span>
#include <string_view>

namespace pardnn {

struct ShippedMachine {
  std::string_view name;
  std::string_view json;
};

std::span<const ShippedMachine> shipped_machines();

}  // namespace pardnn
