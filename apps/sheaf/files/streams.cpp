#include "apps/sheaf/files/streams.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/npy.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "plan/store/reserve.hpp"
#include "plan/store/unnamed_file.hpp"
#include "plan/store/whole_transfer.hpp"

namespace sheaf::io {
namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;

/// A descriptor that ends with its scope.
class open_descriptor {
 public:
  explicit open_descriptor(int number) noexcept : number_(number) {}
  ~open_descriptor() {
    if (number_ >= 0) close(number_);
  }
  open_descriptor(open_descriptor&& other) noexcept : number_(other.release()) {}
  open_descriptor& operator=(open_descriptor&&) = delete;
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// The bytes of a stream that has been read.
struct kept_stream {
  std::string name;
  open_descriptor file;
};

// What belongs to the process as its standard descriptors do.
struct process_streams {
  std::vector<kept_stream> kept;
  std::optional<std::string> folder;
  int output = -1;       ///< what standard output was, once it is taken
  bool is_left = false;  ///< whether it is left to what is printed
};
process_streams& streams() {
  static process_streams all;
  return all;
}

// The descriptor of this process that a path names.
std::optional<int> descriptor_named(const std::string& path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const char* const end = path.data() + path.size();
    int number = 0;
    const auto [behind, problem] = std::from_chars(path.data() + folder.size(), end, number);
    if (problem == std::errc{} && behind == end && number >= 0) return number;
  }
  return std::nullopt;
}

std::optional<int> descriptor_of_input(const std::string& path) {
  return path == "-" ? STDIN_FILENO : descriptor_named(path);
}

std::optional<int> descriptor_of_output(const std::string& path) {
  return path == "-" ? STDOUT_FILENO : descriptor_named(path);
}

std::optional<struct stat> status_of(std::optional<int> descriptor, const std::string& path) {
  struct stat status {};
  const int failed = descriptor ? fstat(*descriptor, &status) : stat(path.c_str(), &status);
  return failed == 0 ? std::optional(status) : std::nullopt;
}

bool is_stream(const struct stat& status) {
  return S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) || S_ISSOCK(status.st_mode);
}

/// Bytes of a stream on their way to a file without a name.
class spool {
 public:
  spool(int from, std::string name)
      : from_(from), name_(std::move(name)), folder_(temporary_folder()), file_(open_without_name(folder_)) {
    if (file_.get() < 0) fail_keeping(std::strerror(errno));
  }

  open_descriptor read_all() {
    const auto piece = std::make_unique_for_overwrite<std::byte[]>(piece_bytes);
    progress_step step("reading " + name_, progress_unit::bytes);
    // Of an array that is longer than announced, a little more tells enough.
    while (!announced_ || bytes_ <= *announced_) {
      const ssize_t count = read_stream(from_, piece.get(), piece_bytes);
      if (count < 0) fail(name_, "byte {}: cannot be read: {}", bytes_, std::strerror(errno));
      if (count == 0) break;
      const auto fresh = std::span(piece.get(), static_cast<std::size_t>(count));
      if (!write_whole(file_.get(), bytes_, fresh.data(), fresh.size())) fail_keeping(std::strerror(errno));
      bytes_ += fresh.size();
      if (!announced_ && !is_no_array_) look_at_front(fresh, step);
      step.add(fresh.size());
    }
    if (announced_ && ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) fail_keeping(std::strerror(errno));
    return std::move(file_);
  }

 private:
  // An array says in its header how many bytes it has, for which there is space or not.
  void look_at_front(std::span<const std::byte> fresh, progress_step& step) {
    front_.insert(front_.end(), fresh.begin(), fresh.end());
    const npy_announcement found = announced_by_npy(front_);
    is_no_array_ = found.is_none;
    if (found.file_bytes) {
      if (const auto reason = reserve(file_.get(), std::max(*found.file_bytes, bytes_))) fail_keeping(*reason);
      announced_ = found.file_bytes;
      step.expect(*found.file_bytes);
    }
    if (announced_ || is_no_array_) front_ = {};
  }

  [[noreturn]] void fail_keeping(const std::string& reason) const {
    throw_error(error_code::io_failure,
                "{}: {} bytes are read, and the temporary file for them in {} cannot be written: {}; --temporary or "
                "TMPDIR names another folder",
                name_, bytes_, folder_, reason);
  }

  int from_;
  std::string name_;
  std::string folder_;
  open_descriptor file_;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> front_;  ///< of the stream, until it is known what it is
  bool is_no_array_ = false;
  std::optional<std::uint64_t> announced_;
};

input_file file_of(int descriptor, const std::string& name) {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (copy < 0) fail(name, "cannot be opened: {}", std::strerror(errno));
  return {copy, name};
}

open_descriptor opened(const std::string& path, const std::string& name) {
  const std::optional<int> number = descriptor_of_input(path);
  int descriptor = -1;
  do {
    descriptor = number ? fcntl(*number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                        : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) fail(name, "cannot be opened: {}", std::strerror(errno));
  return open_descriptor(descriptor);
}

}  // namespace

std::optional<struct stat> status_of_input(const std::string& path) {
  return status_of(descriptor_of_input(path), path);
}

std::optional<struct stat> status_of_output(const std::string& path) {
  const std::optional<int> number = descriptor_of_output(path);
  return status_of(number == STDOUT_FILENO && is_standard_output_taken() ? streams().output : number, path);
}

bool is_kept_stream(const std::string& path) {
  const auto& kept = streams().kept;
  return std::ranges::find(kept, shown_input(path), &kept_stream::name) != kept.end();
}

input_file open_input(const std::string& path) {
  const std::string name = shown_input(path);
  const auto kept = std::ranges::find(streams().kept, name, &kept_stream::name);
  if (kept != streams().kept.end()) return file_of(kept->file.get(), name);
  if (!names_stream(path)) return input_file(path);
  open_descriptor descriptor = opened(path, name);
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0) fail(name, "cannot be examined: {}", std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(name, "not a regular file");
  const bool is_at_start = lseek(descriptor.get(), 0, SEEK_CUR) == 0;
  if (S_ISREG(status.st_mode) && is_at_start) return {descriptor.release(), name};
  streams().kept.push_back({name, spool(descriptor.get(), name).read_all()});
  return file_of(streams().kept.back().file.get(), name);
}

bool names_stream(const std::string& path) {
  if (descriptor_of_input(path)) return true;
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
}

std::string shown_input(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string shown_output(const std::string& path) { return path == "-" ? "standard output" : path; }

void require_streams_apart(std::span<const std::string> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (inputs[i].empty() || inputs[j].empty()) continue;
      const auto number = descriptor_of_input(inputs[i]);
      bool is_one = number && number == descriptor_of_input(inputs[j]);
      const auto a = status_of_input(inputs[i]);
      const auto b = status_of_input(inputs[j]);
      // A device such as /dev/null may be opened twice.
      if (a && b && is_stream(*a) && !S_ISCHR(a->st_mode))
        is_one = is_one || (a->st_dev == b->st_dev && a->st_ino == b->st_ino);
      if (!is_one) continue;
      const std::string name = shown_input(inputs[j]);
      const std::string other = inputs[i] == inputs[j] ? "" : fmt::format(" (also {})", shown_input(inputs[i]));
      throw_error(error_code::bad_argument, "{}{} is two of the inputs, but a stream can be read only once", name,
                  other);
    }
  }
}

std::string temporary_folder() {
  if (streams().folder) return *streams().folder;
  const char* const folder = std::getenv("TMPDIR");
  std::error_code none;
  return folder != nullptr && std::filesystem::is_directory(folder, none) ? folder : "/tmp";
}

bool has_temporary_folder() noexcept { return streams().folder.has_value(); }

void use_temporary_folder(std::string folder) { streams().folder = std::move(folder); }

bool is_standard_output(const std::string& path) { return descriptor_of_output(path) == STDOUT_FILENO; }

void take_standard_output() {
  int& taken = streams().output;
  if (taken >= 0) return;
  std::fflush(stdout);
  taken = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (taken >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
}

output_place place_of_output(const std::string& path) {
  const std::optional<int> number = descriptor_of_output(path);
  if (!number) return path;
  const std::string name = shown_output(path);
  if (number == STDOUT_FILENO) take_standard_output();
  const int behind = number == STDOUT_FILENO ? streams().output : *number;
  const int copy = fcntl(behind, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (copy < 0) throw_error(error_code::io_failure, "{}: cannot be opened: {}", name, std::strerror(errno));
  return {copy, name};
}

bool is_standard_output_taken() noexcept { return streams().output >= 0; }

void leave_standard_output() { streams().is_left = true; }

bool is_standard_output_left() noexcept { return streams().is_left; }

void require_no_terminal(const std::string& output, std::string_view option) {
  const std::optional<int> number = descriptor_of_output(output);
  if (number == STDOUT_FILENO && is_standard_output_left()) return;
  const bool is_taken = number == STDOUT_FILENO && is_standard_output_taken();
  struct stat status {};
  bool is_terminal = false;
  if (number) {
    is_terminal = isatty(is_taken ? streams().output : *number) == 1;
  } else if (stat(output.c_str(), &status) == 0 && S_ISCHR(status.st_mode)) {
    const open_descriptor device(open(output.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    is_terminal = device.get() >= 0 && isatty(device.get()) == 1;
  }
  if (!is_terminal) return;
  throw_error(error_code::bad_argument,
              "{} {}: a terminal, and the result is not text; send it on by > FILE or | PROGRAM", option, output);
}

}  // namespace sheaf::io
