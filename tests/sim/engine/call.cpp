#include "tests/sim/engine/call.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/script.hpp"
#include "tests/sim/engine/truth_file.hpp"

namespace simgpu {
namespace {

thread_local constinit int depth = 0;
thread_local constinit std::uint32_t thread_id = 0;
thread_local constinit std::uint64_t outer_number = 0;
std::atomic<std::uint64_t> calls{0};
std::atomic<bool> forked{false};

void on_child() {
  thread_id = 0;
  forked.store(calls.load() != 0);
}

std::uint64_t next_number() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, on_child); });
  return calls.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t count_call(const std::string& function) {
  static std::mutex mutex;
  static auto& counts = *new std::map<std::string, std::uint64_t>;
  std::lock_guard lock(mutex);
  return ++counts[function];
}

// What nvcc's code calls around a launch is no API call to CUPTI; the launch is.
bool is_api(const Function& function) {
  const std::string_view name = function.name;
  return function.library == Library::cuda ||
         (function.library == Library::cudart &&
          (!name.starts_with("__") || name == "__cudaLaunchKernel"));
}

}  // namespace

std::uint32_t current_thread() noexcept {
  if (thread_id == 0) {
    thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  }
  return thread_id;
}

std::uint64_t current_call() noexcept { return outer_number; }

Call::Call(const Function& function) noexcept
    : begin_ns_(now_ns()), function_(function), nested_(depth++ != 0), record_(&scratch_) {
  // What a library calls of itself says nothing more; what it asks of the driver does.
  const bool is_inner = nested_ && function.library == Library::cuda;
  if (function.is_question || (nested_ && !is_inner)) {
    number_ = outer_number;
    open_api();
    return;
  }
  const std::uint64_t number = next_number();
  number_ = outer_number = is_inner ? outer_number : number;
  if (Record* claimed = truth::claim()) {
    record_ = claimed;
    claimed->kind = RecordKind::call;
    claimed->library = function.library;
    claimed->variant = function.variant;
    claimed->function = function.id;
    claimed->cudart_major = function.cudart_major;
    claimed->tid = current_thread();
    claimed->number = number;
    claimed->inside = is_inner ? outer_number : 0;
    claimed->begin_ns = begin_ns_;
    claimed->state.store(RecordState::open, std::memory_order_release);
  }
  open_api();
}

void Call::open_api() noexcept {
  // libcudart's calls of the driver are part of its own.
  const bool is_part = function_.library == Library::cuda && activity::current_correlation() != 0;
  if (is_api(function_) && !is_part) {
    const auto domain =
        function_.library == Library::cuda ? activity::Domain::driver : activity::Domain::runtime;
    api_.emplace(domain, function_.name, function_.variant, function_.cudart_major, begin_ns_,
                 record_);
  }
}

std::optional<int> Call::injected_error() const noexcept {
  if (nested_ || script().errors.empty()) {
    return std::nullopt;
  }
  const std::uint64_t call = count_call(function_.name);
  for (const CallError& error : script().errors) {
    if (error.function == function_.name && error.call == call) {
      return error.code;
    }
  }
  return std::nullopt;
}

void Call::close(int result) noexcept {
  record_->result = result;
  std::int64_t end_ns = 0;
  if (record_ != &scratch_) {
    end_ns = record_->end_ns = now_ns();
    record_->state.store(RecordState::closed, std::memory_order_release);
  }
  if (api_) {
    api_->leave(result, end_ns);
  }
}

Call::~Call() {
  --depth;
  errno = errno_;
}

bool forked_after_use() noexcept { return forked.load(std::memory_order_relaxed); }

}  // namespace simgpu
