#pragma once

#include "cuda/sort/msd/group/staged.cuh"

// A merge sort of a group, which takes as long whatever the keys are. Each thread sorts some neighbouring words, and
// rounds merge the sorted runs two by two: a thread finds by bisection where its part of the merged run begins in both
// (merge path, Green, McColl and Bader 2012), and takes as many words as it had from there on.
namespace sheaf::cuda {

/// Sorted runs of staged words side by side, which become one.
struct merged_runs {
  std::uint32_t begin;
  std::uint32_t middle;  ///< where the second run begins
  std::uint32_t end;
};

/// Words of the first run among the first `place` words of the merged one. Equal words of the first come first.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ std::uint32_t words_of_first_run(const staged_group<Limbs, Payload, Method>& group,
                                                            const merged_runs& runs, std::uint32_t place) {
  const std::uint32_t first_words = runs.middle - runs.begin;
  const std::uint32_t second_words = runs.end - runs.middle;
  std::uint32_t least = place - min(place, second_words);
  std::uint32_t most = min(place, first_words);
  while (least < most) {
    const std::uint32_t some = (least + most) / 2;
    const bool is_taken = !group.is_less_key(group.staged[runs.middle + place - 1 - some],  //
                                             group.staged[runs.begin + some]);
    least = is_taken ? some + 1 : least;
    most = is_taken ? most : some;
  }
  return least;
}

/// Stages the group's words in order.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ void sort_by_merging(const staged_group<Limbs, Payload, Method>& group,
                                                const sort_word<Limbs> (&words)[finish_items]) {
  using word = sort_word<Limbs>;
  constexpr int items = finish_items;
  const auto each = static_cast<int>((group.count - 1) / finish_threads + 1);
  const std::uint32_t first = threadIdx.x * each;
  word own[items];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (group.position(k) < group.count) group.stage(group.position(k), words[k], group.position(k));
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    own[k] = k < each && first + k < group.count ? group.staged[first + k] : word_of_ones<Limbs>();
  }
  // Odd-even transposition, which leaves equal words in their order. Each word has its place of origin with it, from
  // where its value is fetched.
  std::uint32_t origin[items];
#pragma unroll
  for (int k = 0; k < items; ++k) origin[k] = first + k;
#pragma unroll
  for (int round = 0; round < items; ++round) {
    if (round >= each) break;
#pragma unroll
    for (int k = round % 2; k + 1 < items; k += 2) {
      if (k + 1 >= each || !group.is_less_key(own[k + 1], own[k])) continue;
      const word lesser = own[k + 1];
      own[k + 1] = own[k];
      own[k] = lesser;
      if constexpr (carries_values(Payload)) {
        const std::uint32_t origin_of_lesser = origin[k + 1];
        origin[k + 1] = origin[k];
        origin[k] = origin_of_lesser;
      }
    }
  }
  const auto wait_for_runs = [](std::uint32_t threads) {
    if (threads <= 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  };
  const auto stage_own = [&] {
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (k >= each) break;
      if (first + k < group.count) group.stage(first + k, own[k], origin[k]);
    }
  };
  wait_for_runs(finish_threads);
  stage_own();
#pragma unroll 1
  for (std::uint32_t threads = 2; threads <= finish_threads; threads *= 2) {  // that merge two runs
    wait_for_runs(threads);
    const std::uint32_t begin = min(threadIdx.x / threads * threads * each, group.count);
    const merged_runs runs{begin, min(begin + threads / 2 * each, group.count),
                           min(begin + threads * each, group.count)};
    const std::uint32_t place = min(threadIdx.x % threads * each, runs.end - runs.begin);
    const std::uint32_t of_first = words_of_first_run(group, runs, place);
    std::uint32_t next_of_first = runs.begin + of_first;
    std::uint32_t next_of_second = runs.middle + place - of_first;
    const auto staged_or_last = [&](std::uint32_t i, std::uint32_t end) { return group.staged[min(i, end - 1)]; };
    if (runs.begin < runs.end) {
      word of_first_run = staged_or_last(next_of_first, runs.middle);
      word of_second_run = staged_or_last(next_of_second, runs.end);
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (k >= each) break;
        const bool takes_first = next_of_second >= runs.end ||
                                 (next_of_first < runs.middle && !group.is_less_key(of_second_run, of_first_run));
        own[k] = takes_first ? of_first_run : of_second_run;
        const std::uint32_t from = takes_first ? next_of_first++ : next_of_second++;
        if constexpr (carries_values(Payload)) origin[k] = group.positions[min(from, group.count - 1)];
        const word next =
            takes_first ? staged_or_last(next_of_first, runs.middle) : staged_or_last(next_of_second, runs.end);
        of_first_run = takes_first ? next : of_first_run;
        of_second_run = takes_first ? of_second_run : next;
      }
    }
    wait_for_runs(threads);
    stage_own();
  }
}

}  // namespace sheaf::cuda
