// The wrappers of CUPTI, once for each of its libraries. Each is tied to its library's version node
// (see cudart.inc). Our own calls never come here: agent/device binds the real functions.

#include "agent/door/cupti_calls.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "agent/device/cupti_yield.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {
namespace {

constexpr int cupti_success = 0;
constexpr int cupti_not_initialized = 15;

// What the job holds of CUPTI. While it holds any of it, ours stays away.
constinit std::atomic<int> subscribers{0};
constinit std::atomic<std::uint64_t> kinds{0};

void leave_if_unused() noexcept {
  if (subscribers.load() == 0 && kinds.load() == 0) device::job_is_done();
}

struct SubscribeCall {
  static constexpr bool takes_cupti = true;
  void after(int result) const noexcept {
    if (result == cupti_success) subscribers.fetch_add(1);
    leave_if_unused();
  }
};

struct UnsubscribeCall {
  static constexpr bool takes_cupti = false;
  void after(int result) const noexcept {
    if (result != cupti_success) return;
    int held = subscribers.load();
    while (held > 0 && !subscribers.compare_exchange_weak(held, held - 1)) {
    }
    leave_if_unused();
  }
};

struct RegisterCall {
  static constexpr bool takes_cupti = true;
  void* request;
  void* complete;
  void after(int result) const noexcept {
    if (result == cupti_success) device::remember_job_callbacks(request, complete);
    leave_if_unused();
  }
};

// Work that CUPTI has yet to tell of may get its times by the new clock: not ours.
struct TimestampCall {
  static constexpr bool takes_cupti = true;
  void after(int) const noexcept { leave_if_unused(); }
};

std::uint64_t bit_of(unsigned kind) noexcept { return std::uint64_t{1} << (kind % 64); }

struct EnableCall {
  static constexpr bool takes_cupti = true;
  unsigned kind;
  void after(int result) const noexcept {
    if (result == cupti_success) kinds.fetch_or(bit_of(kind));
    leave_if_unused();
  }
};

struct DisableCall {
  static constexpr bool takes_cupti = false;
  unsigned kind;
  void after(int result) const noexcept {
    const std::uint64_t bit = bit_of(kind);
    if (result == cupti_success && (kinds.fetch_and(~bit) & bit) != 0) leave_if_unused();
  }
};

// All of CUPTI's state goes, ours too: not under our hands.
struct FinalizeCall {
  static constexpr bool takes_cupti = true;
  void after(int) const noexcept {
    subscribers.store(0);
    kinds.store(0);
    leave_if_unused();
  }
};

enum class CuptiLibrary : std::uint8_t {
#define LIBRARY(tag, soname, mark, ...) of_##tag,
#define CUPTI(...)
#include "agent/api/cupti.def"
  EACH_CUPTI_LIBRARY(LIBRARY, ) count
#undef LIBRARY
#undef CUPTI
};
constexpr std::size_t cupti_library_count = static_cast<std::size_t>(CuptiLibrary::count);

constexpr const char* cupti_sonames[cupti_library_count] = {
#define LIBRARY(tag, soname, mark, ...) soname,
    EACH_CUPTI_LIBRARY(LIBRARY, )
#undef LIBRARY
};

enum class CuptiFunction : std::uint8_t {
#define CUPTI(name, ...) name,
#include "agent/api/cupti.def"
#undef CUPTI
  count
};
constexpr std::size_t cupti_function_count = static_cast<std::size_t>(CuptiFunction::count);

constexpr const char* cupti_names[cupti_function_count] = {
#define CUPTI(name, ...) #name,
#include "agent/api/cupti.def"
#undef CUPTI
};

using Targets =
    std::array<std::array<std::atomic<void*>, cupti_function_count>, cupti_library_count>;
constinit Targets cupti_targets{};

void* cupti_target(CuptiLibrary library, CuptiFunction function) noexcept {
  const auto row = static_cast<std::size_t>(library), column = static_cast<std::size_t>(function);
  void* found = cupti_targets[row][column].load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  const int saved_errno = errno;
  found = symbol_in_object(cupti_sonames[row], cupti_names[column]);
  if (found != nullptr) {
    keep_loaded(found);
    cupti_targets[row][column].store(found, std::memory_order_relaxed);
  }
  errno = saved_errno;
  return found;
}

template <class Call, class Real>
int pass_on(CuptiLibrary library, CuptiFunction function, const Call& call,
            const Real& real) noexcept {
  void* target = cupti_target(library, function);
  if (target == nullptr) return cupti_not_initialized;
  if (ring::writer.nested_in_start != 0) return real(target);
  if constexpr (Call::takes_cupti) device::yield_to_job();
  const int result = real(target);
  call.after(result);
  return result;
}

}  // namespace
}  // namespace traceagent::door

#define WRAPPER(tag, soname, mark, name, parameters, arguments, ...)                        \
  __asm__(".symver traceagent_cupti_" #tag "_" #name "," #name mark soname ",remove");      \
  extern "C" [[gnu::visibility("default")]] int traceagent_cupti_##tag##_##name parameters; \
  int traceagent_cupti_##tag##_##name parameters {                                          \
    using namespace traceagent::door;                                                       \
    using Real = int(*) parameters;                                                         \
    return pass_on(CuptiLibrary::of_##tag, CuptiFunction::name, __VA_ARGS__,                \
                   [&](void* real) { return reinterpret_cast<Real>(real) arguments; });     \
  }
#define CUPTI(name, parameters, arguments, ...) \
  EACH_CUPTI_LIBRARY(WRAPPER, name, parameters, arguments, __VA_ARGS__)
#include "agent/api/cupti.def"
#undef CUPTI

namespace traceagent::door {
namespace {

void* cupti_wrapper(CuptiLibrary library, CuptiFunction function) noexcept {
#define ROW(tag, soname, mark, name) reinterpret_cast<void*>(&traceagent_cupti_##tag##_##name),
#define CUPTI(name, ...) {EACH_CUPTI_LIBRARY(ROW, name)},
  static void* const wrappers[cupti_function_count][cupti_library_count] = {
#include "agent/api/cupti.def"
  };
#undef CUPTI
  return wrappers[static_cast<std::size_t>(function)][static_cast<std::size_t>(library)];
}

CuptiFunction find_cupti(const char* symbol) noexcept {
  std::size_t i = 0;
  while (i < cupti_function_count && std::strcmp(cupti_names[i], symbol) != 0) ++i;
  return static_cast<CuptiFunction>(i);
}

}  // namespace

bool is_cupti_name(const char* symbol) noexcept {
  return std::strncmp(symbol, "cupti", 5) == 0 && find_cupti(symbol) != CuptiFunction::count;
}

void* cupti_wrapper_for(const char* symbol, void* real) noexcept {
  const CuptiFunction function = find_cupti(symbol);
  if (real == nullptr || function == CuptiFunction::count) return nullptr;
  for (std::size_t i = 0; i < cupti_library_count; ++i) {
    const auto library = static_cast<CuptiLibrary>(i);
    if (cupti_target(library, function) == real) return cupti_wrapper(library, function);
  }
  return nullptr;
}

}  // namespace traceagent::door
