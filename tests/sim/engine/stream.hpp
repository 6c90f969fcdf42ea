#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/sim/engine/work.hpp"

namespace simgpu {

struct Graph;

/// A queue of device work. Guarded by the timeline's lock.
struct Stream {
  std::uint64_t id = 0;     // as cudaStreamGetId would say
  std::uint64_t queue = 0;  // unlike the id and the address, never used twice
  int device = 0;
  bool blocking = true;  // waits for, and holds up, the legacy default stream
  bool legacy = false;
  unsigned flags = 0;
  int priority = 0;
  OperationPtr last;
  std::shared_ptr<Graph> capture;  // set while a capture is under way
  bool capture_origin = false;
};

struct Event {
  unsigned flags = 0;
  OperationPtr recorded;
  std::shared_ptr<Graph> capture;  // recorded inside this capture
};

/// The captured or hand-made work of a graph, in launch order.
struct Graph {
  std::uint64_t id = 0;
  std::vector<std::shared_ptr<Work>> nodes;
};

}  // namespace simgpu
