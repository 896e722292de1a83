/// What a node's name says about where it belongs: modules by '.' and '/', and the phase of the training step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pardnn {

enum class Phase { forward, backward, update };

/// The phase that the first component names ("grad/h0.mm" is backward, "opt/h0.add" an update); forward where it names none.
Phase phase_of(std::string_view name);

/// `name` without its last component, with the separator: "grad/h0.attn." of "grad/h0.attn.mm_1"; empty if it has one component.
std::string_view module_of(std::string_view name);

/// The first `depth` components, that of the phase not counted: "grad/h0" of "grad/h0.attn.mm_1" for 1. The last component is never part of it unless it is the only one.
std::string_view module_prefix(std::string_view name, int depth);

/// What is drawn in one colour: the first component after that of the phase: "h0" of "grad/h0.attn.mm_1".
std::string_view layer_of(std::string_view name);

/// What stands for a layer where names do not tell: one of at most 64 ranges of file ids, "nodes 0 to 99".
std::string range_of(std::int64_t file_id, std::int64_t nodes);

}  // namespace pardnn
