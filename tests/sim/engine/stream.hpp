#pragma once

#include <cstdint>
#include <memory>
#include <utility>
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

  /// The new node. Its number is unique among all graphs' nodes.
  Work& add(Work work) {
    work.graph_node = id << 32 | (nodes.size() + 1);
    nodes.push_back(std::make_shared<Work>(std::move(work)));
    return *nodes.back();
  }
};

}  // namespace simgpu
