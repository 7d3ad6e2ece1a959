// list_scan by device functions of a program's own: values of many widths, whole wherever the function sees them, one
// list and many, and an operator that does not commute.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/cuda/list_scan.cuh>
#include <sheaf/error.hpp>
#include <sheaf/memory.hpp>

namespace sheaf::tests::cuda_list_function_test {
namespace {

constexpr std::uint32_t list_nodes = 700;  // of each of many lists

/// Functions x -> scale * x + shift on numbers of a byte, with padding of a known pattern up to Bytes bytes.
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) padded_function {
  std::uint8_t bytes[Bytes];
};

__host__ __device__ inline std::uint8_t pattern_at(std::size_t i, std::uint8_t scale, std::uint8_t shift) {
  return static_cast<std::uint8_t>(i * 37 + scale * 5 + shift * 11);
}

template <std::size_t Bytes, std::size_t Alignment>
__host__ __device__ padded_function<Bytes, Alignment> make_function(std::uint8_t scale, std::uint8_t shift) {
  padded_function<Bytes, Alignment> f;
  f.bytes[0] = scale;
  f.bytes[1] = shift;
  for (std::size_t i = 2; i < Bytes; ++i) f.bytes[i] = pattern_at(i, scale, shift);
  return f;
}

/// earlier, then later. A value that is not whole becomes one that no list has.
struct compose {
  template <std::size_t Bytes, std::size_t Alignment>
  __host__ __device__ padded_function<Bytes, Alignment> operator()(
      const padded_function<Bytes, Alignment>& earlier, const padded_function<Bytes, Alignment>& later) const {
    bool is_whole = true;
    for (std::size_t i = 2; i < Bytes; ++i) {
      is_whole = is_whole && earlier.bytes[i] == pattern_at(i, earlier.bytes[0], earlier.bytes[1]) &&
                 later.bytes[i] == pattern_at(i, later.bytes[0], later.bytes[1]);
    }
    if (!is_whole) return make_function<Bytes, Alignment>(0, 0);
    return make_function<Bytes, Alignment>(
        static_cast<std::uint8_t>(earlier.bytes[0] * later.bytes[0]),
        static_cast<std::uint8_t>(earlier.bytes[1] * later.bytes[0] + later.bytes[1]));
  }
};

std::optional<context> device_context() {
  try {
    return context::cuda();
  } catch (const error&) {
    return std::nullopt;
  }
}

template <class T>
buffer on_device(const context& ctx, const std::vector<T>& values, std::size_t offset = 0) {
  buffer b(ctx, offset + values.size() * sizeof(T));
  copy_bytes(ctx, b.data() + offset, values.data(), values.size() * sizeof(T));
  return b;
}

template <class T>
list_function_options<T> options_of(const T& initial, bool is_exclusive, list_count lists, const char* variant) {
  list_function_options<T> options{.lists = lists, .variant = variant};
  if (is_exclusive) options.exclusive_from = initial;
  return options;
}

/// Scans lists that hop through the array, and compares with a walk. The output begins `offset` bytes behind an aligned
/// address.
template <std::size_t Bytes, std::size_t Alignment>
void expect_scan(const context& ctx, std::uint32_t count, list_count lists, bool is_exclusive, const char* variant,
                 std::size_t offset) {
  SCOPED_TRACE(testing::Message() << Bytes << " bytes aligned to " << Alignment << ", " << count << " nodes, lists "
                                  << static_cast<int>(lists) << ", exclusive " << is_exclusive << ", variant '"
                                  << variant << "', output at byte " << offset);
  using function = padded_function<Bytes, Alignment>;
  constexpr std::uint64_t hop = 7919;  // a prime that divides no count here
  const std::uint32_t length = lists == list_count::one ? count : list_nodes;
  std::vector<std::uint32_t> successor(count);
  std::vector<function> in(count);
  const auto node_of = [&](std::uint64_t k) { return static_cast<std::uint32_t>(k * hop % count); };
  for (std::uint32_t k = 0; k < count; ++k) {
    const bool ends = k + 1 == count || (k + 1) % length == 0;
    successor[node_of(k)] = ends ? 0xffffffffU : node_of(k + 1);
    in[node_of(k)] =
        make_function<Bytes, Alignment>(static_cast<std::uint8_t>(2 * k + 1), static_cast<std::uint8_t>(k * 7));
  }
  const function initial = make_function<Bytes, Alignment>(3, 5);
  const buffer successors = on_device(ctx, successor);
  const buffer values = on_device(ctx, in);
  const buffer results = on_device(ctx, std::vector<std::byte>(count * sizeof(function)), offset);
  auto* const out = reinterpret_cast<function*>(results.data() + offset);
  list_scan(ctx, index_span(successors.as<std::uint32_t>(), count, index_type::u32), values.as<function>(), out,
            compose{}, options_of(initial, is_exclusive, lists, variant));
  ctx.wait();
  std::vector<function> got(count);
  copy_bytes(ctx, got.data(), out, count * sizeof(function));
  function running = initial;
  for (std::uint32_t k = 0; k < count; ++k) {
    const function& own = in[node_of(k)];
    const bool begins = k % length == 0;
    if (begins) running = initial;
    const function before = running;
    running = begins && !is_exclusive ? own : compose{}(running, own);
    const function& expected = is_exclusive ? before : running;
    for (std::size_t i = 0; i < Bytes; ++i) {
      ASSERT_EQ(expected.bytes[i], got[node_of(k)].bytes[i]) << "byte " << i << " of the result of rank " << k;
    }
  }
}

template <std::size_t Bytes, std::size_t Alignment>
void expect_scans(const context& ctx) {
  for (const char* const variant : {"cuda.log", "cuda.sublist", "cuda.pointer_jumping"}) {
    for (const list_count lists : {list_count::one, list_count::many}) {
      for (const std::uint32_t count : {1U, 2U, 33U, 5000U}) {
        for (const bool is_exclusive : {false, true}) {
          expect_scan<Bytes, Alignment>(ctx, count, lists, is_exclusive, variant, 0);
          expect_scan<Bytes, Alignment>(ctx, count, lists, is_exclusive, variant, Alignment);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(ListFunctionOfADevice, SeesWholeValuesInTheOrderOfTheList) {
  const std::optional<context> ctx = device_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  expect_scans<2, 1>(*ctx);
  expect_scans<3, 1>(*ctx);
  expect_scans<8, 4>(*ctx);
  expect_scans<13, 1>(*ctx);
  expect_scans<24, 8>(*ctx);
  expect_scans<64, 16>(*ctx);
}

/// Scans packed nodes of 4 bytes each, with successors whose end is negative, and compares with a walk.
template <std::size_t Alignment>
void expect_packed_scan(const context& ctx, std::uint32_t count, list_count lists, bool is_exclusive,
                        const char* variant) {
  SCOPED_TRACE(testing::Message() << "aligned to " << Alignment << ", " << count << " nodes, lists "
                                  << static_cast<int>(lists) << ", exclusive " << is_exclusive << ", variant '"
                                  << variant << "'");
  using function = padded_function<4, Alignment>;
  constexpr std::uint64_t hop = 7919;  // a prime that divides no count here
  const std::uint32_t length = lists == list_count::one ? count : list_nodes;
  const auto node_of = [&](std::uint64_t k) { return static_cast<std::uint32_t>(k * hop % count); };
  std::vector<list_node<function>> in(count);
  for (std::uint32_t k = 0; k < count; ++k) {
    const bool ends = k + 1 == count || (k + 1) % length == 0;
    in[node_of(k)] = {
        make_function<4, Alignment>(static_cast<std::uint8_t>(2 * k + 1), static_cast<std::uint8_t>(k * 7)),
        ends ? -1 : static_cast<std::int32_t>(node_of(k + 1))};
  }
  const function initial = make_function<4, Alignment>(3, 5);
  const buffer nodes = on_device(ctx, in);
  const buffer results(ctx, count * sizeof(function));
  list_scan(ctx, nodes.as<list_node<function>>(), count, results.as<function>(), compose{},
            options_of(initial, is_exclusive, lists, variant));
  ctx.wait();
  std::vector<function> got(count);
  copy_bytes(ctx, got.data(), results.data(), count * sizeof(function));
  function running = initial;
  for (std::uint32_t k = 0; k < count; ++k) {
    const bool begins = k % length == 0;
    if (begins) running = initial;
    const function before = running;
    const function& own = in[node_of(k)].value;
    running = begins && !is_exclusive ? own : compose{}(running, own);
    const function& expected = is_exclusive ? before : running;
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_EQ(expected.bytes[i], got[node_of(k)].bytes[i]) << "byte " << i << " of the result of rank " << k;
    }
  }
}

TEST(ListFunctionOfADevice, TakesPackedNodes) {
  const std::optional<context> ctx = device_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const char* const variant : {"", "cuda.log", "cuda.sublist", "cuda.pointer_jumping"}) {
    for (const list_count lists : {list_count::one, list_count::many}) {
      for (const std::uint32_t count : {1U, 2U, 33U, 5000U}) {
        for (const bool is_exclusive : {false, true}) {
          expect_packed_scan<1>(*ctx, count, lists, is_exclusive, variant);
          expect_packed_scan<4>(*ctx, count, lists, is_exclusive, variant);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

struct sum {
  __host__ __device__ float operator()(const float& a, const float& b) const { return a + b; }
};

// The arguments are looked at before anything runs on a device.
TEST(ListFunctionOfADevice, OnPackedNodesIsForContextsOfCuda) {
  const context ctx = context::cpu();
  const list_node<float> nodes[] = {{1, 1}, {2, -1}};
  float out[2];
  try {
    list_scan(ctx, nodes, 2, out, sum{});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), error_code::bad_argument);
    EXPECT_STREQ(e.what(),
                 "list_scan: a device function of the caller's runs on a CUDA context, not on cpu; "
                 "sheaf/list_scan.hpp takes one for the CPU");
  }
}

TEST(ListFunctionOfADevice, OnWhatIsNoListIsAnErrorThatNamesANode) {
  const std::optional<context> ctx = device_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  using function = padded_function<3, 1>;
  constexpr std::uint32_t count = 5000;
  std::vector<std::uint32_t> successor(count);
  for (std::uint32_t i = 0; i < count; ++i) successor[i] = i + 1 < count ? i + 1 : 0xffffffffU;
  successor[1234] = count;
  const buffer successors = on_device(*ctx, successor);
  const buffer values = on_device(*ctx, std::vector<function>(count, make_function<3, 1>(1, 1)));
  const buffer results = on_device(*ctx, std::vector<std::byte>(count * sizeof(function)));
  for (const char* const variant : {"cuda.log", "cuda.sublist", "cuda.pointer_jumping"}) {
    try {
      list_scan(*ctx, index_span(successors.as<std::uint32_t>(), count, index_type::u32), values.as<function>(),
                results.as<function>(), compose{}, {.variant = variant});
      ctx->wait();
      ADD_FAILURE() << variant << " took a successor past the nodes";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), error_code::bad_index);
      EXPECT_NE(std::string(e.what()).find("successor[1234] is 5000"), std::string::npos) << e.what();
    }
  }
}

TEST(ListFunctionOfADevice, WhoseKernelsComeFromOtherHeadersIsAnError) {
  const std::optional<context> ctx = device_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  using function = padded_function<3, 1>;
  constexpr std::uint32_t count = 5000;
  const buffer successors = on_device(*ctx, std::vector<std::uint32_t>(count, 0xffffffffU));
  const buffer values = on_device(*ctx, std::vector<function>(count, make_function<3, 1>(1, 1)));
  const buffer results = on_device(*ctx, std::vector<std::byte>(count * sizeof(function)));
  const compose op;
  detail::device_scan_operator kernels = list_kernels::device_operator<function>(op);
  kernels.prefix_bytes += 1024;
  try {
    detail::list_scan_by(*ctx, index_span(successors.as<std::uint32_t>(), count, index_type::u32),
                         const_records(values.data(), count, sizeof(function)),
                         records(results.data(), count, sizeof(function)), kernels,
                         list_function_options<function>{.lists = list_count::many, .variant = "cuda.sublist"});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), error_code::internal);
    EXPECT_STREQ(e.what(), "list_scan: the program was compiled with headers of another version");
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_list_function_test
