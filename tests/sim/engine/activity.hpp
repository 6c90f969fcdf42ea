#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/sim/engine/work_facts.hpp"

/// What a profiler may see of the simulation: calls of the CUDA API and device work. The simulated
/// CUPTI listens; who does not listen pays two relaxed loads a call.
namespace simgpu::activity {

enum class Domain : std::uint8_t { runtime, driver };

/// A call of the CUDA API. What libraries call inside it belongs to it and shares its correlation.
struct Api {
  Domain domain = Domain::runtime;
  Variant variant = Variant::plain;
  std::uint16_t major = 0;         // of the run-time library
  const char* function = nullptr;  // without version or variant
  std::uint32_t correlation = 0;
  std::uint32_t tid = 0;
  std::int32_t result = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  // 0 until the call is over
  const Record* arguments = nullptr;
};

/// Device work that was given to a stream. The times come later; resolved says when.
struct DeviceWork {
  WorkFacts facts;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
  std::int64_t launch_begin_ns = 0;
  std::uint32_t graph = 0;    // 0: not launched by a graph
  std::int64_t begin_ns = 0;  // as the device's clock shows them
  std::int64_t end_ns = 0;
  std::int64_t over_ns = 0;  // when it is over by the host's clock
  std::atomic<bool> resolved{false};
  std::vector<Record*> records;  // its lines in the truth
};

using DeviceWorkPtr = std::shared_ptr<DeviceWork>;

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void entered(const Api& api) = 0;
  /// On the thread that made the call, which holds no lock of the engine.
  virtual void left(const Api& api) = 0;
  /// Under the timeline's lock.
  virtual void launched(const DeviceWorkPtr& work) = 0;
  /// The device is idle; all its work is over. announced: whether a client is to be told.
  virtual void context_ending(std::uint32_t context, bool announced) = 0;
  virtual void stream_made(std::uint32_t context, std::uint32_t stream, int priority) = 0;
};

/// For the rest of the process. At most 8.
void add(Listener& listener);

/// Marks a call of the CUDA API on this thread.
class Scope {
 public:
  Scope(Domain domain, const char* function, Variant variant, std::uint16_t major,
        std::int64_t begin_ns, const Record* arguments) noexcept;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { leave(0, 0); }
  /// Once; the time may be 0 for now.
  void leave(int result, std::int64_t end_ns) noexcept;

 private:
  Api api_;
  bool open_ = true;
};

/// Of the API call that this thread is in; 0 in none.
std::uint32_t current_correlation() noexcept;
std::int64_t current_begin_ns() noexcept;

/// The context that a device has now: 1 for device 0 and so on, higher ones after a reset.
std::uint32_t context_of(int device) noexcept;
/// The CUcontext of a context; the same for as long as the process lives.
void* context_handle(std::uint32_t context);
/// 0 for what is no such handle.
std::uint32_t context_of_handle(const void* handle);
/// The device of a context that was ever asked for; -1 for another.
int device_of_context(std::uint32_t context);

/// Whoever holds the one place for a profiler, whichever library it came through.
std::atomic<const void*>& profiler();

/// Whether the API has been called: then there is a context.
bool has_context() noexcept;
/// A profiler began to watch the device in a context that was there before it. From then on a real
/// driver's cuInit may wait for ever.
std::atomic<bool>& watched_late();

/// Ends the device's context: cudaDeviceReset.
void end_context(int device, bool announced = true);
void announce_stream(int device, std::uint32_t stream, int priority);

void launched(const DeviceWorkPtr& work);

}  // namespace simgpu::activity
