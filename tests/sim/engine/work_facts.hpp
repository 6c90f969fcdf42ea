#pragma once

#include <cstdint>

#include "tests/sim/engine/record.hpp"

namespace simgpu {

/// Which memory one side of a copy is; numbered as CUPTI does.
enum class MemorySide : std::uint8_t { unknown, pageable, pinned, device, array, managed };

/// What a piece of device work is, whoever runs it and whenever.
struct WorkFacts {
  WorkKind kind = WorkKind::marker;
  std::uint32_t name = 0;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;
  int copy_kind = 0;
  std::uint32_t grid[3] = {0, 0, 0};
  std::uint32_t block[3] = {0, 0, 0};
  std::uint32_t cluster[3] = {0, 0, 0};
  std::uint32_t shared_bytes = 0;  // dynamic
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t registers = 0;  // per thread
  std::uint32_t set_value = 0;
  MemorySide from = MemorySide::unknown;  // of a copy; of a set, to alone
  MemorySide to = MemorySide::unknown;
  std::int32_t from_device = -1;  // -1: on the host
  std::int32_t to_device = -1;
  std::uint64_t graph_node = 0;  // 0: not of a graph
};

}  // namespace simgpu
