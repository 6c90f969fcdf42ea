#pragma once

namespace traceagent::event {

// Held while this thread goes through the loader's list of objects (dl_iterate_phdr). The loader
// holds a lock meanwhile that no forked child ever gets back: a child forked then hangs in its own
// first walk, dlopen or thrown exception. So a fork waits for our walks, and our walks for a fork.
// Both wait a bounded time: a fork within a signal handler may have interrupted the walk itself.
// Our calls into NVML are such walks too, whose lock is as lost to a child as the loader's.
class LoaderWalk {
 public:
  LoaderWalk() noexcept;
  ~LoaderWalk();
  LoaderWalk(const LoaderWalk&) = delete;
  LoaderWalk& operator=(const LoaderWalk&) = delete;
};

// For pthread_atfork, in this order; they keep errno.
void hold_loader_walks() noexcept;
void release_loader_walks() noexcept;
void forget_loader_walks() noexcept;

}  // namespace traceagent::event
