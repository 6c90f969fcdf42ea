#pragma once
// Windows whose files could not be written: a full disk, a spent quota, an error of the device.
// They stay in the ring, for a second try and for `traceagent recover`, as long as the ring has
// room for what comes. Used by the drain thread alone.

#include <cstdint>

#include "agent/ring/layout.hpp"

namespace traceagent::process {

struct Agent;

class UnwrittenWindows {
 public:
  explicit UnwrittenWindows(Agent& agent) noexcept : agent_(agent) {}

  // The oldest one, where the ring must have its room back; else null. They may lie in the half of
  // the ring that nothing else needs, as the startup window does, and in a quarter of the slots,
  // none of which is soon to be used again. No room comes of it where an older window, which is yet
  // to be written, holds the chunks.
  ring::Window* beyond_room() const noexcept;

  // What could not be written in a second try either is lost, and counted in the ring, with what
  // the window had lost itself: the next file tells of it, or who recovers the ring.
  void give_up(ring::Window& window) noexcept;

  // The end: all of them are written once more. The disk may have been full for a while.
  void try_again() noexcept;

  // And those that failed again stay, with the process's ring.
  void keep_ring();

 private:
  void say_lost() const;

  Agent& agent_;
  std::uint64_t windows_lost_ = 0;
  std::uint64_t events_lost_ = 0;
};

}  // namespace traceagent::process
