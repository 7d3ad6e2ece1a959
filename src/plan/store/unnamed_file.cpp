#include "plan/store/unnamed_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "plan/store/temporary_names.hpp"

namespace sheaf::io {

int open_without_name(const std::string& folder) noexcept try {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  std::string name = folder + "/.sheaf-XXXXXX";
  const whole_step made_and_unnamed;
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return -1;
}

}  // namespace sheaf::io
