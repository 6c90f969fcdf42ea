#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstring>

#include "tests/sim/cupti/format.hpp"
#include "tests/sim/engine/activity.hpp"

namespace simgpu::cupti {

/// A record on its way into a buffer, in the newest format; as much of it is written as the major
/// has.
struct Entry {
  alignas(8) unsigned char bytes[512];
  std::size_t size = 0;
  std::vector<activity::DeviceWorkPtr> works;  // what the record is of; empty for host records
  CuptiState fate = CuptiState::delivered;     // of the works, once it is handed over
};

template <class Newest>
Entry entry_of(const Newest& record, CUpti_ActivityKind kind) {
  static_assert(sizeof(Newest) <= sizeof(Entry::bytes));
  Entry entry;
  std::memcpy(entry.bytes, &record, sizeof(Newest));
  entry.size = record_bytes(kind);
  return entry;
}

}  // namespace simgpu::cupti
