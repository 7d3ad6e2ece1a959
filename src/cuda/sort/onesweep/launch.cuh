#pragma once

#include <string>

#include <sheaf/error.hpp>

#include "cuda/device/launch.cuh"
#include "cuda/sort/onesweep/kernel.cuh"

// How the kernel is queued. The files that include this instantiate it for keys of one width.
namespace sheaf::cuda {

template <int Limbs, payload_mode Payload, onesweep_tiles Tiles, bool FromRows>
void launch_onesweep(const context& ctx, const char* operation, const onesweep_arguments& a) {
  using tuning = onesweep_tuning<Limbs, Payload, Tiles>;
  launch_cooperative(ctx, operation, onesweep_words<Limbs, Payload, Tiles, FromRows>,
                     ceil_div(std::uint64_t{a.count}, tuning::tile_words), tuning::threads,
                     onesweep_shared_bytes<Limbs, Payload, Tiles>(), a);
}

template <int Limbs, payload_mode Payload>
void launch_onesweep(const context& ctx, const char* operation, const onesweep_arguments& a) {
  constexpr auto of_short_list = onesweep_tiles::of_short_list;
  constexpr auto of_long_list = onesweep_tiles::of_long_list;
  const bool from_rows = a.rows.data != nullptr;
  const auto launch_for = has_short_tiles<Limbs, Payload>(a.count)
                              ? (from_rows ? launch_onesweep<Limbs, Payload, of_short_list, true>
                                           : launch_onesweep<Limbs, Payload, of_short_list, false>)
                          : from_rows ? launch_onesweep<Limbs, Payload, of_long_list, true>
                                      : launch_onesweep<Limbs, Payload, of_long_list, false>;
  launch_for(ctx, operation, a);
}

template <int Limbs>
void queue_onesweep(const context& ctx, const char* operation, const onesweep_arguments& a) {
  switch (a.value_bytes) {
    case 0: return launch_onesweep<Limbs, payload_mode::none>(ctx, operation, a);
    case 4: return launch_onesweep<Limbs, payload_mode::values_4>(ctx, operation, a);
    case 8: return launch_onesweep<Limbs, payload_mode::values_8>(ctx, operation, a);
    default:
      // Plans move no values of 16 bytes with keys of 8.
      if constexpr (Limbs == 1) return launch_onesweep<Limbs, payload_mode::values_16>(ctx, operation, a);
      throw error(error_code::internal, std::string(operation) + ": values are too wide for keys of 8 bytes");
  }
}

extern template void queue_onesweep<1>(const context&, const char*, const onesweep_arguments&);
extern template void queue_onesweep<2>(const context&, const char*, const onesweep_arguments&);

}  // namespace sheaf::cuda
