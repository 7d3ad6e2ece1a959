#pragma once

#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lab/description/job.hpp"

// Problems of every entry of lab/description, by their names: every order and distribution, types and widths, and for
// each variant many problems that it takes.
namespace sheaf::tests {

using row_names = std::vector<std::string>;

/// Every pattern with every layout, which begins with what stands between them: "/r4/u32", ":b8/r4/own".
inline row_names crossed(const row_names& patterns, const row_names& layouts) {
  row_names rows;
  for (const std::string& pattern : patterns) {
    for (const std::string& layout : layouts) rows.push_back(pattern + layout);
  }
  return rows;
}

inline row_names names_of_keys() {
  row_names names;
  for (const primitives::key_distribution keys : primitives::all_key_distributions()) {
    names.emplace_back(primitives::name(keys));
  }
  return names;
}

/// Records of an index list, "/r4/u32".
inline row_names record_layouts(std::string_view ending = "") {
  row_names layouts;
  for (const int width : {1, 2, 4, 8, 16, 12, 32, 100, 128}) {
    for (const char* index : {"u32", "u64", "i32", "i64"}) {
      layouts.push_back(fmt::format("/r{}/{}{}", width, index, ending));
    }
  }
  return layouts;
}

inline row_names rows_of_scatter() {
  row_names rows =
      crossed({"reverse", "permutation", "strided:48", "partitioned:256", "clustered:300", "permutation:s70000"},
              record_layouts());
  const row_names last =
      crossed({"uniform", "zipf", "same", "permutation", "clustered:300", "uniform:s300"}, record_layouts("+last"));
  rows.insert(rows.end(), last.begin(), last.end());
  return rows;
}

inline row_names rows_of_movement(std::string_view entry) {
  if (entry == "scatter") return rows_of_scatter();
  if (entry == "gather") {
    return crossed({"reverse", "permutation", "uniform", "zipf", "same", "strided:48", "partitioned:256",
                    "clustered:300", "uniform:s300", "permutation:s70000"},
                   record_layouts());
  }
  if (entry == "scatter_reduce") {
    return crossed({"uniform:s300", "zipf:s300", "uniform:s5000", "zipf:s60000", "same:s9", "permutation:s70000",
                    "clustered:300:s70000", "uniform:s1"},
                   {"/r4/u32+u32", "/r4/u64+i32", "/r4/u32+f32", "/r4/u32+f32+unordered", "/r8/u32+f64", "/r8/i64+u64",
                    "/r8/i32+i64", "/r8/u64+f64+unordered"});
  }
  if (entry == "scatter_reduce_rows") {
    return crossed(
        {"uniform:s300", "zipf:s300", "uniform:s5000", "same:s9", "permutation:s70000", "clustered:300:s70000"},
        {"/r4/u32+f32", "/r4/i64+u32+identity", "/r8/u64+f64", "/r12/u32+f32", "/r64/u64+f32+identity", "/r32/i32+u64",
         "/r28/i64+i32+identity", "/r34/u32+f16_to_f32", "/r20/u32+f32+unordered", "/r5/u32+i8_to_i64",
         "/r4/u32+u32+count", "/r24/i64+i64+count+identity"});
  }
  if (entry == "gather_reduce") {
    return crossed({"uniform:s300:x16", "zipf:s5000:x5", "uniform:s70000:x3000", "same:s9:x3", "permutation:s70000:x1"},
                   {"/r4/u32+f32", "/r12/u64+f32+weights", "/r64/u32+f64", "/r20/i32+i32", "/r34/u32+bf16_to_f32",
                    "/r6/i64+u16_to_u64"});
  }
  return {};
}

inline row_names rows_of_split(std::string_view entry) {
  if (entry == "split" || entry == "split_unstable") {
    return crossed(names_of_keys(),
                   {":b1/r8/own", ":b4/r8/own", ":b8/r8/own", ":b8/r4/own", ":b12/r16/own", ":b5/r1/own", ":b9/r2/own",
                    ":b40/r16/own", ":b8/r12/k32", ":b8/r8/k32", ":b14/r8/k32", ":b11/r16/k64", ":b8/r100/k32"});
  }
  if (entry == "split_gather_index" || entry == "split_scatter_index") {
    return crossed(names_of_keys(),
                   {":b1/r4/k32", ":b8/r4/k32", ":b14/r4/k64", ":b8/r8/k32", ":b14/r8/k32", ":b11/r8/k64"});
  }
  if (entry == "multi_split") {
    return crossed(names_of_keys(), {":b4:s2000/r4/k32", ":b8:s2000/r16/k32", ":b12:s20001/r8/k32",
                                     ":b8:s20001/r100/k32", ":b1:s300/r12/k32"});
  }
  return {};
}

inline row_names rows_of_sort(std::string_view entry) {
  const row_names keys = names_of_keys();
  if (entry == "sort_keys") {
    return crossed(keys, {"/r1/u8", "/r2/u16", "/r4/u32", "/r4/i32", "/r4/f32", "/r8/u64", "/r8/i64", "/r8/f64",
                          "/r16/u128", "/r10/bytes10", ":b8-15/r4/u32", ":b5-40/r8/u64"});
  }
  if (entry == "sort_pairs") {
    return crossed(keys, {"/r4/u32", "/r8/u32", "/r4/u64", "/r8/u64", "/r16/u64", "/r8/i32", "/r8/f64", "/r4/u16",
                          "/r8/u128", "/r12/bytes10", "/r100/u32", ":b8-15/r4/u32"});
  }
  if (entry == "sort_records") {
    return crossed(keys, {"/r16/u64", "/r8/u32", "/r100/bytes10", "/r24/f64", "/r12/i32", "/r64/u128"});
  }
  if (entry == "sort_gather_index") {
    return crossed(
        keys, {"/r4/u32", "/r8/u32", "/r4/u64", "/r8/u64", "/r4/i32", "/r4/f64", "/r4/u16", "/r4/u128", "/r4/bytes10"});
  }
  return {};
}

inline row_names rows_of_lists(std::string_view entry) {
  const row_names orders{"identity", "reverse", "permutation", "strided:48", "partitioned:8", "clustered:300"};
  if (entry == "list_rank") {
    return crossed(orders, {"/r4/u32", "/r8/u64", "/r4/i64", "/r8/i32", "/r4/u32+many", "/r8/u64+many"});
  }
  if (entry == "list_scan") {
    return crossed(orders,
                   {"/r4/u32+u32", "/r4/u32+f32+max", "/r8/u32+i64+min", "/r8/u64+f64", "/r4/i32+i32+xor+exclusive",
                    "/r8/i64+u64+mul", "/r4/u32+f32+packed", "/r4/u32+u32+exclusive+packed", "/r4/u32+i32+many",
                    "/r8/u64+f64+exclusive+many", "/r4/u32+u32+or+packed+many"});
  }
  return {};
}

inline row_names rows_of_hash(std::string_view entry) {
  if (entry == "build_hash_index") {
    return crossed({"x1", "x2", "x7", "x16", "x1000", "xzipf"},
                   {"/r4/k32", "/r4/k64", "/r4/k32+load20", "/r4/k64+load99"});
  }
  const row_names probes = crossed({"permutation", "uniform", "zipf"},
                                   {":s700:x1", ":s5000:x7", ":s60000:x1", ":s60000:xzipf", ":x1", ":x16"});
  if (entry == "hash_search" || entry == "hash_find") {
    return crossed(probes, {":h50/r4/k32", ":h100/r4/k64", ":h50/r4/k64+load99", ":h100/r4/k32+load20"});
  }
  if (entry == "hash_count") return crossed(probes, {":h50/r4/k32", ":h100/r8/k64", ":h50/r8/k64+load99"});
  if (entry == "hash_contains") return crossed(probes, {":h50/r1/k32", ":h50/r1/k64", ":h90/r1/k64+load99"});
  return {};
}

inline row_names rows_of_sparse(std::string_view entry) {
  if (entry == "spmv") {
    return crossed({"banded:x16", "banded:x5", "banded:c900:x4", "uniform:x16", "uniform:xzipf", "uniform:s300:c900",
                    "zipf:x8", "grid:x7", "grid:x9"},
                   {"/r4/u32+f32", "/r8/u32+f64", "/r4/i32+u64+f32", "/r8/u64+f64", "/r4/u32+f32+f64_sums",
                    "/r4/u32+f32+row_ends", "/r4/u32+f32+transposed", "/r8/u32+f64+transposed",
                    "/r4/i64+u32+f32+transposed", "/r8/u64+f64+transposed+row_ends", "/r4/u32+f32+transposed+unordered",
                    "/r8/u64+u32+f64+transposed+unordered", "/r8/u32+f64+transposed+unordered+row_ends"});
  }
  if (entry == "spmm") {
    return crossed({"banded:x16", "banded:c900:x4", "uniform:x16", "uniform:xzipf", "uniform:s300:c900", "grid:x7"},
                   {"/r4/u32+f32", "/r16/u32+f32", "/r64/u32+u64+f32", "/r24/i32+f64", "/r64/u32+f32+transposed",
                    "/r32/u64+f64+transposed+row_ends", "/r12/u32+f32+row_ends", "/r100/i64+f32+transposed",
                    "/r64/u32+f32+transposed+unordered"});
  }
  if (entry == "conjugate_gradient") {
    return crossed({"grid:x5:i8", "grid:x5:i16", "grid:x7:i9", "grid:x7:i16", "grid:x9:i8", "grid:x27:i16"},
                   {"/r8/u32+f64", "/r4/u32+f32", "/r8/u64+f64+jacobi", "/r8/u32+u64+f64", "/r4/i32+f32+f64_sums",
                    "/r4/u32+f32+jacobi", "/r8/u32+f64+row_ends", "/r8/u32+f64+jacobi+row_ends"});
  }
  return {};
}

inline row_names rows_of_edges(std::string_view entry) {
  if (entry != "edge_sum") return {};
  return crossed(crossed({"identity", "reverse", "permutation", "clustered:300", "uniform", "zipf", "uniform:s900"},
                         {"/r4/u32+f32", "/r12/u32+f32", "/r12/i32+f32+weights", "/r40/u32+f64+weights", "/r8/u64+f64",
                          "/r12/u32+f32+inverse_square+weights", "/r16/u32+f32+pairs"}),
                 {"", "+unordered"});
}

/// Names without primitive and count; none for an entry that has no rows here.
inline row_names rows_of(std::string_view entry) {
  for (const auto rows_of_family :
       {rows_of_movement, rows_of_split, rows_of_sort, rows_of_lists, rows_of_hash, rows_of_sparse, rows_of_edges}) {
    row_names rows = rows_of_family(entry);
    if (!rows.empty()) return rows;
  }
  return {};
}

/// What a problem's arrays may take, so that a test of many problems stays short.
constexpr std::uint64_t most_bytes_of_a_row = std::uint64_t{8} << 20;

/// The rows of an entry in several sizes, in an order that the seed decides, so that the first ones are of all kinds.
/// Half of them tell the planner their order.
inline std::vector<primitives::problem_spec> problems_in_rows(std::string_view entry, std::uint64_t seed) {
  std::vector<primitives::problem_spec> problems;
  std::mt19937_64 random(seed);
  for (const std::string& row : rows_of(entry)) {
    for (const std::uint64_t count : {4096, 5003, 8191, 8193, 12345, 16385, 20011, 32768, 65536}) {
      primitives::problem_spec problem = primitives::parse_problem(fmt::format("{}/{}/n={}", entry, row, count));
      if (random() % 2 == 0) problem.access = primitives::hint(problem);
      const jobs::job& job = jobs::job_of(problem);
      if (!job.unchecked(problem).empty()) continue;
      std::uint64_t bytes = 0;
      for (const jobs::array_shape& shape : job.shapes(problem)) bytes += shape.bytes();
      if (bytes <= most_bytes_of_a_row) problems.push_back(std::move(problem));
    }
  }
  for (std::size_t left = problems.size(); left > 1; --left) std::swap(problems[left - 1], problems[random() % left]);
  return problems;
}

}  // namespace sheaf::tests
