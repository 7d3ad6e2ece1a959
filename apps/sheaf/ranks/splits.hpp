#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include <sheaf/split.hpp>

#include "apps/sheaf/ranks/process.hpp"

// Splits on ranks, whose subcommands open the files and say what is wrong with them.
namespace sheaf::cli {

/// What a rank has opened for itself.
struct opened_split {
  std::shared_ptr<const void> owner;  ///< of the files, and of what key() refers to
  const io::record_file& in;
  const io::record_file* keys = nullptr;  ///< null: they lie in the records
  bool has_categories = false;            ///< keys are numbers, and go to calls as numbers of this machine
  /// @param in, keys  rows of this rank; keys are those of in where there is no other file
  std::function<split_key(const_records in, const_records keys)> key;
};

struct split_on_ranks_job {
  const common_options& common;
  std::string keys_path;  ///< of the file that a bad category came from
  std::string output;
  std::string offsets;  ///< may be empty
  /// Opens the files, for one rank, and throws what is wrong with them. Ranks that are threads call it side by side.
  std::function<opened_split()> open;
  std::string in = {};  ///< the file of the records, whose sizes tell how many GPUs are worth it; may be empty
};
/// @param threads  as work_on_ranks() takes them
void split_on_ranks(const split_on_ranks_job& job, const rank_threads& threads = {});

struct opened_multi_split {
  const io::record_file* in = nullptr;  ///< null: records are counted alone
  const io::record_file& categories;    ///< of all records
  /// Where those of each record begin, and where the last one's end.
  std::span<const std::uint64_t> row_offsets;
  std::uint64_t category_count = 0;
  index_type source_type = index_type::u32;
  const io::record_file* sources_like = nullptr;  ///< sources are raw where this file is; null: they are .npy
};

struct multi_split_on_ranks_job {
  const common_options& common;
  const char* subcommand;
  std::string keys_path;
  std::string output;   ///< of records; may be empty
  std::string sources;  ///< may be empty
  std::string offsets;  ///< may be empty
  /// Opens the files, which its caller keeps, and throws what is wrong with them.
  std::function<opened_multi_split()> open;
};
/// On processes of MPI.
void multi_split_on_ranks(const multi_split_on_ranks_job& job);

}  // namespace sheaf::cli
