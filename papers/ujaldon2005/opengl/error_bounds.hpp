#pragma once

#include <cstdint>

// How far the pipeline's rounding may take a sum from the exact one, by the bits of a channel. Numbers are scaled: what
// a texture holds is in [-1, 1], and so are all sums on their way.
namespace sheaf::opengl {

/// Of a channel: 8 are a fixed-point number, 16 and 32 are floats.
enum class channel_bits : std::uint8_t { fixed8, float16, float32 };

struct pipeline_precision {
  channel_bits texture = channel_bits::float32;
  channel_bits frame_buffer = channel_bits::float32;
};

constexpr std::uint32_t most_channels = 4;

/// A number of [-1, 1] as a texel of 8 bits has it, the nearest of 255 steps. Drivers are given no floats for these:
/// they may take either neighbour, and one was seen to be over a step off.
std::int8_t fixed_texel(float number);

/// The most by which a number differs from what a texture holds of it.
double texel_error(channel_bits bits, double number);

/// A number, and the most by which the pipeline's may differ from it.
struct bounded_number {
  double value = 0;
  double error = 0;
};

/// The product of a vertex attribute, f32, and a texel.
bounded_number bounded_product(double attribute, const bounded_number& texel);

/// What an edge adds at its first end, by components: factor d, or factor d / |d|^3, of the difference d between two
/// positions, each of whose components may be off. Where texels may put both ends at one place there is no bound, and
/// errors are infinite.
/// @param in, out  so many components, up to most_channels
void bound_contribution(const bounded_number* in, std::uint32_t components, double factor, bool is_inverse_square,
                        bounded_number* out);

/// A sum that blending makes in a frame buffer, term by term in the order of the draws.
class blended_sum {
 public:
  void add(channel_bits frame_buffer, const bounded_number& term);
  /// What is read back of it.
  bounded_number read_back(channel_bits frame_buffer) const;

 private:
  bounded_number sum_;
};

}  // namespace sheaf::opengl
