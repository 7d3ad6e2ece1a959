// What --key and --memory of a sort are given is untrusted: whatever the text, the parsers return a key that fits the
// records and a number of bytes that is the one written, or throw sheaf::error with a message that can be shown.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/sort/key.hpp"
#include "primitives/views.hpp"

namespace {

using sheaf::key_field;
using sheaf::key_type;

constexpr std::size_t most_message_bytes = 512;

void require(bool kept) {
  if (!kept) std::abort();
}

// Nothing where parse refuses the text, in words that a terminal can be given.
template <class Parse>
auto result_of(Parse parse) -> std::optional<decltype(parse())> {
  try {
    return parse();
  } catch (const sheaf::error& e) {
    require(e.code() == sheaf::error_code::bad_argument);
    const std::string_view message = e.what();
    require(!message.empty() && message.size() <= most_message_bytes);
    require(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; }));
    return std::nullopt;
  }
}

void look_at(const key_field& f) {
  require(f.first_bit == 0 && f.bit_count == 0);
  if (f.type == key_type::floating) {
    require(f.bytes == 2 || f.bytes == 4 || f.bytes == 8);
  } else {
    require(f.bytes >= 1 && f.bytes <= 32);
  }
  // Written out it says the same, however fields run that do not say.
  constexpr std::string_view types[] = {"u", "i", "f", "bytes"};
  const std::string written = fmt::format("{}:{}:{}:{}", f.offset, f.bytes, types[static_cast<std::size_t>(f.type)],
                                          f.descending ? "desc" : "asc");
  for (const bool descending : {false, true}) require(sheaf::jobs::parse_key_field(written, descending) == f);
}

void look_at(const sheaf::sort_key& key, std::size_t texts, std::uint64_t record_bytes) {
  require(key.count == texts && key.count <= sheaf::sort_key::most_fields);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < key.count; ++i) {
    const key_field& f = key.fields[i];
    look_at(f);
    require(f.bytes <= record_bytes && f.offset <= record_bytes - f.bytes);
    bits += 8 * f.bytes;
  }
  require(bits <= sheaf::sort_key::most_bits && sheaf::jobs::layout_of(key).bits == bits);
}

struct byte_unit {
  std::string_view name;
  std::uint64_t bytes;
};

bool are_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Decimal digits times a number, by hand: the digits before the point, which must fit in 64 bits, for digits behind it
// that are dropped.
std::optional<std::uint64_t> product(std::string_view whole, std::string_view fraction, std::uint64_t factor) {
  std::uint64_t carry = 0;
  for (auto digit = fraction.rbegin(); digit != fraction.rend(); ++digit) {
    carry = (carry + static_cast<std::uint64_t>(*digit - '0') * factor) / 10;
  }
  std::uint64_t number = 0;
  for (const char digit : whole) {
    if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, digit - '0', &number)) return {};
  }
  if (__builtin_mul_overflow(number, factor, &number) || __builtin_add_overflow(number, carry, &number)) return {};
  return number;
}

// What the text says, read from its end: nothing if it is no number of bytes or one past 2^64.
std::optional<std::uint64_t> bytes_written(std::string_view text) {
  constexpr byte_unit units[] = {{"kib", 1ULL << 10},
                                 {"mib", 1ULL << 20},
                                 {"gib", 1ULL << 30},
                                 {"tib", 1ULL << 40},
                                 {"kb", 1000},
                                 {"mb", 1000'000},
                                 {"gb", 1000'000'000},
                                 {"tb", 1000'000'000'000},
                                 {"k", 1ULL << 10},
                                 {"m", 1ULL << 20},
                                 {"g", 1ULL << 30},
                                 {"t", 1ULL << 40},
                                 {"b", 1},
                                 {"", 1}};
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  const byte_unit& unit = *std::ranges::find_if(units, [&](const byte_unit& u) { return lower.ends_with(u.name); });
  std::string_view number = std::string_view(lower).substr(0, lower.size() - unit.name.size());
  while (number.ends_with(' ')) number.remove_suffix(1);
  const auto point = number.find('.');
  if (point == number.npos) return are_digits(number) ? product(number, "", unit.bytes) : std::nullopt;
  const std::string_view whole = number.substr(0, point);
  const std::string_view fraction = number.substr(point + 1);
  if (!are_digits(whole) || !are_digits(fraction) || unit.bytes == 1) return std::nullopt;
  return product(whole, fraction, unit.bytes);
}

}  // namespace

// Every line is one --key of a command, and each by itself a --memory.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> texts(1);
  for (const std::uint8_t byte : std::vector<std::uint8_t>(data, data + size)) {
    if (byte == '\n') {
      texts.emplace_back();
    } else {
      texts.back().push_back(static_cast<char>(byte));
    }
  }
  for (const std::string& text : texts) {
    if (const auto f = result_of([&] { return sheaf::jobs::parse_key_field(text, false); })) look_at(*f);
    require(result_of([&] { return sheaf::jobs::parse_byte_size(text); }) == bytes_written(text));
  }
  for (const std::uint64_t record_bytes :
       {std::uint64_t{1}, std::uint64_t{100}, sheaf::primitives::most_record_bytes}) {
    for (const bool descending : {false, true}) {
      const auto key = result_of([&] { return sheaf::jobs::key_of_texts(texts, record_bytes, descending); });
      if (key) look_at(*key, texts.size(), record_bytes);
    }
  }
  return 0;
}
