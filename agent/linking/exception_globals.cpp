// libstdc++'s per-thread exception state, in initial-exec TLS: the static library's own is in
// global-dynamic TLS, whose first use in a thread may call malloc in the job's process.
//
// Layout: __cxa_eh_globals of the Itanium C++ ABI (caughtExceptions, uncaughtExceptions).

namespace {

struct ExceptionGlobals {
  void* caught;
  unsigned int uncaught;
};

constinit thread_local ExceptionGlobals globals __attribute__((tls_model("initial-exec"))){};

}  // namespace

extern "C" {
[[gnu::visibility("hidden")]] ExceptionGlobals* __cxa_get_globals() noexcept { return &globals; }
[[gnu::visibility("hidden")]] ExceptionGlobals* __cxa_get_globals_fast() noexcept {
  return &globals;
}
}
