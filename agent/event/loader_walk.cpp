#include "agent/event/loader_walk.hpp"

#include <atomic>
#include <cerrno>
#include <ctime>

namespace traceagent::event {
namespace {

// Sequentially consistent both: of a walk that begins and a fork that begins one must see the
// other.
constinit std::atomic<int> walks{0};
constinit std::atomic<int> forks{0};

// A walk takes microseconds, on a busy machine as long as its thread is off the processor.
void wait_until_none(const std::atomic<int>& others) noexcept {
  constexpr int longest_waits = 5000;
  const timespec pause{0, 100'000};
  const int saved_errno = errno;
  for (int i = 0; i < longest_waits && others.load() > 0; ++i) nanosleep(&pause, nullptr);
  errno = saved_errno;
}

}  // namespace

LoaderWalk::LoaderWalk() noexcept {
  constexpr int most_forks = 3;  // one after the other: then this walk goes first
  walks.fetch_add(1);
  for (int i = 0; i < most_forks && forks.load() > 0; ++i) {
    walks.fetch_sub(1);
    wait_until_none(forks);
    walks.fetch_add(1);
  }
}

LoaderWalk::~LoaderWalk() { walks.fetch_sub(1); }

void hold_loader_walks() noexcept {
  forks.fetch_add(1);
  wait_until_none(walks);
}

void release_loader_walks() noexcept { forks.fetch_sub(1); }

void forget_loader_walks() noexcept {
  walks.store(0);
  forks.store(0);
}

}  // namespace traceagent::event
