#include "tests/sim/engine/activity.hpp"

#include <cstdlib>
#include <map>
#include <mutex>

#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::activity {
namespace {

constexpr int most_listeners = 8;
std::atomic<Listener*> listeners[most_listeners];
std::atomic<int> listener_count{0};
std::atomic<std::uint32_t> correlations{0};
thread_local constinit int depth = 0;
thread_local constinit std::uint32_t correlation = 0;
thread_local constinit std::int64_t outermost_begin_ns = 0;

struct Contexts {
  std::mutex mutex;
  std::map<int, std::uint32_t> again;  // devices that were reset
  std::uint32_t next = 0;
  std::map<std::uint32_t, std::unique_ptr<std::uint32_t>> handles;
};

Contexts& contexts() {
  static auto* instance = new Contexts;
  return *instance;
}

template <class Say>
void tell(Say say) {
  const int count = listener_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    say(*listeners[i].load(std::memory_order_relaxed));
  }
}

}  // namespace

void add(Listener& listener) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  const int count = listener_count.load(std::memory_order_relaxed);
  if (count < most_listeners) {
    listeners[count].store(&listener, std::memory_order_relaxed);
    listener_count.store(count + 1, std::memory_order_release);
  }
  // The driver goes down before the destructors of libraries that were loaded first.
  if (count == 0 && script().cupti.context_ends_at_exit) {
    std::atexit([] {
      for (int device = 0; device < script().devices; ++device) {
        end_context(device, false);
      }
    });
  }
}

Scope::Scope(Domain domain, const char* function, Variant variant, std::uint16_t major,
             std::int64_t begin_ns, const Record* arguments) noexcept {
  if (depth++ == 0) {
    correlation = correlations.fetch_add(1, std::memory_order_relaxed) + 1;
    outermost_begin_ns = begin_ns;
  }
  api_.domain = domain;
  api_.variant = variant;
  api_.major = major;
  api_.function = function;
  api_.correlation = correlation;
  api_.begin_ns = begin_ns;
  api_.arguments = arguments;
  tell([this](Listener& listener) {
    api_.tid = current_thread();
    listener.entered(api_);
  });
}

void Scope::leave(int result, std::int64_t end_ns) noexcept {
  if (!open_) {
    return;
  }
  open_ = false;
  api_.result = result;
  tell([&](Listener& listener) {
    api_.tid = current_thread();
    api_.end_ns = end_ns = end_ns != 0 ? end_ns : now_ns();
    listener.left(api_);
  });
  if (--depth == 0) {
    correlation = 0;
  }
}

std::uint32_t current_correlation() noexcept { return correlation; }

bool has_context() noexcept { return correlations.load(std::memory_order_relaxed) != 0; }

std::atomic<bool>& watched_late() {
  static std::atomic<bool> late{false};
  return late;
}

std::int64_t current_begin_ns() noexcept { return outermost_begin_ns; }

std::uint32_t context_of(int device) noexcept {
  Contexts& all = contexts();
  std::lock_guard lock(all.mutex);
  const auto found = all.again.find(device);
  return found != all.again.end() ? found->second : static_cast<std::uint32_t>(device) + 1;
}

void* context_handle(std::uint32_t context) {
  Contexts& all = contexts();
  std::lock_guard lock(all.mutex);
  auto& handle = all.handles[context];
  if (handle == nullptr) {
    handle = std::make_unique<std::uint32_t>(context);
  }
  return handle.get();
}

std::uint32_t context_of_handle(const void* handle) {
  Contexts& all = contexts();
  std::lock_guard lock(all.mutex);
  for (const auto& [context, known] : all.handles) {
    if (known.get() == handle) {
      return context;
    }
  }
  return 0;
}

int device_of_context(std::uint32_t context) {
  const int devices = script().devices;
  for (int device = 0; device < devices; ++device) {
    if (context_of(device) == context) {
      return device;
    }
  }
  return -1;
}

std::atomic<const void*>& profiler() {
  static std::atomic<const void*> holder{nullptr};
  return holder;
}

void end_context(int device, bool announced) {
  const std::uint32_t ending = context_of(device);
  tell([=](Listener& listener) { listener.context_ending(ending, announced); });
  Contexts& all = contexts();
  std::lock_guard lock(all.mutex);
  if (all.next == 0) {
    all.next = static_cast<std::uint32_t>(script().devices);
  }
  all.again[device] = ++all.next;
}

void announce_stream(int device, std::uint32_t stream, int priority) {
  const std::uint32_t context = context_of(device);
  tell([=](Listener& listener) { listener.stream_made(context, stream, priority); });
}

void launched(const DeviceWorkPtr& work) {
  tell([&](Listener& listener) { listener.launched(work); });
}

}  // namespace simgpu::activity
