#include "apps/sheaf/files/text/gzip.hpp"

#include <algorithm>

#include <zlib.h>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/progress.hpp"

namespace sheaf::io {
namespace {

constexpr std::uint64_t front_bytes = std::uint64_t{1} << 16;
constexpr std::uint64_t most_at_once = std::uint64_t{1} << 30;  // zlib counts in 32 bits
constexpr int window_bits_of_gzip = 15 + 16;                    // the largest window; 16 asks for gzip's frame

// A stream of zlib, and the bytes that it has yet to read.
class gzip_reader {
 public:
  gzip_reader(std::span<const std::byte> file, const std::string& origin)
      : origin_(origin), file_bytes_(file.size()), rest_(file) {
    if (inflateInit2(&stream_, window_bits_of_gzip) != Z_OK) {
      throw_error(error_code::out_of_memory, "{}: no memory to inflate it", origin);
    }
  }
  ~gzip_reader() { inflateEnd(&stream_); }
  gzip_reader(const gzip_reader&) = delete;
  gzip_reader& operator=(const gzip_reader&) = delete;

  bool done() const noexcept { return done_; }
  // Compressed bytes that are behind it.
  std::uint64_t read_bytes() const noexcept { return file_bytes_ - rest_.size(); }

  // Inflates up to `room` bytes, and returns how many these are: fewer only at the end.
  std::uint64_t read(char* to, std::uint64_t room) {
    const std::uint64_t asked = room;
    while (room > 0 && !done_) {
      const auto piece = static_cast<uInt>(std::min(room, most_at_once));
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      stream_.avail_out = piece;
      step();
      const std::uint64_t made = piece - stream_.avail_out;
      to += made;
      room -= made;
    }
    return asked - room;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    io::fail(origin_, "compressed byte {}: {}", file_bytes_ - rest_.size(), what);
  }

  void step() {
    const auto piece = static_cast<uInt>(std::min<std::uint64_t>(rest_.size(), most_at_once));
    // zlib's interface has no const; it does not write to its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
    stream_.avail_in = piece;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    rest_ = rest_.subspan(piece - stream_.avail_in);
    if (status == Z_STREAM_END) return end_member();
    if (status == Z_MEM_ERROR) throw_error(error_code::out_of_memory, "{}: no memory to inflate it", origin_);
    if (status != Z_OK && status != Z_BUF_ERROR) fail(words_of_damage());
    if (rest_.empty() && stream_.avail_out > 0) fail("the compressed data end early: the file is cut short");
  }

  void end_member() {
    if (rest_.empty()) {
      done_ = true;
    } else if (starts_as_gzip(rest_)) {
      inflateReset(&stream_);
    } else {
      fail(fmt::format("{} bytes that are not gzip follow the compressed data", rest_.size()));
    }
  }

  std::string words_of_damage() const {
    const std::string_view words = stream_.msg == nullptr ? "no reason given" : stream_.msg;
    if (words == "incorrect data check") return "the checksum of the text is wrong: the file is damaged";
    if (words == "incorrect length check") return "the size of the text is wrong: the file is damaged";
    return fmt::format("the compressed data are damaged: {}", words);
  }

  const std::string& origin_;
  std::uint64_t file_bytes_;
  std::span<const std::byte> rest_;
  z_stream stream_{};
  bool done_ = false;
};

}  // namespace

bool starts_as_gzip(std::span<const std::byte> file) noexcept {
  return file.size() >= 2 && file[0] == std::byte{0x1f} && file[1] == std::byte{0x8b};
}

inflated_text inflate_gzip(std::span<const std::byte> file, const std::string& origin, std::uint64_t most_bytes,
                           const std::function<void(std::string_view)>& check_front) {
  inflated_text out;
  gzip_reader reader(file, origin);
  // One byte more than what is allowed tells a text that is too long from one that ends there.
  const std::uint64_t most_capacity = most_bytes + 1;
  const auto grow_to = [&](std::uint64_t capacity) {
    auto* const bytes = static_cast<char*>(std::realloc(out.bytes_.get(), capacity));
    if (bytes == nullptr) {
      throw_error(error_code::out_of_memory, "{}: no memory for the {} bytes of text that it inflates to so far",
                  origin, out.size_);
    }
    static_cast<void>(out.bytes_.release());
    out.bytes_.reset(bytes);
    return capacity;
  };
  std::uint64_t capacity = grow_to(std::min(front_bytes, most_capacity));
  out.size_ = reader.read(out.bytes_.get(), capacity);
  check_front(out.text());
  progress_step step("inflating " + origin, progress_unit::bytes, static_cast<double>(file.size()));
  while (!reader.done() && out.size_ <= most_bytes) {
    step.reach(static_cast<double>(reader.read_bytes()) / static_cast<double>(file.size()));
    // Text of matrices and meshes is three to five times as long as it is compressed.
    if (out.size_ == capacity) {
      capacity = grow_to(std::min(std::max(capacity + capacity / 2, 4 * std::uint64_t{file.size()}), most_capacity));
    }
    // Piece by piece, between which others may look how far it is.
    constexpr std::uint64_t piece_bytes = std::uint64_t{16} << 20;
    out.size_ += reader.read(out.bytes_.get() + out.size_, std::min(capacity - out.size_, piece_bytes));
  }
  if (out.size_ > most_bytes) io::fail(origin, "inflates to more than {} bytes, the most that are read", most_bytes);
  return out;
}

}  // namespace sheaf::io
