#include "apps/sheaf/ranks/part_file.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "distributed/collectives.hpp"
#include "plan/store/whole_transfer.hpp"

#include "apps/sheaf/ranks/process.hpp"

namespace sheaf::cli {
namespace {

[[noreturn]] void fail_writing(const std::string& path, const char* what, int reason) {
  throw error(error_code::io_failure, fmt::format("{}: {}: {}", path, what, std::strerror(reason)));
}

}  // namespace

part_file::part_file(const distributed::group& ranks, const std::string& path, const std::string& header,
                     std::uint64_t bytes)
    : ranks_(ranks), path_(path), header_bytes_(header.size()) {
  agree_on_ranks(ranks, [&] {
    if (ranks.rank() != 0) return;
    file_ = std::make_unique<io::output_file>(path, 0, io::temporary_kind::named);
    if (file_->is_stream())
      throw error(error_code::bad_argument, fmt::format("{}: several ranks write a file, not a stream", path));
    file_->write(header.data(), header.size());
  });
  const std::string mine = file_ != nullptr ? file_->temporary() : std::string();
  const std::string hidden = distributed::collective(ranks, [&](distributed::group_state& state, std::uint64_t) {
    const auto all = distributed::all_gather_parts(state, std::as_bytes(std::span(mine)));
    return std::string(reinterpret_cast<const char*>(all.data.data()), all.begins[1]);
  });
  agree_on_ranks(ranks, [&] {
    descriptor_ = open(hidden.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_writing(path_, "cannot be opened by every rank", errno);
    // A full disk is found before the work is written.
    const int reason = ranks.rank() != 0 || bytes == 0
                           ? 0
                           : posix_fallocate(descriptor_, static_cast<off_t>(header_bytes_), static_cast<off_t>(bytes));
    if (reason != 0 && reason != EOPNOTSUPP && reason != EINVAL) fail_writing(path_, "cannot be written", reason);
  });
}

part_file::~part_file() {
  if (descriptor_ >= 0) close(descriptor_);
}

void part_file::write(std::uint64_t offset, const void* from, std::uint64_t bytes) {
  agree_on_ranks(ranks_, [&] {
    if (!io::write_whole(descriptor_, header_bytes_ + offset, from, bytes) || fsync(descriptor_) != 0)
      fail_writing(path_, "cannot be written", errno);
  });
}

void part_file::write_rows(std::uint64_t first_row, records rows, const piece_work& change) {
  agree_on_ranks(ranks_, [&] {
    const std::uint64_t width = rows.record_bytes;
    store_rows(ranks_, rows, [&](std::uint64_t first, std::uint64_t number, std::byte* at) {
      if (change) change(first, number, at);
      if (!io::write_whole(descriptor_, header_bytes_ + (first_row + first) * width, at, number * width))
        fail_writing(path_, "cannot be written", errno);
    });
    if (fsync(descriptor_) != 0) fail_writing(path_, "cannot be written", errno);
  });
}

void part_file::commit() {
  part_file* const self = this;
  commit_all(ranks_, {&self, 1});
}

void part_file::commit_all(const distributed::group& ranks, std::span<part_file* const> files) {
  agree_on_ranks(ranks, [&] {
    if (ranks.rank() != 0) return;
    std::vector<io::output_file*> written;
    for (part_file* const each : files) written.push_back(each->file_.get());
    io::output_file::commit_all(written);
  });
}

}  // namespace sheaf::cli
