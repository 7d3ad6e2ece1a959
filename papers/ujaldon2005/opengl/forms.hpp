#pragma once

#include <span>

#include <sheaf/context.hpp>
#include <sheaf/records.hpp>

// Forms of gather that Ujaldon and Saltz describe in "Mapping Irregular Computation onto the Graphics Pipeline" (2005),
// on contexts of OpenGL. Records have 4, 8, 12 or 16 bytes, and each array fits one texture. A bad index gives zero
// bytes and surfaces at ctx.wait(). The calls return when their work is done.
namespace sheaf::opengl {

/// The stage that resolves one indirection (section 4, and section 5.1, "Indirection schemes").
enum class lookup_scheme : std::uint8_t {
  vertices,  ///< vertex indexing, for the first indirection
  texels,    ///< a texture lookup, for any
  colors,    ///< a small table of constants at the end of the pipeline, for the last
};

constexpr std::uint64_t most_colors = 1024;     ///< records that the color table holds
constexpr std::uint64_t most_indirections = 4;  ///< as in section 5.1

/// out[i] = table[lists[n-1][ ... lists[0][i]]], with one indirection for each list. Scheme k resolves indirection k:
/// the lookup in lists[k + 1], or in the table.
/// @throws error(bad_argument) if shapes do not fit, or a scheme stands where it cannot
void gather_nested(const context& ctx, const_records table, std::span<const index_span> lists,
                   std::span<const lookup_scheme> schemes, records out);

/// A gather_nested whose lists and table stay on the device, so that a draw is what section 5.1 times: the lookups,
/// without checks, uploads and readback.
class kept_gather_nested {
 public:
  /// The arguments are those of gather_nested; `out` is where read_back() writes.
  kept_gather_nested(const context& ctx, const_records table, std::span<const index_span> lists,
                     std::span<const lookup_scheme> schemes, records out);
  ~kept_gather_nested();
  kept_gather_nested(const kept_gather_nested&) = delete;
  kept_gather_nested& operator=(const kept_gather_nested&) = delete;

  /// Looks all records up, and returns when the device has done it.
  void draw() const;
  /// Copies what the last draw made.
  void read_back() const;

 private:
  struct kept;

  std::unique_ptr<kept> kept_;
};

/// Where a gather writes (Table 1). A record that it does not write keeps its value.
struct write_condition {
  std::span<const std::uint8_t> each = {};  ///< clipping: an IF in the inner loop; empty: every record
  std::uint64_t first = 0;                  ///< active window: an IF in an outer loop, from this record on,
  std::uint64_t count = ~std::uint64_t{0};  ///< so many
  std::uint8_t words = 0xf;                 ///< color mask: bit w writes the w-th 4 bytes of each record
};

/// out[i] = table[index[i]] where the condition holds.
void gather_where(const context& ctx, const_records table, index_span index, const write_condition& condition,
                  records out);

/// A gather whose table is a texture of 1, 2 or 3 dimensions (section 4.1, "X").
/// @throws error(bad_argument) also if a texture of so many dimensions cannot hold the table here
void gather_from_dimensions(const context& ctx, const_records table, index_span index, int dimensions, records out);

}  // namespace sheaf::opengl
