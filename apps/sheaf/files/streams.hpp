#pragma once

#include <sys/stat.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plan/store/input_file.hpp"
#include "plan/store/output_file.hpp"

// Names of inputs and outputs that need not be files on a disk. `-` is standard input or output; /dev/stdin,
// /dev/stdout and /dev/fd/N are descriptors of this process; pipes with names and devices are streams, too.
namespace sheaf::io {

/// What is behind the name of an input or output, if there is anything.
std::optional<struct stat> status_of_input(const std::string& path);
std::optional<struct stat> status_of_output(const std::string& path);

// Inputs.

/// Opens an input. Work on records needs their number and all of them at random, so the bytes of a stream are kept in a
/// file without a name in temporary_folder() until the process ends; a name that is opened again has the same bytes. A
/// regular file behind standard input, from its first byte on, is read in place.
/// @throws error(bad_input) naming the input; error(io_failure) where the temporary file has no space
input_file open_input(const std::string& path);

/// Whether open_input() has read a stream of this name, whose bytes are kept.
bool is_kept_stream(const std::string& path);

/// Whether a name is that of a stream: `-`, a descriptor, a pipe or a device.
bool names_stream(const std::string& path);

/// What messages call an input or output: "standard input" or "standard output" for `-`, else its name.
std::string shown_input(const std::string& path);
std::string shown_output(const std::string& path);

/// @param inputs  names, of which empty ones are not inputs
/// @throws error(bad_argument) if two of them are one stream, which can be read only once
void require_streams_apart(std::span<const std::string> inputs);

/// Where the bytes of streams and other temporary files go: the folder of the last use_temporary_folder(), else that of
/// the variable TMPDIR, if there is one, else /tmp.
std::string temporary_folder();
/// Whether use_temporary_folder() was called.
bool has_temporary_folder() noexcept;
void use_temporary_folder(std::string folder);

// Outputs.

/// Whether an output is standard output: `-`, /dev/stdout or /dev/fd/1.
bool is_standard_output(const std::string& path);

/// From now on what the process prints on standard output goes to standard error: an output has the first for itself.
void take_standard_output();
bool is_standard_output_taken() noexcept;

/// From now on standard output is left to what the process prints, though an output may have its name: nothing is
/// written to that.
void leave_standard_output();
bool is_standard_output_left() noexcept;

/// The place of an output of this name, which takes standard output if that is it. @throws error(io_failure) for a
/// descriptor that is not open
output_place place_of_output(const std::string& path);

/// @throws error(bad_argument) if an output of bytes that are not text would go to a terminal
void require_no_terminal(const std::string& output, std::string_view option);

}  // namespace sheaf::io
