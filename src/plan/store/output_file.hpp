#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sheaf::io {

/// How the bytes are kept until commit(): in a file without a name, so that even a killed process leaves nothing
/// behind, or, on file systems without such files, under a hidden name beside the output (io/temporary_names.hpp).
enum class temporary_kind : std::uint8_t { unnamed_where_possible, named };

/// The path that an output of this name is written to: behind all symbolic links, whether there is a file or not.
/// @throws error(io_failure) where links lead in a circle.
std::string behind_links(const std::string& path);

/// Where an output goes: to the file of a path, or to a stream that is open already.
struct output_place {
  output_place(std::string of_file) : path(std::move(of_file)) {}
  output_place(const char* of_file) : path(of_file) {}
  /// @param stream  a descriptor, which the output_file closes. @param name  for messages
  output_place(int stream, std::string name) : path(std::move(name)), descriptor(stream) {}

  std::string path;
  int descriptor = -1;
};

/// A file that appears whole or not at all. Bytes go to a temporary file in the same folder, which commit() syncs and
/// renames. Without commit() nothing is left behind and an existing file stays as it was; after it the new file has the
/// permissions of the old one. Symbolic links are followed, also to a file that is not there yet. Several files appear
/// together by commit_all().
///
/// A stream (a pipe, also one with a name, a device such as /dev/null or a terminal, or any descriptor that is open)
/// gets its bytes as they are written, unless hold() was called; it has no file to reserve or to replace. A named pipe
/// is opened by the constructor, which waits for its reader.
/// @throws error(io_failure) with the file and the reason, error(bad_argument) for an empty name or a folder.
class output_file {
 public:
  /// Reserves space for `bytes` at once, so that a full disk is found before any work; 0 reserves none. If less is
  /// free, the message has both figures, and what is free stays free.
  output_file(output_place place, std::uint64_t bytes, temporary_kind kind = temporary_kind::unnamed_where_possible);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  /// Reserves space for `bytes` in all, once they are known.
  void reserve(std::uint64_t bytes);
  void write(const void* from, std::uint64_t bytes);
  /// Lets later writes of aligned bytes (io/direct.hpp) bypass the system's cache, if the file system can.
  void bypass_cache() noexcept;
  bool is_stream() const noexcept { return is_stream_; }
  /// Before the first write(): what a stream is to get is kept in a file without a name in this folder, where read_at()
  /// finds it, until commit(). Others are kept anyway.
  void hold(const std::string& folder);
  /// Reads bytes back that were written. Ends bypass_cache(). Not of a stream without hold().
  void read_at(std::uint64_t offset, void* to, std::uint64_t bytes);
  /// Ends the writing: the bytes are on the disk, and only the file's name is missing.
  void finish();
  /// Gives the file its name; finishes it if that is not done yet.
  void commit();
  /// Gives streams what they are held back, and then all of these files their names, one right behind the other. If one
  /// cannot have its name, none has: files that were there before are back. Where the file system cannot exchange
  /// names, files that were replaced by then stay replaced.
  static void commit_all(std::span<output_file* const> files);
  /// The hidden name under which the bytes are kept until commit(): of a file of temporary_kind::named, to which others
  /// write parts. Without reserved bytes, finish() leaves what they wrote behind the last write() as it is.
  const std::string& temporary() const noexcept { return temporary_; }
  /// The folder of the output, behind symbolic links. Not of a stream.
  std::string folder() const;

 private:
  static void name_all(std::span<output_file* const> files);
  bool open_stream(int given);
  void end_stream();
  void open_temporary(temporary_kind kind);
  void name_temporary();
  void take_name(bool keeps_old);
  void give_name_back() noexcept;
  void close_named() noexcept;
  void sync_folder() const noexcept;
  void use_cache() noexcept;
  void discard() noexcept;
  void remove_named() noexcept;

  std::string path_;       ///< name that the caller gave, for messages
  std::string target_;     ///< path behind symbolic links
  std::string temporary_;  ///< empty while the file has no name
  std::uint64_t reserved_ = 0;
  std::uint64_t written_ = 0;
  int descriptor_ = -1;
  int held_for_ = -1;  ///< the stream, while descriptor_ is the file that keeps its bytes
  bool is_stream_ = false;
  bool bypasses_cache_ = false;
  bool is_finished_ = false;
  bool replaces_ = false;   ///< a file was there when this one took its name
  bool keeps_old_ = false;  ///< temporary_ is now the name of that file
};

/// An output_file of this text.
void write_file(output_place place, std::string_view text);

}  // namespace sheaf::io
