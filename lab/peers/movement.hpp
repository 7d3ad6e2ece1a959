#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/records.hpp>

#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// Peers of gather and scatter. Records lie without gaps, aligned to 256 bytes.
namespace sheaf::bench::peers {

using move_records = void (*)(const context& ctx, const_records from, index_span index, records to);

/// An OpenMP loop over typed arrays, "plain_loop"; where the last writer must win "serial_loop".
namespace host {
/// Null where the peer is not built for the width and index type.
move_records gather(std::uint64_t record_bytes, index_type index) noexcept;
move_records scatter(std::uint64_t record_bytes, index_type index) noexcept;
std::vector<contender> gathers(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> scatters(const context& ctx, const problem& p, const workspace& arrays);
}  // namespace host

/// Thrust, "thrust"; linked only where the CUDA backend is built.
namespace device {
move_records gather(std::uint64_t record_bytes, index_type index) noexcept;
move_records scatter(std::uint64_t record_bytes, index_type index) noexcept;
std::vector<contender> gathers(const context& ctx, const problem& p, const workspace& arrays);
std::vector<contender> scatters(const context& ctx, const problem& p, const workspace& arrays);
/// "atomic_max", for the rows of duplicates::last, which thrust has no call for.
std::vector<contender> last_writer_scatters(const context& ctx, const problem& p, const workspace& arrays);
/// Blocks until the peer's work is done, as its users do.
void wait(const context& ctx);
std::string thrust_version();
}  // namespace device

/// The contender that moves a row's records this way; none for null.
inline std::vector<contender> mover(const char* who, move_records move, const context& ctx, const workspace& arrays,
                                    std::function<void()> wait) {
  if (move == nullptr) return {};
  const auto queue = [ctx, &arrays, move](std::uint64_t copy) {
    move(ctx, arrays.source(copy), arrays.index(copy), arrays.target(copy));
  };
  return {{.who = who, .queue = queue, .wait = std::move(wait)}};
}

/// Alignment of N bytes in the struct that a user would write: aligned to the largest power of two up to 16 that
/// divides N.
template <std::size_t Bytes>
constexpr std::size_t natural_alignment = Bytes % 16 == 0 ? 16 : Bytes&(~Bytes + 1);

template <std::size_t Bytes>
struct alignas(natural_alignment<Bytes>) plain_record {
  unsigned char bytes[Bytes];
};

/// Calls body(std::type_identity<Record>) with the type of a width; null for a width that no peer is built for.
template <class Body>
move_records with_record_type(std::uint64_t record_bytes, Body body) {
  switch (record_bytes) {
    case 1: return body(std::type_identity<std::uint8_t>{});
    case 2: return body(std::type_identity<std::uint16_t>{});
    case 4: return body(std::type_identity<std::uint32_t>{});
    case 8: return body(std::type_identity<std::uint64_t>{});
    case 12: return body(std::type_identity<plain_record<12>>{});
    case 16: return body(std::type_identity<plain_record<16>>{});
    case 24: return body(std::type_identity<plain_record<24>>{});
    case 32: return body(std::type_identity<plain_record<32>>{});
    case 48: return body(std::type_identity<plain_record<48>>{});
    case 64: return body(std::type_identity<plain_record<64>>{});
    case 100: return body(std::type_identity<plain_record<100>>{});
    case 128: return body(std::type_identity<plain_record<128>>{});
    case 256: return body(std::type_identity<plain_record<256>>{});
    case 1024: return body(std::type_identity<plain_record<1024>>{});
    default: return nullptr;
  }
}

}  // namespace sheaf::bench::peers
