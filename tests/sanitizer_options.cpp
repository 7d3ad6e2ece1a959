// What the sanitizers take as given, whoever starts the tests: a test asks for more memory than there is and wants null
// for it; the OpenMP runtime is not instrumented, and what it orders is told by its own tool instead.
extern "C" {
const char* __asan_default_options();
const char* __asan_default_options() { return "allocator_may_return_null=1:detect_stack_use_after_return=1"; }
const char* __tsan_default_options();
const char* __tsan_default_options() { return "allocator_may_return_null=1:ignore_noninstrumented_modules=1"; }
const char* __ubsan_default_options();
const char* __ubsan_default_options() { return "print_stacktrace=1"; }
}
