#pragma once

#include <string>
#include <string_view>

namespace sheaf::io {

/// What a file is that is no MatrixMarket file but often given as one, and what to do about it, as words that follow
/// "not a MatrixMarket file, but"; empty where its first bytes tell nothing.
/// @param front  the beginning of the file, inflated if it is gzip: 1024 bytes or more, or all of it
std::string words_of_other_format(std::string_view front);

}  // namespace sheaf::io
