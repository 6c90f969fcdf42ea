/* Debian's static libstdc++ refers to this variable of libc in a way that does not link into a
   shared object ("recompile with -fPIC"). Zero: always take the thread-safe way. */
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
