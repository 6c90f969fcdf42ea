#include <algorithm>
#include <cstring>
#include <iterator>

#include "tests/sim/cuda/bodies.hpp"

/// The exported functions of libcuda, made from cuda.def, and the table that cuGetProcAddress
/// answers from.
namespace cuda = simgpu::cuda;
using simgpu::Call;
using simgpu::Function;
using simgpu::Library;
using simgpu::Variant;

#define SUFFIX_v1
#define SUFFIX_v2 "_v2"
#define SUFFIX_v3 "_v3"

#define EXPORTED(id, body, symbol, label, variant, params, args)                                \
  extern "C" __attribute__((visibility("default"))) CUresult simgpu_##id params __asm__(label); \
  CUresult simgpu_##id params {                                                                 \
    Call call(Function{Library::cuda, cuda::Number::body, symbol, variant, 0,                   \
                       cuda::questions[cuda::Number::body]});                                   \
    return call.finish(cuda::run(call, cuda::Number::body,                                      \
                                 [&] { return cuda::body_##body(call SIMGPU_AFTER args); }));   \
  }
#define EXPORT_plain(id, symbol, params, args) \
  EXPORTED(id, id, symbol, symbol, Variant::plain, params, args)
#define EXPORT_ptsz(id, symbol, params, args) \
  EXPORT_plain(id, symbol, params, args)      \
      EXPORTED(id##_ptsz, id, symbol, symbol "_ptsz", Variant::per_thread_stream, params, args)
#define EXPORT_ptds(id, symbol, params, args) \
  EXPORT_plain(id, symbol, params, args)      \
      EXPORTED(id##_ptds, id, symbol, symbol "_ptds", Variant::per_thread_default, params, args)
#define SIMULATED(name, abi, since, variant, params, args) \
  EXPORT_##variant(name##_##abi, #name SUFFIX_##abi, params, args)
#define QUESTION SIMULATED
#include "tests/sim/cuda/cuda.def"
#undef SIMULATED

namespace simgpu::cuda {
namespace {

constexpr int per_thread_since = 7000;

struct Entry {
  const char* name;
  int since;
  bool per_thread;
  void* address;
};

const Entry entries[] = {
#define LEGACY(name, since, id) {name, since, false, reinterpret_cast<void*>(&simgpu_##id)},
#define PER_THREAD(name, since, id) \
  {name, std::max(since, per_thread_since), true, reinterpret_cast<void*>(&simgpu_##id)},
#define ENTRY_plain(name, since, id) LEGACY(name, since, id)
#define ENTRY_ptsz(name, since, id) LEGACY(name, since, id) PER_THREAD(name, since, id##_ptsz)
#define ENTRY_ptds(name, since, id) LEGACY(name, since, id) PER_THREAD(name, since, id##_ptds)
#define SIMULATED(name, abi, since, variant, params, args) \
  ENTRY_##variant(#name, since, name##_##abi)
#include "tests/sim/cuda/cuda.def"
#undef SIMULATED
};

const Entry* newest(const char* name, int version, bool per_thread) {
  const Entry* best = nullptr;
  for (const Entry& entry : entries) {
    if (entry.per_thread == per_thread && entry.since <= version &&
        std::strcmp(entry.name, name) == 0 && (best == nullptr || best->since < entry.since)) {
      best = &entry;
    }
  }
  return best;
}

}  // namespace

void* address_of(const char* name, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult& status) {
  const Entry* found = nullptr;
  if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0) {
    found = newest(name, version, true);
  }
  if (found == nullptr) {
    found = newest(name, version, false);
  }
  if (found != nullptr) {
    status = CU_GET_PROC_ADDRESS_SUCCESS;
    return found->address;
  }
  const bool known = std::any_of(std::begin(entries), std::end(entries), [&](const Entry& entry) {
    return std::strcmp(entry.name, name) == 0;
  });
  status =
      known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return nullptr;
}

}  // namespace simgpu::cuda
