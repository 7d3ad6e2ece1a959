#include "core/context_state.hpp"
#include "cpu/split/offsets.hpp"
#include "cpu/split/pass.hpp"
#include "cpu/split/plan.hpp"
#include "cpu/threads/huge_pages.hpp"

namespace sheaf::cpu {
namespace {

using primitives::split_buffers;
using primitives::split_problem;
using primitives::split_product;

template <class Payload>
struct alignas(2 * sizeof(Payload)) carried_pair {
  std::uint32_t category;
  Payload payload;
};

// One run of cpu.buffered: where things are, and the passes over them.
class buffered_split {
 public:
  buffered_split(const context& ctx, const split_problem& p, const plan::planned& plan, const split_buffers& b)
      : p_(p),
        b_(b),
        room_(p, plan),
        scratch_(ctx.state(), room_.bytes),
        parts_(plan.parameters[split_parts]),
        passes_(plan.parameters[split_passes]),
        digit_bits_(static_cast<std::uint32_t>(plan.parameters[split_digit_bits])),
        streams_(plan.parameters[split_streams] != 0),
        starts_(at<std::uint64_t>(room_.starts), parts_, room_.buckets) {
    ask_for_huge_pages(scratch_.as<void>(), room_.bytes);
  }

  first_bad run() {
    if (passes_ == 1) {
      one_pass();
    } else if (carried_by(p_) == split_carries::records) {
      with_record_width([&](auto record) { record_passes<decltype(record)>(); });
    } else if (carried_by(p_) == split_carries::category_and_record) {
      if (p_.record_bytes == 4) return pair_passes<std::uint32_t, true>(), bad_;
      pair_passes<std::uint64_t, true>();
    } else if (carried_bytes(p_) == 8) {
      pair_passes<std::uint32_t, false>();
    } else {
      pair_passes<std::uint64_t, false>();
    }
    return bad_;
  }

 private:
  template <class T>
  T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(scratch_.as<std::byte>() + offset);
  }

  template <class Body>
  void with_record_width(Body body) const {
    switch (p_.record_bytes) {
      case 1: return body(block_of_bytes<1>{});
      case 2: return body(block_of_bytes<2>{});
      case 4: return body(block_of_bytes<4>{});
      case 8: return body(block_of_bytes<8>{});
      default: return body(block_of_bytes<16>{});
    }
  }

  // The keys as the caller gives them.
  pass_input of_keys() const {
    return {category_reader(b_.keys.data, p_.key_bytes, p_.key_stride_bytes, p_.bits),
            p_.count,
            room_.buckets,
            p_.categories,
            0,
            ~std::uint32_t{0},
            p_.checks_category()};
  }

  void take_digit(pass_input& in, std::uint64_t pass) const {
    in.shift = static_cast<std::uint32_t>(pass) * digit_bits_;
    in.mask = static_cast<std::uint32_t>((std::uint64_t{1} << digit_bits_) - 1);
  }

  // Counts, scans, and calls move(part, next) for each part. Returns how many records there are.
  template <class Count, class Move>
  std::uint64_t counted_pass(Count count, Move move) {
    for_each_part(parts_, [&](std::uint64_t part) {
      std::uint64_t* const counts = starts_.of(part);
      std::fill_n(counts, room_.buckets, std::uint64_t{0});
      count(part, counts);
    });
    const std::uint64_t sum = starts_.scan();
    for_each_part(parts_, [&](std::uint64_t part) {
      std::uint64_t* const next = at<std::uint64_t>(room_.next) + part * room_.buckets;
      std::copy_n(starts_.of(part), room_.buckets, next);
      move(part, next);
    });
    return sum;
  }

  template <class Move>
  std::uint64_t pass(const pass_input& in, std::uint64_t* category_counts, Move move) {
    auto* const bad = at<std::uint64_t>(room_.bad);
    std::fill_n(bad, parts_, ~std::uint64_t{0});
    const std::uint64_t sum = counted_pass(
        [&](std::uint64_t part, std::uint64_t* counts) {
          bad[part] = count_part(in, parts_, part, counts, category_counts).position;
        },
        move);
    for (std::uint64_t part = 0; part < parts_; ++part) bad_.see(bad[part]);
    return sum;
  }

  // One pass over records with their keys in them.
  template <class T>
  std::uint64_t record_pass(const pass_input& in, const std::byte* from, std::uint64_t stride, std::byte* to) {
    if (stride == sizeof(T) && word_digit::takes<T>(in.categories)) {
      const word_digit digit(from, in);
      return counted_pass(
          [&](std::uint64_t part, std::uint64_t* counts) {
            count_words<T>(digit, part_begin(in.count, parts_, part), part_begin(in.count, parts_, part + 1), counts);
          },
          [&](std::uint64_t part, std::uint64_t* next) {
            move_words<T>(digit, from, part_begin(in.count, parts_, part), part_begin(in.count, parts_, part + 1),
                          in.buckets, lines<T>(part, next, to));
          });
    }
    return pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* next) {
      move_part(in, parts_, part, records_at<T>(from, stride), lines<T>(part, next, to));
    });
  }

  template <class Value>
  line_buckets<Value> lines(std::uint64_t part, std::uint64_t* next, void* out) const {
    const std::uint64_t phase = line_buckets<Value>::phase_of(out);
    for (std::uint64_t b = 0; b < room_.buckets; ++b) next[b] += phase;
    return {at<std::byte>(room_.lines) + part * room_.buckets * bucket_bytes, next, starts_.of(part), out, streams_};
  }

  record_sink whole_records(std::uint64_t* next) const {
    const bool streams = streams_ && are_whole_lines(b_.out.data, p_.record_bytes, p_.out_stride_bytes);
    return {{p_.record_bytes, p_.out_stride_bytes, p_.in_stride_bytes}, b_.in.data, b_.out.data, next, streams};
  }

  template <class Body>
  void with_index_type(Body body) const {
    if (p_.record_bytes == 4) return body(std::uint32_t{});
    body(std::uint64_t{});
  }

  void one_pass() {
    const pass_input in = of_keys();
    const auto number = [](std::uint64_t i, std::uint32_t) { return i; };
    std::uint64_t count = 0;
    if (p_.product == split_product::records && combines_lines(p_)) {
      with_record_width([&](auto record) {
        using T = decltype(record);
        if (!p_.key_is_apart()) {
          count = record_pass<T>(in, b_.in.data, p_.in_stride_bytes, b_.out.data);
          return;
        }
        count = pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* next) {
          move_part(in, parts_, part, records_at<T>(b_.in.data, p_.in_stride_bytes), lines<T>(part, next, b_.out.data));
        });
      });
    } else if (p_.product == split_product::records) {
      count = pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* next) {
        move_part(in, parts_, part, number, whole_records(next));
      });
    } else {
      with_index_type([&](auto index) {
        using T = decltype(index);
        T* const to = static_cast<T*>(b_.index.data);
        count = pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* next) {
          if (p_.product == split_product::scatter_index) {
            move_part(in, parts_, part, number, rank_sink<T>{to, next});
          } else {
            move_part(
                in, parts_, part, [](std::uint64_t i, std::uint32_t) { return static_cast<T>(i); },
                lines<T>(part, next, to));
          }
        });
      });
    }
    if (b_.offsets == nullptr) return;
    std::copy_n(starts_.of(0), room_.buckets, b_.offsets);
    std::fill(b_.offsets + room_.buckets, b_.offsets + p_.categories + 1, count);
  }

  template <class T>
  static auto records_at(const std::byte* from, std::uint64_t stride) {
    return [from, stride](std::uint64_t i, std::uint32_t) {
      T record;
      std::memcpy(&record, from + i * stride, sizeof record);
      return record;
    };
  }

  // Records with their keys in them go to and fro between scratch and the output, which the last pass writes.
  template <class T>
  void record_passes() {
    const std::byte* from = b_.in.data;
    std::uint64_t stride = p_.in_stride_bytes;
    for (std::uint64_t i = 0; i < passes_; ++i) {
      auto* const to = (passes_ - i) % 2 == 1 ? b_.out.data : at<std::byte>(room_.carried[0]);
      pass_input in{category_reader(from, sizeof(T), stride, p_.bits), p_.count, room_.buckets};
      take_digit(in, i);
      record_pass<T>(in, from, stride, to);
      from = to;
      stride = sizeof(T);
    }
    find_offsets(category_reader(from, sizeof(T), sizeof(T), p_.bits), p_.count, b_.offsets, p_.categories, parts_);
  }

  // Pairs of a category and a payload, which is the record itself or its number; the last pass leaves the category.
  template <class Payload, bool IsRecord>
  void pair_passes() {
    using pair = carried_pair<Payload>;
    clear_offsets(b_.offsets, p_.categories, parts_);
    pass_input in = of_keys();
    take_digit(in, 0);
    auto* to = at<pair>(room_.carried[0]);
    const std::uint64_t count = pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* next) {
      const auto record = records_at<Payload>(b_.in.data, p_.in_stride_bytes);
      move_part(
          in, parts_, part,
          [&](std::uint64_t i, std::uint32_t category) {
            if constexpr (IsRecord) return pair{category, record(i, category)};
            return pair{category, static_cast<Payload>(i)};
          },
          lines<pair>(part, next, to));
    });
    for (std::uint64_t i = 1; i < passes_; ++i) {
      const pair* const from = to;
      in = {category_reader(reinterpret_cast<const std::byte*>(from), sizeof(pair), sizeof(pair), {0, 32}), count,
            room_.buckets};
      take_digit(in, i);
      if (i + 1 == passes_) {
        pass(in, b_.offsets,
             [&](std::uint64_t part, std::uint64_t* next) { last_pass<Payload, IsRecord>(in, from, part, next); });
      } else {
        to = at<pair>(room_.carried[i % 2]);
        pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* next) {
          move_part(
              in, parts_, part, [from](std::uint64_t r, std::uint32_t) { return from[r]; },
              lines<pair>(part, next, to));
        });
      }
    }
    sum_offsets(b_.offsets, p_.categories, parts_, at<std::uint64_t>(room_.bad));
  }

  template <class Payload, bool IsRecord>
  void last_pass(const pass_input& in, const carried_pair<Payload>* from, std::uint64_t part, std::uint64_t* next) {
    const auto payload = [from](std::uint64_t i, std::uint32_t) { return from[i].payload; };
    if constexpr (IsRecord) {
      move_part(in, parts_, part, payload, lines<Payload>(part, next, b_.out.data));
    } else if (p_.product == split_product::records) {
      const auto asked = [=, this](std::uint64_t i, std::uint32_t) {
        constexpr std::uint64_t distance = 32;
        const std::uint64_t ahead = std::min(i + distance, in.count - 1);
        prefetch(b_.in.data, from[ahead].payload * p_.in_stride_bytes, p_.record_bytes);
        return from[i].payload;
      };
      move_part(in, parts_, part, asked, whole_records(next));
    } else {
      with_index_type([&](auto index) {
        using T = decltype(index);
        if (p_.product == split_product::scatter_index) {
          move_part(in, parts_, part, payload, rank_sink<T>{static_cast<T*>(b_.index.data), next});
        } else {
          move_part(
              in, parts_, part, [from](std::uint64_t i, std::uint32_t) { return static_cast<T>(from[i].payload); },
              lines<T>(part, next, b_.index.data));
        }
      });
    }
  }

  const split_problem& p_;
  const split_buffers& b_;
  split_room room_;
  core::scratch scratch_;
  std::uint64_t parts_;
  std::uint64_t passes_;
  std::uint32_t digit_bits_;
  bool streams_;
  bucket_table starts_;
  first_bad bad_;
};

void run_buffered(const context& ctx, const split_problem& p, const plan::planned& plan, const split_buffers& b) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const first_bad bad = buffered_split(ctx, p, plan, b).run();
  if (!bad.found()) return;
  const std::uint32_t category = primitives::field_of(b.keys.data + bad.position * p.key_stride_bytes, p.bits);
  state.keep_first({call, bad.position, category, p.categories, core::index_role::category, 0});
}

}  // namespace

constinit const primitives::split_variant split_buffered{"cpu.buffered", plan_split, run_buffered};

}  // namespace sheaf::cpu
