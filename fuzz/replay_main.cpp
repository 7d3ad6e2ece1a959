// replay CORPUS [MUTATIONS [FIRST]]: runs every file of a corpus, then seeded random mutations of them, numbered from
// FIRST. For compilers without libFuzzer, and for the ordinary test run. The same numbers make the same inputs.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using input = std::vector<std::uint8_t>;

constexpr std::size_t most_bytes = 1 << 16;
constexpr std::uint64_t default_mutations = 20000;
constexpr const char* interesting[] = {"0",
                                       "-1",
                                       "18446744073709551615",
                                       "9223372036854775808",
                                       "4294967296",
                                       "1e999",
                                       "'",
                                       "\"",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       "(",
                                       ")",
                                       ",",
                                       ":",
                                       "\\",
                                       "\xff",
                                       "null"};

std::vector<input> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<input> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class mutator {
 public:
  explicit mutator(std::uint64_t number) : random_(number) {}

  input mutate(const std::vector<input>& corpus) {
    input bytes = corpus[below(corpus.size())];
    for (std::size_t steps = 1 + below(6); steps > 0; --steps) step(bytes, corpus[below(corpus.size())]);
    bytes.resize(std::min(bytes.size(), most_bytes));
    return bytes;
  }

 private:
  // Not std::uniform_int_distribution, whose numbers differ between libraries.
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void step(input& bytes, const input& other) {
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(bytes.size() - at, 32) + 1);
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(7)) {
      case 0:
        if (length > 0) *place ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        if (length > 0) *place = static_cast<std::uint8_t>(below(256));
        break;
      case 2: bytes.erase(place, place + static_cast<std::ptrdiff_t>(length)); break;
      case 3: bytes.insert(place, 1 + below(8), static_cast<std::uint8_t>(below(256))); break;
      case 4: {
        const std::string words = interesting[below(std::size(interesting))];
        bytes.erase(place, place + static_cast<std::ptrdiff_t>(std::min(length, words.size())));
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), words.begin(), words.end());
        break;
      }
      case 5: {
        const std::size_t from = below(other.size() + 1);
        const std::size_t count = below(std::min<std::size_t>(other.size() - from, 64) + 1);
        const input piece(other.begin() + static_cast<std::ptrdiff_t>(from),
                          other.begin() + static_cast<std::ptrdiff_t>(from + count));
        bytes.insert(place, piece.begin(), piece.end());
        break;
      }
      default: bytes.resize(at);
    }
  }

  std::mt19937_64 random_;
};

std::string running;

// Names the input that ended the program.
[[noreturn]] void name_input() {
  std::fprintf(stderr, "fuzz: ended by %s\n", running.c_str());
  std::abort();
}

extern "C" void name_signal(int) {
  std::fprintf(stderr, "fuzz: ended by %s\n", running.c_str());
  std::_Exit(1);
}

void run(const input& bytes, const std::string& what) {
  running = what;
  // A copy of exactly this size, so that a sanitizer sees a step past its end.
  const input exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: %s CORPUS [MUTATIONS [FIRST]]\n", argv[0]);
    return 2;
  }
  std::set_terminate(name_input);
  std::signal(SIGABRT, name_signal);
  const std::vector<input> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no files\n", argv[1]);
    return 2;
  }
  for (std::size_t i = 0; i < corpus.size(); ++i)
    run(corpus[i], "file " + std::to_string(i) + " of the corpus, by name");
  const std::uint64_t mutations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : default_mutations;
  const std::uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  for (std::uint64_t n = first; n < first + mutations; ++n)
    run(mutator(n).mutate(corpus), "mutation " + std::to_string(n));
  std::printf("%zu files and %llu mutations\n", corpus.size(), static_cast<unsigned long long>(mutations));
  return 0;
}
