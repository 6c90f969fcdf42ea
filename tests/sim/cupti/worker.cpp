#include "tests/sim/cupti/worker.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/sim/cupti/buffers.hpp"
#include "tests/sim/cupti/collector.hpp"
#include "tests/sim/cupti/kinds.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::cupti::worker {
namespace {

constexpr std::uint32_t default_period_ms = 10;

struct Worker {
  std::mutex mutex;
  std::condition_variable wake;
  bool started = false;
  bool woken = false;
  std::atomic<std::uint32_t> period_ms{default_period_ms};
};

Worker& worker() {
  static auto* instance = new Worker;
  return *instance;
}

bool busy() { return kinds::any() || Collector::get().waiting(); }

void run() {
  Worker& self = worker();
  std::unique_lock lock(self.mutex);
  for (;;) {
    const auto woken = [&self] { return self.woken; };
    if (busy()) {
      self.wake.wait_for(lock, std::chrono::milliseconds(self.period_ms.load()), woken);
    } else {
      self.wake.wait(lock, woken);
    }
    self.woken = false;
    lock.unlock();
    if (!script().cupti.requests_in_launches) {
      Collector::get().collect(false);
    }
    Buffers::get().deliver_full();
    lock.lock();
  }
}

}  // namespace

void start() {
  Worker& self = worker();
  {
    std::lock_guard lock(self.mutex);
    if (!self.started) {
      self.started = true;
      Buffers::get().on_full(wake);
      sigset_t all;
      sigset_t before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      std::thread(run).detach();
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
  }
  wake();
}

void wake() {
  Worker& self = worker();
  {
    std::lock_guard lock(self.mutex);
    self.woken = true;
  }
  self.wake.notify_one();
}

void set_period(std::uint32_t period_ms) {
  worker().period_ms.store(period_ms == 0 ? default_period_ms : period_ms);
  wake();
}

}  // namespace simgpu::cupti::worker
