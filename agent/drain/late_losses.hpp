#pragma once
// Losses that are known only after the windows they are of, or with none: what the device side
// lost, and what was given up. Each is told by one file, the next that is written.

#include <cstdint>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

// How much of the losses so far this window's file has not to tell of: that of files written
// before, and what the device lost before this window and all older ones that still lack a file.
std::uint64_t losses_told(const ring::Ring& ring, const ring::Window& window,
                          ring::DropCause cause) noexcept;
// All that no file tells of is this window's. Call before its file is written, at each try.
void settle_late_losses(const ring::Ring& ring, const ring::Window& window) noexcept;
// Its file is complete, and tells of what was settled.
void note_told(const ring::Ring& ring, const ring::Window& window) noexcept;
// Of a dead process's window, whose file another recovery of this ring has written: it told of all.
void note_all_told(const ring::Ring& ring, const ring::Window& window) noexcept;
// A window that had so many events, in the ring or lost, will have no file. They and what the
// device lost of it are counted, and told by the next one; by its cause no file tells of that any
// more. A kill at any moment leaves it as it was or, after finish_giving_up(), given up. Returns
// all that is lost with it.
std::uint64_t give_up(const ring::Ring& ring, ring::Window& window, std::uint64_t events) noexcept;
// For who recovers.
void finish_giving_up(const ring::Ring& ring) noexcept;
// Events of windows that were given up, of which no file tells.
std::uint64_t untold_events(const ring::Ring& ring) noexcept;

// CUPTI's latest id among the calls that the files of earlier windows hold, written in whatever
// order; 0: none.
std::uint32_t correlation_told(const ring::Ring& ring, const ring::Window& window) noexcept;
// Of a window's own file; 0 where it has none after all.
void note_last_correlation(const ring::Ring& ring, const ring::Window& window,
                           std::uint32_t last) noexcept;
// CUPTI counts its ids up, and after 2^32 from the start.
inline bool is_older(std::uint32_t id, std::uint32_t other) noexcept {
  return static_cast<std::int32_t>(id - other) < 0;
}
// Counts launches whose work had not arrived, in the ring and in the window.
void count_late(const ring::Ring& ring, const ring::Window& window, std::uint64_t late) noexcept;

}  // namespace traceagent::drain
