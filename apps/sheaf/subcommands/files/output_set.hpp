#pragma once

#include <memory>
#include <vector>

#include "plan/store/output_file.hpp"

namespace sheaf::cli {

/// The files of one call, which are opened before any work and get their names when all of them are on the disk.
class output_set {
 public:
  /// @param prefix  of the files' names
  /// @param inputs  files that are never written
  /// @param option  that gives the prefix, for messages
  /// @throws error(bad_argument) for a prefix that is empty or a folder
  output_set(std::string prefix, std::vector<std::string> inputs, std::string option = "-o");

  /// Opens PREFIX.ENDING. @param bytes  to reserve; 0 where they are not known yet.
  /// @throws error(bad_argument) for an input, or a file that is in the set
  void open(std::string_view ending, std::uint64_t bytes);
  const std::string& path(std::size_t number) const { return outputs_[number].path; }
  void write(std::size_t number, const std::string& header, const void* data, std::uint64_t bytes);
  /// Reserves space for an output whose bytes were not known when it was opened.
  void reserve(std::size_t number, std::uint64_t bytes) { outputs_[number].file->reserve(bytes); }
  /// @param beside  another output of the call, which appears together with these, or null
  void commit(io::output_file* beside = nullptr);
  std::vector<std::string> paths() const;

 private:
  struct output {
    std::string path;
    std::unique_ptr<io::output_file> file;
  };
  std::string prefix_;
  std::string option_;
  std::vector<std::string> inputs_;
  std::vector<output> outputs_;
};

}  // namespace sheaf::cli
