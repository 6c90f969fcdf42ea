#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>

#include "tests/sim/engine/activity.hpp"
#include "tests/sim/engine/record.hpp"

namespace simgpu {

/// Which function of which library a call entered.
struct Function {
  Library library;
  std::uint16_t id;
  const char* name;
  Variant variant = Variant::plain;
  std::uint16_t cudart_major = 0;
  bool is_question = false;  // leaves no record
};

/// One call into the simulation: constructed first thing in the function, finished last thing.
/// Calls that the simulation makes into itself (ncclBcast → ncclBroadcast) leave no record.
class Call {
 public:
  explicit Call(const Function& function) noexcept;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  /// The arguments to keep; a scratch record where no truth is wanted.
  Record& args() noexcept { return *record_; }
  bool per_thread() const noexcept { return function_.variant != Variant::plain; }
  std::uint64_t number() const noexcept { return number_; }
  std::int64_t begin_ns() const noexcept { return begin_ns_; }

  /// The error that the script injects into this very call.
  std::optional<int> injected_error() const noexcept;

  template <class Result>
  Result finish(Result result) noexcept {
    close(static_cast<int>(result));
    return result;
  }

 private:
  void open_api() noexcept;
  void close(int result) noexcept;

  int errno_ = errno;  // a lock that it waits for sets it now and then: tests compare what a call
                       // leaves there
  std::int64_t begin_ns_;
  Function function_;
  std::uint64_t number_ = 0;
  bool nested_;
  Record* record_;
  Record scratch_{};
  std::optional<activity::Scope> api_;
};

/// The number of the call that this thread is in.
std::uint64_t current_call() noexcept;

/// The kernel's number of the calling thread.
std::uint32_t current_thread() noexcept;

/// True in the child of a process that had used the simulated GPU before it forked: there, as on
/// the real one, every call fails.
bool forked_after_use() noexcept;

}  // namespace simgpu
