#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "cuda/split/bad_keys.cuh"
#include "cuda/split/cub/radix_sort.hpp"
#include "cuda/split/steps.hpp"
#include "plan/choose.hpp"

// The variant cuda.cub: CUB's radix sort by the bits of the category. It counts the digits of all passes in one reading
// and passes over the records with decoupled look-back, so it moves fewer bytes than cuda.stable where there are
// several passes, and has fewer kernels where the list is short. Records that hold their key are sorted as keys, others
// or their numbers as values.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// What a plan decides for run. Arrays begin at these bytes of the scratch.
struct cub_split {
  cub_sort_shape sort;
  std::uint64_t sorted_keys = 0;  ///< keys that lie outside the records
  std::uint64_t numbers = 0;      ///< record numbers, for an index
  std::uint64_t order = 0;        ///< sorted record numbers that are to be inverted
  std::uint64_t bad_keys = 0;     ///< how many there are
  std::uint64_t saved = 0;        ///< the end of the output, where records of bad keys will come to
  std::uint64_t inner = 0;        ///< scratch of CUB, and then of the inversion

  cub_split(const split_problem& problem, const cub_sort_shape& shape) : sort(shape) {
    core::scratch_offsets arrays;
    const bool is_index = problem.product != split_product::records;
    const bool inverts = problem.product == split_product::scatter_index;
    if (problem.has_separate_key()) sorted_keys = arrays.take(problem.count * problem.key_bytes);
    if (is_index) numbers = arrays.take(problem.count * problem.word_bytes);
    if (inverts) order = arrays.take(problem.count * problem.word_bytes);
    if (problem.checks_category()) bad_keys = arrays.take(sizeof(unsigned long long));
    if (problem.checks_category() && !inverts) saved = arrays.take(problem.count * problem.word_bytes);
    inner = arrays.bytes();
  }
};

/// The lowest bit of a field in the word that holds it; none if the field is not a run of bits there.
std::optional<std::uint32_t> lowest_bit_of(const bit_field& f) {
  if (f.order == bit_order::little_endian) return static_cast<std::uint32_t>(f.first);
  const bool is_in_one_byte = f.first / 8 == (f.first + f.count - 1) / 8;
  if (!is_in_one_byte) return std::nullopt;
  return static_cast<std::uint32_t>(f.first / 8 * 8 + (8 - f.first % 8 - f.count));
}

/// An order that CUB has written takes so much longer to invert than its price says: 10^8 numbers by 16 bits take 3.29
/// ms by way of CUB and 3.20 by cuda.stable, whose prices were 3.12 and 3.19.
constexpr double inversion_slowdown = 1.1;
/// Latency that its price leaves out, in steps of the profile: 1024 numbers take 22 us in all, 65536 57.
constexpr double inversion_steps_of_a_block = 2;
constexpr double inversion_steps = 4;

plan::planned plan_cub(const split_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = word_pass_rejection(problem)) return plan::rejected(reason);
  if (problem.word_bytes != 4 && problem.word_bytes != 8) return plan::rejected("moves records of 4 and 8 bytes");
  const bool has_word_keys = problem.key_bytes <= 8 && problem.key_word_bytes >= problem.key_bytes &&
                             problem.key_stride_bytes == problem.key_bytes;
  if (problem.has_separate_key() && !has_word_keys)
    return plan::rejected("keys are not contiguous words of up to 8 bytes");
  const std::optional<std::uint32_t> lowest_bit = lowest_bit_of(problem.bits);
  if (!lowest_bit) return plan::rejected("sorts by bits that lie side by side in a word");
  cub_sort_shape sort;
  sort.count = problem.count;
  sort.key_bytes = problem.has_separate_key() ? static_cast<std::uint32_t>(problem.key_bytes) : problem.word_bytes;
  sort.value_bytes = problem.has_separate_key() ? problem.word_bytes : 0;
  sort.first_bit = *lowest_bit;
  const bool is_category = problem.key_from == split_key::kind::category;
  sort.end_bit = *lowest_bit + (is_category ? std::min(sorted_bits(problem), problem.bits.count) : problem.bits.count);
  sort.encodes_keys = problem.checks_category() || sort.key_bytes < 4;
  if (const char* reason = cub_rejection(sort)) return plan::rejected(reason);

  const cub_split split(problem, sort);
  plan::planned plan;
  plan.decided.set(split);
  plan.add("latency", machine.launch_seconds + machine.step_seconds);
  const auto count = static_cast<double>(problem.count);
  if (problem.checks_category()) {
    plan.add("keys checked",
             3 * machine.step_seconds + count * static_cast<double>(problem.key_bytes) / machine.copy_bytes_per_second);
  }
  if (problem.product != split_product::records) {
    plan.add("numbers written",
             machine.step_seconds + count * static_cast<double>(problem.word_bytes) / machine.copy_bytes_per_second);
  }
  add_cub_cost(plan, sort, machine);
  plan.scratch_bytes = split.inner + cub_scratch_bytes(sort);
  if (problem.product == split_product::scatter_index) {
    plan::planned inversion = plan_inversion(problem, plan::inner_scope(scope, split.inner));
    plan.add("inversion",
             inversion_slowdown * inversion.seconds +
                 (is_one_block(sort) ? inversion_steps_of_a_block : inversion_steps) * machine.step_seconds);
    plan.scratch_bytes = std::max(plan.scratch_bytes, split.inner + inversion.scratch_bytes);
    plan.inner_calls = std::make_shared<plan::planned>(std::move(inversion));
  }
  return plan;
}

/// One call.
class cub_split_call {
 public:
  cub_split_call(const context& ctx, const split_problem& problem, const plan::planned& plan,
                 const split_buffers& buffers, std::byte* scratch)
      : ctx_(ctx),
        problem_(problem),
        plan_(plan),
        split_(plan.decided.get<cub_split>()),
        pass_(word_pass_of(problem, buffers)),
        scratch_(scratch) {}

  void run() const {
    const bool inverts = problem_.product == split_product::scatter_index;
    const bool is_index = problem_.product != split_product::records;
    cub_sort_arrays arrays;
    void* const out = inverts ? scratch_ + split_.order : pass_.out;
    if (problem_.has_separate_key()) {
      arrays = {pass_.keys.data, scratch_ + split_.sorted_keys, is_index ? scratch_ + split_.numbers : pass_.in, out};
    } else {
      arrays = {pass_.in, out};
    }
    cub_key_encoding encoding;
    if (problem_.checks_category())
      encoding.most = problem_.categories - 1;  // bad keys become ones above all categories
    if (is_index) write_row_numbers(ctx_, scratch_ + split_.numbers, problem_.word_bytes, problem_.count);
    if (problem_.checks_category()) count_bad_keys(ctx_, pass_.keys, problem_.count, bad_keys());
    if (saves_end()) copy_tail(ctx_, out, saved(), problem_.word_bytes, problem_.count, bad_keys());
    run_cub_sort(ctx_, split_.sort, encoding, arrays, scratch_ + split_.inner);
    if (saves_end()) copy_tail(ctx_, saved(), out, problem_.word_bytes, problem_.count, bad_keys());
    find_offsets(ctx_, arrays.sorted_keys, split_.sort.key_bytes, problem_.count,
                 {split_.sort.first_bit, split_.sort.bits()}, problem_.categories, pass_.offsets);
    if (!inverts) return;
    if (problem_.checks_category()) clear_tail(ctx_, out, problem_.word_bytes, problem_.count, bad_keys());
    invert_order(ctx_, problem_, plan_.inner<plan::planned>(), scratch_ + split_.order, pass_.scatter_index,
                 scratch_ + split_.inner);
  }

 private:
  bool saves_end() const { return problem_.checks_category() && problem_.product != split_product::scatter_index; }
  unsigned long long* bad_keys() const { return reinterpret_cast<unsigned long long*>(scratch_ + split_.bad_keys); }
  void* saved() const { return scratch_ + split_.saved; }

  const context& ctx_;
  const split_problem& problem_;
  const plan::planned& plan_;
  cub_split split_;
  split_pass pass_;
  std::byte* scratch_;
};

void run_cub(const context& ctx, const split_problem& p, const plan::planned& plan, const split_buffers& b,
             std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (split_empty_list(ctx, p, b)) return;
  cub_split_call(ctx, p, plan, b, scratch).run();
}

}  // namespace

extern constinit const split_variant split_cub{"cuda.cub", backend_kind::cuda, plan_cub, run_cub};

}  // namespace sheaf::cuda
