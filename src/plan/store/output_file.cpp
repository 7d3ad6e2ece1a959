#include "plan/store/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "plan/store/direct.hpp"
#include "plan/store/reserve.hpp"
#include "plan/store/temporary_names.hpp"
#include "plan/store/unnamed_file.hpp"
#include "plan/store/whole_transfer.hpp"

namespace sheaf::io {
namespace {

constexpr int most_name_attempts = 100;
constexpr int most_links = 40;  // as many as Linux follows

[[noreturn]] void fail_writing(const std::string& path, const char* what, const std::string& reason) {
  throw error(error_code::io_failure, fmt::format("{}: {}: {}", path, what, reason));
}
[[noreturn]] void fail_writing(const std::string& path, const char* what, int reason) {
  fail_writing(path, what, std::string(std::strerror(reason)));
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A short name, so that it fits wherever the name of the output fits.
std::string temporary_name(const std::string& folder) {
  std::random_device random;
  return fmt::format("{}/.sheaf-{:08x}{:08x}", folder, random(), random());
}

// A path to the descriptor that linkat accepts without privileges.
std::string descriptor_path(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

}  // namespace

std::string behind_links(const std::string& path) {
  std::string target = path;
  for (int links = 0;; ++links) {
    std::error_code no_link;
    const std::string next = std::filesystem::read_symlink(target, no_link).string();
    if (no_link) return target;
    if (links == most_links) fail_writing(path, "cannot be created", ELOOP);
    target = (std::filesystem::path(folder_of(target)) / next).string();
  }
}

output_file::output_file(output_place place, std::uint64_t bytes, temporary_kind kind) : path_(std::move(place.path)) {
  if (path_.empty()) throw error(error_code::bad_argument, "an empty name names no file");
  if (open_stream(place.descriptor)) return;
  target_ = behind_links(path_);
  struct stat status {};
  const bool exists = stat(target_.c_str(), &status) == 0;
  // A name that is too long, say: found now, and not when the work is done.
  if (!exists && errno != ENOENT) fail_writing(path_, "cannot be created", errno);
  if (exists && S_ISDIR(status.st_mode)) {
    throw error(error_code::bad_argument, fmt::format("{}: a folder; an output is a file", path_));
  }
  if (exists && !S_ISREG(status.st_mode)) {
    throw error(error_code::io_failure, fmt::format("{}: cannot be replaced: not a regular file", path_));
  }
  open_temporary(kind);
  try {
    if (exists && fchmod(descriptor_, status.st_mode & 0777) != 0)
      fail_writing(path_, "cannot be given the old permissions", errno);
    reserve(bytes);
  } catch (...) {
    discard();
    throw;
  }
}

output_file::~output_file() { discard(); }

// The name of a pipe is not followed by hand: behind that of a descriptor, such as /dev/fd/63, there is no path.
bool output_file::open_stream(int given) {
  descriptor_ = given;
  struct stat status {};
  if (given < 0 && stat(path_.c_str(), &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))) {
    do descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) fail_writing(path_, "cannot be opened", errno);
  }
  is_stream_ = descriptor_ >= 0;
  return is_stream_;
}

void output_file::hold(const std::string& folder) {
  if (!is_stream_ || held_for_ >= 0) return;
  const int file = open_without_name(folder);
  if (file < 0) {
    throw error(error_code::io_failure,
                fmt::format("{}: a temporary file for {} cannot be created: {}", folder, path_, std::strerror(errno)));
  }
  held_for_ = std::exchange(descriptor_, file);
}

// Gives the stream what is held for it, and closes it; a network's file system may fail as late as that.
void output_file::end_stream() {
  if (held_for_ >= 0) {
    constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
    const auto piece = std::make_unique_for_overwrite<std::byte[]>(std::min(piece_bytes, written_));
    for (std::uint64_t done = 0; done < written_; done += piece_bytes) {
      const std::uint64_t bytes = std::min(piece_bytes, written_ - done);
      if (!read_whole(descriptor_, done, piece.get(), bytes)) fail_writing(path_, "cannot be read back", errno);
      if (!write_stream(held_for_, piece.get(), bytes)) fail_writing(path_, "cannot be written", errno);
    }
    close(std::exchange(descriptor_, std::exchange(held_for_, -1)));
  }
  if (close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail_writing(path_, "cannot be written", errno);
}

void output_file::discard() noexcept {
  if (held_for_ >= 0) close(std::exchange(held_for_, -1));
  if (descriptor_ < 0) return;
  close(descriptor_);
  descriptor_ = -1;
  if (temporary_.empty()) return;
  const whole_step removed_and_forgotten;
  remove_named();
}

void output_file::remove_named() noexcept {
  unlink(temporary_.c_str());
  forget_temporary(temporary_.c_str());
}

void output_file::open_temporary(temporary_kind kind) {
  const std::string folder = folder_of(target_);
  if (kind == temporary_kind::unnamed_where_possible) {
    descriptor_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 && access(descriptor_path(descriptor_).c_str(), F_OK) == 0) return;
    discard();
  }
  int reason = 0;
  for (int attempt = 0; descriptor_ < 0 && attempt < most_name_attempts; ++attempt) {
    temporary_ = temporary_name(folder);
    const whole_step made_and_noted;
    descriptor_ = open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    reason = errno;
    if (descriptor_ >= 0) note_temporary(temporary_.c_str());
    if (descriptor_ < 0 && reason != EEXIST) break;
  }
  if (descriptor_ < 0) fail_writing(path_, "cannot be created", reason);
}

void output_file::reserve(std::uint64_t bytes) {
  if (is_stream_) return;
  reserved_ = bytes;
  if (const auto reason = io::reserve(descriptor_, reserved_)) fail_writing(path_, "cannot be written", *reason);
}

void output_file::write(const void* from, std::uint64_t bytes) {
  if (is_stream_ && held_for_ < 0) {
    if (!write_stream(descriptor_, from, bytes)) fail_writing(path_, "cannot be written", errno);
    written_ += bytes;
    return;
  }
  const auto* next = static_cast<const char*>(from);
  if (bypasses_cache_) {
    const std::uint64_t aligned = is_direct(written_, from) ? direct_floor(bytes) : 0;
    if (write_whole(descriptor_, written_, next, aligned)) {
      next += aligned;
      written_ += aligned;
      bytes -= aligned;
    } else if (errno != EINVAL) {  // EINVAL: this file system cannot bypass the cache after all
      fail_writing(path_, "cannot be written", errno);
    }
    if (bytes > 0) use_cache();
  }
  if (!write_whole(descriptor_, written_, next, bytes)) {
    fail_writing(path_, held_for_ >= 0 ? "cannot be kept in a temporary file" : "cannot be written", errno);
  }
  written_ += bytes;
}

void output_file::bypass_cache() noexcept {
  if (!is_stream_) bypasses_cache_ = io::bypass_cache(descriptor_);
}

void output_file::use_cache() noexcept {
  if (bypasses_cache_) io::use_cache(descriptor_);
  bypasses_cache_ = false;
}

void output_file::read_at(std::uint64_t offset, void* to, std::uint64_t bytes) {
  use_cache();
  if (!read_whole(descriptor_, offset, to, bytes)) fail_writing(path_, "cannot be read back", errno);
}

std::string output_file::folder() const { return folder_of(target_); }

void output_file::name_temporary() {
  const std::string unnamed = descriptor_path(descriptor_);
  for (int attempt = 0; attempt < most_name_attempts; ++attempt) {
    std::string name = temporary_name(folder_of(target_));
    if (linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_.swap(name);  // cannot fail, so the name is never lost
      note_temporary(temporary_.c_str());
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_writing(path_, "cannot be created", errno);
}

void output_file::finish() {
  if (is_stream_) {
    is_finished_ = true;
    return;
  }
  if (written_ < reserved_ && ftruncate(descriptor_, static_cast<off_t>(written_)) != 0) {
    fail_writing(path_, "cannot be cut to length", errno);
  }
  if (fsync(descriptor_) != 0) fail_writing(path_, "cannot be synced", errno);
  is_finished_ = true;
}

void output_file::commit() {
  output_file* const self = this;
  commit_all({&self, 1});
}

void output_file::commit_all(std::span<output_file* const> files) {
  for (output_file* const f : files) {
    if (!f->is_finished_) f->finish();
  }
  // Streams first, because their readers may be gone, which ends the process or throws.
  std::vector<output_file*> named;
  for (output_file* const f : files) {
    if (f->is_stream_) f->end_stream();
    if (!f->is_stream_) named.push_back(f);
  }
  name_all(named);
  for (const output_file* const f : named) f->sync_folder();
}

void output_file::name_all(std::span<output_file* const> files) {
  const whole_step named_or_as_before;  // all of the files
  for (output_file* const f : files) {
    if (f->temporary_.empty()) f->name_temporary();
  }
  std::size_t named = 0;
  try {
    for (; named < files.size(); ++named) files[named]->take_name(files.size() > 1);
  } catch (...) {
    while (named > 0) files[--named]->give_name_back();
    throw;
  }
  for (output_file* const f : files) f->close_named();
}

void output_file::take_name(bool keeps_old) {
  struct stat there {};
  replaces_ = lstat(target_.c_str(), &there) == 0 && S_ISREG(there.st_mode);
  keeps_old_ = keeps_old && replaces_ &&
               renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0;
  // Where there is no file to keep, or the file system cannot exchange names.
  if (!keeps_old_ && std::rename(temporary_.c_str(), target_.c_str()) != 0)
    fail_writing(path_, "cannot be replaced", errno);
}

void output_file::give_name_back() noexcept {
  if (keeps_old_) {
    renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE);
  } else if (!replaces_) {  // else the old file is gone, and the new one is better than none
    std::rename(target_.c_str(), temporary_.c_str());
  }
  keeps_old_ = false;  // temporary_ is the new file again, which discard() removes
}

void output_file::close_named() noexcept {
  if (keeps_old_) {
    remove_named();
  } else {
    forget_temporary(temporary_.c_str());
  }
  close(descriptor_);
  descriptor_ = -1;
}

// Makes the rename durable; the bytes are synced already.
void output_file::sync_folder() const noexcept {
  const int folder = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

void write_file(output_place place, std::string_view text) {
  output_file file(std::move(place), text.size());
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace sheaf::io
