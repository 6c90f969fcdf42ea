// Which wrapper stands for what cuGetProcAddress answers, and the wrappers of cuGetProcAddress.

#include <cuda.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "agent/door/cu_init.hpp"
#include "agent/door/driver.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/start.hpp"
#include "agent/door/targets.hpp"
#include "agent/door/wrappers.hpp"

namespace traceagent::door {
namespace {

using api::Function;

constinit std::atomic<std::uint64_t> replaced{0};
constinit std::atomic<std::uint64_t> went_round{0};

// The first of them, for the report.
struct WentRound {
  std::atomic<const char*> name{nullptr};
  std::atomic<int> version{0};
};
constinit std::array<WentRound, 8> first_round{};

constexpr int per_thread_since = 7000;

struct Row {
  std::string_view name;
  int since;
  bool per_thread;
  Function function;
};

constexpr Row rows[] = {
#define ROW(name, since, function) {name, since, false, Function::function},
#define PER_THREAD_ROW(name, since, function) \
  {name, std::max(since, per_thread_since), true, Function::function},
#define EACH_plain(name, since, id) ROW(name, since, id)
#define EACH_ptsz(name, since, id) ROW(name, since, id) PER_THREAD_ROW(name, since, id##_ptsz)
#define EACH_ptds(name, since, id) ROW(name, since, id) PER_THREAD_ROW(name, since, id##_ptds)
#define DRIVER(name, abi, since, variant, ...) EACH_##variant(#name, since, name##_##abi)
#define DRIVER_ANNOUNCEMENT(name, abi, since) ROW(#name, since, name##_##abi)
#include "agent/api/cuda_driver.def"
#include "agent/api/driver_announcement.def"
#undef DRIVER
#undef DRIVER_ANNOUNCEMENT
};

// As the driver does: where a function has no per-thread form, the one form it has.
bool has_per_thread_form(std::string_view name) noexcept {
  return std::any_of(std::begin(rows), std::end(rows),
                     [&](const Row& row) { return row.per_thread && row.name == name; });
}

bool is_hooked(std::string_view name) noexcept {
  return std::any_of(std::begin(rows), std::end(rows),
                     [&](const Row& row) { return row.name == name; });
}

void count_round(std::string_view name, int version) noexcept {
  went_round.fetch_add(1, std::memory_order_relaxed);
  const auto row = std::find_if(std::begin(rows), std::end(rows),
                                [&](const Row& each) { return each.name == name; });
  if (row == std::end(rows)) return;
  for (WentRound& place : first_round) {
    const char* there = nullptr;
    // A literal's: it ends with a zero.
    if (place.name.compare_exchange_strong(there, row->name.data())) {
      place.version.store(version, std::memory_order_relaxed);
      return;
    }
    if (there == row->name.data()) return;
  }
}

bool is_known(cuuint64_t flags) noexcept {
  return flags == CU_GET_PROC_ADDRESS_DEFAULT || flags == CU_GET_PROC_ADDRESS_LEGACY_STREAM ||
         flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
}

// What was asked of cuGetProcAddress, and what it answered. `ask(version)` asks again.
template <class Ask>
void* instead_of(void* answer, const char* name, int version, cuuint64_t flags, const Ask& ask) {
  const Function function = driver_function(name, version, flags);
  if (is_ours(answer)) return answer;
  if (function == Function::none) {
    if (is_hooked(name)) count_round(name, version);
    return answer;
  }
  // A minor version that we do not know: it may have an ABI of its own. Only what the driver gives
  // to who asks for the ABI that we know is that ABI.
  const bool is_proven = version <= newest_known_version || ask(since_version(function)) == answer;
  void* wrapper = is_proven ? wrapper_for_target(Library::cuda, function, answer) : nullptr;
  if (wrapper != nullptr) replaced.fetch_add(1, std::memory_order_relaxed);
  if (wrapper == nullptr) count_round(name, version);
  return wrapper != nullptr ? wrapper : answer;
}

// The driver has answered, and the answer may be another.
template <class Ask>
void answer_with_wrapper(CUresult result, const char* name, void** pointer, int version,
                         cuuint64_t flags, const Ask& ask) noexcept {
  if (result != CUDA_SUCCESS || name == nullptr || pointer == nullptr || *pointer == nullptr)
    return;
  const bool is_open = driver_is_open.load(std::memory_order_relaxed);
  const int saved_errno = errno;
  if (std::string_view(name) == "cuInit") {
    void* const guard = is_open || must_guard_cu_init() ? guard_of_cu_init(*pointer) : nullptr;
    if (guard != nullptr) *pointer = guard;
    errno = saved_errno;
    return;
  }
  if (!is_open) return;
  *pointer = instead_of(*pointer, name, version, flags, ask);
  errno = saved_errno;
}

}  // namespace

Function driver_function(std::string_view name, int cuda_version, cuuint64_t flags) noexcept {
  if (cuda_version >= first_unknown_major || !is_known(flags)) return Function::none;
  const bool per_thread =
      flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && has_per_thread_form(name);
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.per_thread != per_thread || row.since > cuda_version || row.name != name) continue;
    if (best == nullptr || row.since > best->since) best = &row;
  }
  return best != nullptr ? best->function : Function::none;
}

int since_version(Function function) noexcept {
  const auto* found = std::find_if(std::begin(rows), std::end(rows),
                                   [&](const Row& row) { return row.function == function; });
  return found != std::end(rows) ? found->since : 0;
}

std::uint64_t driver_replaced() noexcept { return replaced.load(std::memory_order_relaxed); }
std::uint64_t driver_went_round() noexcept { return went_round.load(std::memory_order_relaxed); }
std::string first_that_went_round() {
  std::string names;
  for (const WentRound& place : first_round) {
    const char* const name = place.name.load();
    if (name == nullptr) break;
    names += (names.empty() ? "" : ", ") + std::string(name) + " at " +
             std::to_string(place.version.load(std::memory_order_relaxed));
  }
  return names;
}

namespace {

using FirstForm = CUresult(const char*, void**, int, cuuint64_t);
using SecondForm = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

template <class Form>
Form* real_look_up(Function function) noexcept {
  return reinterpret_cast<Form*>(real_function(Library::cuda, function));
}

}  // namespace
}  // namespace traceagent::door

using traceagent::api::Function;
using namespace traceagent::door;

#define EXPORTED(name) extern "C" [[gnu::visibility("default")]] CUresult traceagent_##name

EXPORTED(cuGetProcAddress_v1)
(const char*, void**, int, cuuint64_t) __asm__("cuGetProcAddress");
CUresult traceagent_cuGetProcAddress_v1(const char* name, void** pointer, int version,
                                        cuuint64_t flags) {
  const auto real = real_look_up<FirstForm>(Function::cuGetProcAddress_v1);
  if (real == nullptr) return CUDA_ERROR_NOT_FOUND;
  const CUresult result = real(name, pointer, version, flags);
  answer_with_wrapper(result, name, pointer, version, flags, [&](int other_version) {
    void* answer = nullptr;
    return real(name, &answer, other_version, flags) == CUDA_SUCCESS ? answer : nullptr;
  });
  return result;
}

EXPORTED(cuGetProcAddress_v2)
(const char*, void**, int, cuuint64_t,
 CUdriverProcAddressQueryResult*)__asm__("cuGetProcAddress_v2");
CUresult traceagent_cuGetProcAddress_v2(const char* name, void** pointer, int version,
                                        cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  const auto real = real_look_up<SecondForm>(Function::cuGetProcAddress_v2);
  if (real == nullptr) return CUDA_ERROR_NOT_FOUND;
  const CUresult result = real(name, pointer, version, flags, status);
  answer_with_wrapper(result, name, pointer, version, flags, [&](int other_version) {
    void* answer = nullptr;
    CUdriverProcAddressQueryResult ignored;
    return real(name, &answer, other_version, flags, &ignored) == CUDA_SUCCESS ? answer : nullptr;
  });
  return result;
}
