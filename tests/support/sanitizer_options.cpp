// Options of the sanitizers, built in so that they hold however the tests are started. A test asks for more memory than
// there is and expects null. The OpenMP runtime is not instrumented; its own tool reports its synchronization to
// ThreadSanitizer. LeakSanitizer is told not to look for thread-local blocks of libraries that are loaded late, as
// drivers of OpenGL are: it takes the bytes before a block that begins 16 bytes into a page for a header of glibc 2.19,
// and crashes on what it finds there. Where UndefinedBehaviorSanitizer stops a program by an illegal instruction,
// AddressSanitizer says in which line. Of where memory came from it keeps the innermost calls, and it holds back less
// of what is freed than it would: tests allocate so often that both are a sixth of their time. The sanitizers' shared
// libraries look these functions up, so they are visible.
// NOLINTBEGIN(bugprone-reserved-identifier): their names, not ours
#define SHEAF_SEEN_BY_SANITIZER extern "C" __attribute__((visibility("default"), used)) const char*

SHEAF_SEEN_BY_SANITIZER __asan_default_options();
SHEAF_SEEN_BY_SANITIZER __asan_default_options() {
  return "allocator_may_return_null=1:detect_stack_use_after_return=1:intercept_tls_get_addr=0:handle_sigill=1:"
         "malloc_context_size=6:quarantine_size_mb=16";
}
SHEAF_SEEN_BY_SANITIZER __tsan_default_options();
SHEAF_SEEN_BY_SANITIZER __tsan_default_options() {
  return "allocator_may_return_null=1:ignore_noninstrumented_modules=1";
}
SHEAF_SEEN_BY_SANITIZER __ubsan_default_options();
SHEAF_SEEN_BY_SANITIZER __ubsan_default_options() { return "print_stacktrace=1"; }
// NOLINTEND(bugprone-reserved-identifier)
