#include "apps/sheaf/files/arrays/python_literal.hpp"

#include <charconv>

#include "apps/sheaf/files/failure.hpp"

namespace sheaf::io {
namespace {

constexpr int most_depth = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class literal_reader {
 public:
  literal_reader(std::string_view text, const std::string& origin, std::uint64_t offset)
      : text_(text), origin_(origin), offset_(offset) {}

  python_value read_all() {
    skip_space();
    python_value value = read_value(0);
    skip_space();
    if (at_ < text_.size()) fail("more text follows where the header should end");
    return value;
  }

 private:
  python_value read_value(int depth) {
    if (depth > most_depth) fail(fmt::format("brackets are nested deeper than {}", most_depth));
    python_value value;
    value.begin = at_;
    const char character = peek();
    if (character == '\'' || character == '"') {
      read_text(value);
    } else if (is_digit(character) || character == '-' || character == '+') {
      read_integer(value);
    } else if (character == '(') {
      read_items(value, ')', depth);
    } else if (character == '[') {
      value.type = python_value::kind::list;
      read_items(value, ']', depth);
    } else if (character == '{') {
      read_dict(value, depth);
    } else {
      read_word(value);
    }
    value.end = at_;
    return value;
  }

  void read_text(python_value& value) {
    value.type = python_value::kind::text;
    const char quote = text_[at_++];
    const std::size_t first = at_;
    while (peek() != quote) {
      if (static_cast<unsigned char>(peek()) < ' ') fail("a control character inside a string");
      at_ += peek() == '\\' ? 2 : 1;
    }
    value.text = text_.substr(first, at_ - first);
    ++at_;
  }

  // Python 2 wrote an L after long integers.
  void read_integer(python_value& value) {
    value.type = python_value::kind::integer;
    const bool negative = peek() == '-';
    if (!is_digit(peek())) ++at_;
    const std::size_t first = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (at_ == first) fail("a sign without a number");
    std::uint64_t whole = 0;
    const auto [end, problem] = std::from_chars(text_.data() + first, text_.data() + at_, whole);
    if (problem == std::errc{} && (!negative || whole == 0)) value.whole = whole;
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.')) fail("not a whole number");
  }

  void read_word(python_value& value) {
    std::size_t end = at_;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "True" || word == "False") {
      value.type = python_value::kind::boolean;
      value.truth = word == "True";
    } else if (word != "None") {
      fail("not a string, whole number, tuple, list, True, False or None");
    }
    at_ = end;
  }

  // A list, a tuple, or a value in parentheses. One comma may follow the last item.
  void read_items(python_value& value, char closing, int depth) {
    bool comma = true;
    ++at_;
    for (skip_space(); peek() != closing; skip_space()) {
      if (!comma) fail(fmt::format("no comma or {} after a value", closing));
      value.items.push_back(read_value(depth + 1));
      skip_space();
      comma = take(',');
    }
    ++at_;
    if (closing == ']') return;
    if (value.items.size() == 1 && !comma) {
      python_value inner = std::move(value.items.front());
      inner.begin = value.begin;
      value = std::move(inner);
    } else {
      value.type = python_value::kind::tuple;
    }
  }

  void read_dict(python_value& value, int depth) {
    value.type = python_value::kind::dict;
    bool comma = true;
    ++at_;
    for (skip_space(); peek() != '}'; skip_space()) {
      if (!comma) fail("no comma or } after a value");
      value.items.push_back(read_value(depth + 1));
      skip_space();
      if (!take(':')) fail("no colon after a key");
      skip_space();
      value.items.push_back(read_value(depth + 1));
      skip_space();
      comma = take(',');
    }
    ++at_;
  }

  char peek() const {
    if (at_ >= text_.size()) fail_at(text_.size(), "the header ends too early", "");
    return text_[at_];
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  [[noreturn]] void fail(const std::string& what) const {
    fail_at(at_, what, fmt::format(": {}", printable(text_.substr(at_, 20))));
  }

  [[noreturn]] void fail_at(std::size_t place, const std::string& what, const std::string& shown) const {
    io::fail(origin_, "byte {}: {}{}", offset_ + place, what, shown);
  }

  std::string_view text_;
  const std::string& origin_;
  std::uint64_t offset_;
  std::size_t at_ = 0;
};

}  // namespace

python_value parse_python_literal(std::string_view text, const std::string& origin, std::uint64_t offset) {
  return literal_reader(text, origin, offset).read_all();
}

}  // namespace sheaf::io
