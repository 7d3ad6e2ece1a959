#pragma once

#include <functional>

#include <sheaf/distributed/group.hpp>
#include <sheaf/records.hpp>

// Rows on their way between files and the memory where a rank's calls reach them. On the CPU they go there at once. On
// a GPU they go piece by piece through two pieces of page-locked memory: while one is read or written, the other
// travels. So a rank takes 8 MB of host memory, whatever its part is, and every byte is copied once on the host.
namespace sheaf::cli {

/// What is done with rows [first, first + number) of a part, which lie side by side at `rows` in host memory.
using piece_work = std::function<void(std::uint64_t first, std::uint64_t number, std::byte* rows)>;

/// Brings rows to where the rank's calls reach them. @param read  puts rows into host memory; threads of the rank call
/// it side by side, for rows of their own
void load_rows(const distributed::group& ranks, records to, const piece_work& read);

/// The reverse. @param write  takes rows from host memory, one piece behind the other, and may change them there
void store_rows(const distributed::group& ranks, records from, const piece_work& write);

// What both do where a rank works on a device, by the copies of its context. They throw what these throw, and all
// copies are over when they end. @param threads  that read, at most
void load_in_pieces(core::context_state& state, int threads, records to, const piece_work& read);
void store_in_pieces(core::context_state& state, records from, const piece_work& write);

/// Bytes of the host where a rank's calls reach them: themselves on the CPU, else a copy on the device.
class sent_bytes {
 public:
  sent_bytes(const distributed::group& ranks, const void* host, std::uint64_t bytes);
  const std::byte* data() const noexcept { return data_; }

 private:
  buffer copy_;
  const std::byte* data_;
};

}  // namespace sheaf::cli
