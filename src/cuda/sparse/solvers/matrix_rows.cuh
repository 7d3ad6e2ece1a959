#pragma once

#include "cuda/sparse/sums/matrix.cuh"

// The rows of a matrix as a block sums them, and what a block keeps in its shared memory.
namespace sheaf::cuda {

/// Arrays in the dynamic shared memory of a block, one behind the other.
class shared_space {
 public:
  __device__ shared_space(unsigned char* begin, std::uint64_t bytes) : at_(begin), left_(bytes) {}

  /// Null, and nothing taken, if there is no space for so many.
  template <class T>
  __device__ T* take(std::uint64_t count) {
    constexpr std::uint64_t alignment = 16;
    if (count > left_) return nullptr;
    const std::uint64_t bytes = (count * sizeof(T) + alignment - 1) / alignment * alignment;
    if (bytes > left_) return nullptr;
    T* const array = reinterpret_cast<T*>(at_);
    at_ += bytes;
    left_ -= bytes;
    return array;
  }

 private:
  unsigned char* at_;
  std::uint64_t left_;
};

/// The rows of a matrix: where the caller has them, or copied to shared memory, of those that are one block's. A lane
/// takes every so manieth place, wherever they lie, so that sums have the same bits.
template <class Value, class Column>
class matrix_rows {
 public:
  __device__ explicit matrix_rows(const product_arguments<Value, Column>& a)
      : rows_(a.rows), columns_(a.columns), values_(a.values), limit_(a.column_limit) {}

  /// Copies the rows [first, last), or their offsets alone, if they are right and fit; rows with ends of their own stay
  /// where they are. All threads of the block call this.
  template <unsigned Threads>
  __device__ void copy(std::uint64_t first, std::uint64_t last, bool has_row_ends, shared_space& space) {
    if (has_row_ends || first >= last) return;
    const row_range all{rows_.begin(first), rows_.end(last - 1)};
    constexpr std::uint64_t most_places = ~0U;
    if (!rows_.is_row(all) || all.length() > most_places) return;
    auto* const offsets = space.take<unsigned>(last - first + 1);
    if (offsets == nullptr) return;
    bool is_wrong = false;
    for (std::uint64_t row = first + threadIdx.x; row < last; row += Threads) {
      const row_range r{rows_.begin(row), rows_.end(row)};
      is_wrong |= r.begin < all.begin || r.end > all.end || !rows_.is_row(r);
      offsets[row - first] = static_cast<unsigned>(r.begin - all.begin);
    }
    if (threadIdx.x == 0) offsets[last - first] = static_cast<unsigned>(all.length());
    if (__syncthreads_or(is_wrong ? 1 : 0) != 0) return;
    offsets_ = offsets;
    first_row_ = first;
    first_place_ = all.begin;
    columns_ += all.begin;
    values_ += all.begin;
    shared_space rest = space;
    auto* const values = rest.take<Value>(all.length());
    auto* const columns = rest.take<Column>(all.length());
    if (values == nullptr || columns == nullptr) return;
    for (std::uint64_t i = threadIdx.x; i < all.length(); i += Threads) {
      values[i] = values_[i];
      columns[i] = columns_[i];
    }
    __syncthreads();
    values_ = values;
    columns_ = columns;
    space = rest;
  }

  __device__ __forceinline__ row_range range(std::uint64_t row) const {
    if (offsets_ == nullptr) return {rows_.begin(row), rows_.end(row)};
    const unsigned* const at = offsets_ + (row - first_row_);
    return {first_place_ + at[0], first_place_ + at[1]};
  }

  /// Adds of_entry(column, value) of a lane's places, beginning at place `lane` of every `lanes`.
  template <class Sum, class OfEntry>
  __device__ __forceinline__ Sum sum(row_range r, unsigned lane, unsigned lanes, OfEntry of_entry, bool& is_bad) const {
    constexpr unsigned places = 8;
    Sum sum = 0;
    for (std::uint64_t at = r.begin + lane; at < r.end; at += std::uint64_t{places} * lanes) {
      Column column[places];
      Value value[places];
#pragma unroll
      for (unsigned k = 0; k < places; ++k) {
        const std::uint64_t i = at + std::uint64_t{k} * lanes;
        column[k] = i < r.end ? columns_[i - first_place_] : Column{0};
        value[k] = i < r.end ? values_[i - first_place_] : Value{0};
      }
#pragma unroll
      for (unsigned k = 0; k < places; ++k) {
        const bool is_in = at + std::uint64_t{k} * lanes < r.end;
        const bool has_column = column[k] < limit_;
        is_bad |= is_in && !has_column;
        if (is_in && has_column) sum += of_entry(column[k], static_cast<Sum>(value[k]));
      }
    }
    return sum;
  }

 private:
  const row_offsets& rows_;
  const Column* columns_;  ///< of place first_place_; in shared or global memory, as the values
  const Value* values_;
  const unsigned* offsets_ = nullptr;  ///< from first_place_, of rows from first_row_ on; null: in global memory
  std::uint64_t first_row_ = 0;
  std::uint64_t first_place_ = 0;
  std::uint64_t limit_;
};

}  // namespace sheaf::cuda
