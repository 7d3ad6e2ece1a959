#pragma once

#include <span>
#include <string>
#include <string_view>

// What is asked of an output's name before any work. Nothing is left behind, and a file that is there stays as it is.
namespace sheaf::io {

/// Before any work, that of `-` too: require_creatable(), or standard output is taken (take_standard_output()).
void require_place(const std::string& output);

/// Who makes the folder of an output.
enum class missing_folders : bool {
  are_errors,
  are_made,  ///< the one who writes makes them; here only the nearest that is there is looked at
};

/// @throws error(io_failure), in the words of output_file, for an output that it could not make now: in a folder that
/// is not there or cannot be written to, on a file system that is read-only, or in the place of what is neither a file
/// nor a stream; error(bad_argument) for a folder
void require_creatable(const std::string& path, missing_folders folders = missing_folders::are_errors);

/// Whether two outputs are one file or stream, also where there is none yet. /dev/null and other devices take several.
bool name_one_file(const std::string& a, const std::string& b);

/// @param option  that names the output, for messages
/// @throws error(bad_argument) if the output is the file of one of the inputs, also under another path, or the archive
/// that has it; inputs without a name are not files
void require_not_an_input(const std::string& output, std::span<const std::string> inputs, std::string_view option);

}  // namespace sheaf::io
