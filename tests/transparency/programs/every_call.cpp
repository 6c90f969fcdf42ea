// Every hooked function of cudart and NCCL, called with nothing but zeros: result and errno.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>

#include <cerrno>
#include <cstring>

#include "agent/api/nccl_types.hpp"
#include "tests/transparency/work.hpp"

using traceagent::transparency::say;

namespace {

template <class Result, class... Parameters>
void call_with_zeros(const char* name, Result (*function)(Parameters...)) {
  if (function == nullptr) {
    say("   - %s\n", name);
    return;
  }
  errno = 4711;
  const int result = static_cast<int>(function(Parameters{}...));
  say("%4d %s%s\n", result, name, errno == 4711 ? "" : ", errno changed");
}

// Handles that nobody gave out are no error of the API's.
bool is_callable(const char* name) { return std::strncmp(name, "__cudaLaunch", 12) != 0; }

}  // namespace

#define CALL(Result, symbol, parameters)                                                          \
  if (is_callable(symbol)) {                                                                      \
    call_with_zeros(symbol, reinterpret_cast<Result(*) parameters>(dlsym(RTLD_DEFAULT, symbol))); \
  }
#define EACH_plain(name, parameters) CALL(cudaError_t, #name, parameters)
#define EACH_ptsz(name, parameters) \
  EACH_plain(name, parameters) CALL(cudaError_t, #name "_ptsz", parameters)
#define EACH_ptds(name, parameters) \
  EACH_plain(name, parameters) CALL(cudaError_t, #name "_ptds", parameters)
#define IN_since_11(...) __VA_ARGS__
#define IN_since_12(...) __VA_ARGS__
#define IN_since_13(...) __VA_ARGS__
#define IN_until_12(...)
#define IN_before_12(...)
#define IN_before_13(...)
#define CUDART(majors, variant, name, parameters, arguments, ...) \
  IN_##majors(EACH_##variant(name, parameters))
#define NCCL(name, parameters, arguments, ...) CALL(ncclResult_t, #name, parameters)

int main() {
#include "agent/api/cuda_runtime.def"
#include "agent/api/nccl.def"
  // Once more, now that everything is found and recorded.
#include "agent/api/cuda_runtime.def"
#include "agent/api/nccl.def"
  traceagent::transparency::say_state("end");
  return 3;
}
