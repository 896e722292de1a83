/// Files that a command will write: checked before the work starts, so that an hour of it is not lost to a typing slip.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pardnn::cli {

/// Throws InputError if an output is one of `inputs` or given twice, or its folder does not exist; SystemError if its folder
/// takes no new file. "-" is standard output.
void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// Throws InputError unless the extension of `file` is one of `extensions` (".h5" ...).
void check_extension(const std::string& file, const std::vector<std::string>& extensions, const char* what);

/// ".h5", ".tsv", ".json": what a placement may be written to.
void check_placement_extension(const std::string& file);

/// True if a placement file of this name carries node names.
bool placement_needs_names(const std::string& file);

/// Writes `text` and a line end to `file` as a whole, or to standard output if it is "-". Throws SystemError.
void write_document(const std::string& file, const std::string& text);

}  // namespace pardnn::cli
