#include "papers/ujaldon2005/opengl/error_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sheaf::opengl {
namespace {

constexpr double rounding_of_f32 = 0x1p-24;
constexpr int steps_of_fixed = 127;  // to either side of 0
constexpr double step_of_fixed = 1.0 / steps_of_fixed;
// Of a number that a frame buffer takes: Direct3D allows 0.6 of a step, and drivers of OpenGL run on such hardware.
constexpr double share_of_step = 0.6;

/// Of the numbers in a format of floats.
struct float_format {
  double rounding;  ///< of a number that is rounded to the nearest, over the number
  double least;     ///< distance of the numbers around 0
};

float_format format_of(channel_bits bits) {
  if (bits == channel_bits::float16) return {0x1p-11, 0x1p-24};
  return {rounding_of_f32, 0x1p-126};  // a device may take what is smaller for 0
}

// Devices and drivers may cut off, which takes a number twice as far as rounding to the nearest: llvmpipe does where
// texels have four channels of 16 bits.
double float_error(channel_bits bits, double largest) {
  const float_format format = format_of(bits);
  return std::max(2 * format.rounding * largest, format.least);
}

}  // namespace

std::int8_t fixed_texel(float number) {
  return static_cast<std::int8_t>(std::lrint(std::clamp(number, -1.0F, 1.0F) * steps_of_fixed));
}

double texel_error(channel_bits bits, double number) {
  // fixed_texel takes the nearest, in f32.
  if (bits == channel_bits::fixed8) return number == 0 ? 0 : 0.5 * step_of_fixed + 4 * rounding_of_f32;
  // Texels of 32 bits are scaled by powers of two, so that nothing is rounded.
  if (bits == channel_bits::float32) return 0;
  return float_error(bits, std::abs(number)) + rounding_of_f32 * std::abs(number);
}

bounded_number bounded_product(double attribute, const bounded_number& texel) {
  // The attribute is rounded when it is scaled and when it becomes f32, and the product once.
  const double largest = std::abs(attribute) * (std::abs(texel.value) + texel.error);
  return {attribute * texel.value, std::abs(attribute) * texel.error + 4 * rounding_of_f32 * largest};
}

// A difference d is off by a vector no longer than e. A contribution factor d is off by factor e in each component. One
// of factor d / |d|^3 changes by at most 2 / |d|^3 for each unit that d moves (the norm of its derivative), and no
// point between the two differences is nearer to 0 than |d| - e: it is off by 2 e / (|d| - e)^3. The shader's
// differences, products, division and inverse root add a few roundings of f32, which the language does not bound: 32 of
// them.
void bound_contribution(const bounded_number* in, std::uint32_t components, double factor, bool is_inverse_square,
                        bounded_number* out) {
  constexpr double shader_rounding = 32 * rounding_of_f32;
  constexpr double least_square = 0x1p-100;  // of which f32 has all digits
  double square = 0;
  double square_of_error = 0;
  for (std::uint32_t k = 0; k < components; ++k) {
    square += in[k].value * in[k].value;
    square_of_error += in[k].error * in[k].error;
  }
  const double distance = std::sqrt(square);
  const double moved = std::sqrt(square_of_error);
  const bool is_one_place = square == 0 && square_of_error == 0;  // whose force is 0
  const bool is_bounded = is_one_place || !is_inverse_square || (moved < distance && square > least_square);
  const double gap = distance - moved;
  const double scale = !is_inverse_square ? factor : is_one_place ? 0 : factor / (square * distance);
  for (std::uint32_t k = 0; k < components; ++k) {
    double error = std::abs(factor) * in[k].error;
    if (is_inverse_square && !is_one_place) error = 2 * std::abs(factor) * moved / (gap * gap * gap);
    out[k].value = scale * in[k].value;
    out[k].error = is_bounded ? error + shader_rounding * (std::abs(scale) * distance + error)
                              : std::numeric_limits<double>::infinity();
  }
}

// A running error analysis. Frame buffers of floats convert the term, which is off by e, and round the sum: each time
// by at most u times the number, of which we know the exact one and how far the pipeline's may be from it. So
//   e' = e + u (|term| + e),  error' = error + e' + u (|sum| + error + e'),
// where u is 2^-10 of 16 bits and 2^-23 of 32. Fixed-point sums of 8 bits are exact, but for their terms, which become
// multiples of the step 1/127; one of less than 0.4 steps becomes 0. A sum that is clamped to the range comes nearer to
// the exact one, which is inside. So n terms of 8 bits are off by up to 0.6 n / 127.
void blended_sum::add(channel_bits bits, const bounded_number& term) {
  const double largest = std::abs(term.value) + term.error;
  sum_.value += term.value;
  if (bits == channel_bits::fixed8) {
    const double rounding = largest < (1 - share_of_step) * step_of_fixed ? largest : share_of_step * step_of_fixed;
    sum_.error += term.error + rounding;
    return;
  }
  sum_.error += term.error + float_error(bits, largest);
  sum_.error += float_error(bits, std::abs(sum_.value) + sum_.error);
}

// Of 8 bits, zero and the range are numbers of f32, which are not exact. Of floats, the sum is scaled.
bounded_number blended_sum::read_back(channel_bits bits) const {
  const double largest = bits == channel_bits::fixed8 ? 2 : std::abs(sum_.value) + sum_.error;
  return {sum_.value, sum_.error + 4 * rounding_of_f32 * largest};
}

}  // namespace sheaf::opengl
