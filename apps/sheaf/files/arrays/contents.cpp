#include "apps/sheaf/files/arrays/contents.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/ranges.h>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/npy.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/files/zip.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

constexpr std::size_t most_names_shown = 20;
constexpr std::string_view array_ending = ".npy";
constexpr std::string_view archive_ending = ".npz";

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) || names_stream(path);
}

/// A path as a file and the member of it; an empty one for the file alone.
struct member_path {
  std::string file;
  std::string member;
};

// The longest part before a colon that is a file, unless the whole path is one.
std::optional<member_path> split_path(const std::string& path) {
  if (is_there(path)) return std::nullopt;
  for (std::size_t colon = path.rfind(':'); colon != path.npos && colon > 0; colon = path.rfind(':', colon - 1)) {
    if (is_file(path.substr(0, colon))) return member_path{path.substr(0, colon), path.substr(colon + 1)};
  }
  return std::nullopt;
}

bool is_archive(const input_file& file) {
  std::byte front[zip_magic_bytes] = {};
  const std::uint64_t bytes = std::min<std::uint64_t>(file.size(), sizeof front);
  file.read_at(0, front, bytes);
  return starts_as_zip(front, bytes);
}

std::string shown_name(const zip_member& member) {
  std::string_view name = member.name;
  if (name.ends_with(array_ending)) name.remove_suffix(array_ending.size());
  return core::printable(name);
}

std::string list_of(const std::vector<zip_member>& members) {
  std::vector<std::string> names;
  for (const zip_member& m : members) {
    if (names.size() < most_names_shown) names.push_back(shown_name(m));
  }
  std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (members.size() > names.size()) list += fmt::format(" and {} more", members.size() - names.size());
  return list;
}

const zip_member& only_member(const std::vector<zip_member>& members, const std::string& file) {
  if (members.size() > 1) {
    // Of `-` as of a file, a name goes behind a path.
    fail(file, "an archive of {} members; {}:NAME reads one of {}", members.size(),
         file == shown_input("-") ? "/dev/stdin" : file, list_of(members));
  }
  return members.front();
}

const zip_member& member_named(const std::vector<zip_member>& members, const std::string& name,
                               const std::string& file) {
  const auto count = [&](const std::string& of) {
    return std::ranges::count_if(members, [&](const zip_member& m) { return m.name == of; });
  };
  const std::string full = count(name) > 0 ? name : name + std::string(array_ending);
  const auto found = std::ranges::find(members, full, &zip_member::name);
  if (found == members.end()) {
    fail(file, "has no member {}; it has {}", core::printable(name), list_of(members));
  }
  if (count(full) > 1) fail(file, "has {} members called {}", count(full), core::printable(full));
  return *found;
}

}  // namespace

array_contents::array_contents(const std::string& path, const unpacking& where)
    : file_(open_input(file_behind(path))), name_(file_.path()), size_(file_.size()) {
  const std::optional<member_path> inner = split_path(path);
  const bool archive = is_archive(file_);
  if (inner && inner->member.empty()) fail(file_.path(), "the name of a member is missing after the colon");
  if (inner && !archive) {
    fail(file_.path(), "is not an .npz archive, so it has no member {}", core::printable(inner->member));
  }
  if (archive) open_member(inner ? inner->member : "", where);
}

array_contents::array_contents(const std::string& path, const char* option)
    : file_(open_input(file_behind(path))), name_(file_.path()), size_(file_.size()) {
  if (split_path(path) || (path.ends_with(archive_ending) && is_archive(file_))) {
    fail(path, "an array of an archive, but {} is for raw files", option);
  }
}

void array_contents::open_member(const std::string& member, const unpacking& where) {
  const zip_bytes archive{
      file_.size(), [this](std::uint64_t offset, void* to, std::uint64_t bytes) { file_.read_at(offset, to, bytes); },
      file_.path()};
  const std::vector<zip_member> members = read_zip_directory(archive);
  if (members.empty()) fail(file_.path(), "an archive without members");
  const zip_member& found =
      member.empty() ? only_member(members, file_.path()) : member_named(members, member, file_.path());
  name_ = fmt::format("{}:{}", file_.path(), core::printable(found.name));
  offset_ = find_member(archive, found);
  size_ = found.bytes;
  if (is_stored(found)) return check_stored(archive, found, offset_);

  const std::uint64_t first = offset_;
  offset_ = 0;
  if (size_ > where.most_memory_bytes) {
    scratch_ = std::make_unique<scratch_file>(where.folder, size_, cache_use::keep);
  } else {
    require_memory_for_copy(name_, size_);
    held_ = held_memory(name_ + " unpacked", size_);
    unpacked_ = std::make_unique_for_overwrite<std::byte[]>(size_);
  }
  std::uint64_t done = 0;
  progress_step step("unpacking " + name_, progress_unit::bytes, static_cast<double>(size_));
  inflate_member(archive, found, first, [&](std::span<const std::byte> piece) {
    if (scratch_ != nullptr) {
      scratch_->write_at(done, piece.data(), piece.size());
    } else {
      std::memcpy(unpacked_.get() + done, piece.data(), piece.size());
    }
    done += piece.size();
    step.add(piece.size());
  });
}

const std::byte* array_contents::data() const {
  if (size_ == 0) return nullptr;
  if (scratch_ != nullptr && unpacked_ == nullptr) {
    unpacked_ = std::make_unique_for_overwrite<std::byte[]>(size_);
    scratch_->read_at(0, unpacked_.get(), size_);
  }
  return unpacked_ != nullptr ? unpacked_.get() : file_.data() + offset_;
}

void array_contents::read_at(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  if (unpacked_ != nullptr) {
    if (bytes > 0) std::memcpy(to, unpacked_.get() + offset, bytes);
  } else if (scratch_ != nullptr) {
    scratch_->read_at(offset, to, bytes);
  } else {
    file_.read_at(offset_ + offset, to, bytes);
  }
}

void require_memory_for_copy(const std::string& name, std::uint64_t bytes) {
  const available_memory available = memory_available();
  if (bytes <= available.bytes) return;
  throw_error(error_code::out_of_memory, "{}: a copy of its {} bytes is needed in memory, but {}", name, bytes,
              available.text());
}

bool names_array(const std::string& path) {
  if (names_stream(path)) {
    const input_file file = open_input(path);
    std::byte front[npy_magic_bytes] = {};
    const std::uint64_t bytes = std::min<std::uint64_t>(file.size(), sizeof front);
    file.read_at(0, front, bytes);
    return starts_as_npy({front, bytes}) || starts_as_zip(front, bytes);
  }
  return path.ends_with(array_ending) || path.ends_with(archive_ending) || split_path(path).has_value();
}

std::string file_behind(const std::string& path) {
  const std::optional<member_path> inner = split_path(path);
  return inner ? inner->file : path;
}

}  // namespace sheaf::io
