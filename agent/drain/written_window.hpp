#pragma once
// Whether a file that is there already is a window's own: who was killed between a file's last byte
// and its note in the ring left both.

#include <string>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

// True if the file, whole, was written from this ring's window: by its process, or by who recovered
// it. Reads the file.
bool holds_window(const std::string& file, const ring::Ring& ring, const ring::Window& window);
// Of a file with a window's name: true if the ring's process wrote it, and nobody who recovered it,
// or another run that took its place. Reads the file.
bool is_of_owner(const std::string& file, const ring::Ring& ring);
// True if the file is of the ring's rank and run. Reads its head.
bool is_of_run(const std::string& file, const ring::Ring& ring);

}  // namespace traceagent::drain
