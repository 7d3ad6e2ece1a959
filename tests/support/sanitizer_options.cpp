// Options of the sanitizers, built in so that they hold however the tests are started. A test asks for more memory than
// there is and expects null. The OpenMP runtime is not instrumented; its own tool reports its synchronization to
// ThreadSanitizer. The sanitizers' shared libraries look these functions up, so they are visible.
// NOLINTBEGIN(bugprone-reserved-identifier): their names, not ours
#define SHEAF_SEEN_BY_SANITIZER extern "C" __attribute__((visibility("default"), used)) const char*

SHEAF_SEEN_BY_SANITIZER __asan_default_options();
SHEAF_SEEN_BY_SANITIZER __asan_default_options() {
  return "allocator_may_return_null=1:detect_stack_use_after_return=1";
}
// Where a library with thread-local variables was loaded late, as drivers of OpenGL are, LeakSanitizer takes the bytes
// before its block for a header of glibc 2.19, and crashes on what it finds there. Without that scan it reports the
// loader's own list of thread-local blocks, which the loader alone refers to.
SHEAF_SEEN_BY_SANITIZER __lsan_default_options();
SHEAF_SEEN_BY_SANITIZER __lsan_default_options() { return "use_tls=0:print_suppressions=0"; }
SHEAF_SEEN_BY_SANITIZER __lsan_default_suppressions();
SHEAF_SEEN_BY_SANITIZER __lsan_default_suppressions() { return "leak:add_to_global_resize\n"; }
SHEAF_SEEN_BY_SANITIZER __tsan_default_options();
SHEAF_SEEN_BY_SANITIZER __tsan_default_options() {
  return "allocator_may_return_null=1:ignore_noninstrumented_modules=1";
}
SHEAF_SEEN_BY_SANITIZER __ubsan_default_options();
SHEAF_SEEN_BY_SANITIZER __ubsan_default_options() { return "print_stacktrace=1"; }
// NOLINTEND(bugprone-reserved-identifier)
