// A version script hides the sanitizer's operator delete from libstdc++, and not its free(): what
// one allocates, the other lets go.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "alloc_dealloc_mismatch=0"; }
