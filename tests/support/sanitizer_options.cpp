// What the sanitizers take as given, whoever starts the tests: a test asks for more memory than there is and wants null
// for it; the OpenMP runtime is not instrumented, and what it orders is told by its own tool instead. The sanitizers'
// shared libraries look these functions up, so they are visible.
// NOLINTBEGIN(bugprone-reserved-identifier): their names, not ours
#define SHEAF_SEEN_BY_SANITIZER extern "C" __attribute__((visibility("default"), used)) const char*

SHEAF_SEEN_BY_SANITIZER __asan_default_options();
SHEAF_SEEN_BY_SANITIZER __asan_default_options() {
  return "allocator_may_return_null=1:detect_stack_use_after_return=1";
}
SHEAF_SEEN_BY_SANITIZER __tsan_default_options();
SHEAF_SEEN_BY_SANITIZER __tsan_default_options() {
  return "allocator_may_return_null=1:ignore_noninstrumented_modules=1";
}
SHEAF_SEEN_BY_SANITIZER __ubsan_default_options();
SHEAF_SEEN_BY_SANITIZER __ubsan_default_options() { return "print_stacktrace=1"; }
// NOLINTEND(bugprone-reserved-identifier)
