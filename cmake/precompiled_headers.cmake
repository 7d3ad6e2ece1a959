# Parsing the standard library and fmt is a third of what most sources take, so targets with the same flags share one
# precompiled header. The preset ubsan compiles without, and so shows a source that includes less than it uses.

# sheaf_precompile_headers(TARGET): what nearly every source includes.
function(sheaf_precompile_headers target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <bit> <cmath> <cstddef> <cstdint> <cstring>
    <functional> <limits> <memory> <optional> <span> <stdexcept> <string> <string_view> <type_traits> <utility>
    <variant> <vector> <fmt/format.h>)
endfunction()

# sheaf_reuse_precompiled_headers(TARGET OWNER): those of OWNER, whose compiler flags are the same.
function(sheaf_reuse_precompiled_headers target owner)
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
