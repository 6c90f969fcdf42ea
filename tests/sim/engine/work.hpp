#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tests/sim/engine/activity.hpp"
#include "tests/sim/engine/record.hpp"
#include "tests/sim/engine/work_facts.hpp"

namespace simgpu {

/// What ends together on several ranks: a collective or a send with its receive.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// This rank's stream has reached the work. Called until it returns true.
  virtual bool arrive(std::int64_t start_ns) = 0;
  /// When the work ends here; empty while a peer has not arrived.
  virtual std::optional<std::int64_t> end_ns() = 0;
  /// Fills in what identifies the work in the truth.
  virtual void describe(Record& record) const = 0;
};

using Parts = std::vector<std::unique_ptr<Rendezvous>>;

/// A piece of device work, before it is given to a stream; kept whole in graphs.
struct Work : WorkFacts {
  std::int64_t duration_ns = 0;
  std::function<void()> effect;  // what the work does to memory; run when it is given to a stream
  std::function<void()> host;    // runs on the device thread when the stream reaches it
  std::function<Parts()> meet;   // who must meet; asked anew for every launch of a graph
};

struct Operation;

/// What a piece of work waits for. A kernel may overlap the kernel before it, if the script says
/// so.
struct Predecessor {
  std::shared_ptr<Operation> operation;
  bool overlaps = false;
};

/// Work on a stream. Immutable once resolved.
struct Operation {
  std::int64_t floor_ns = 0;  // not before: enqueued, or a resolved predecessor's end
  std::int64_t duration_ns = 0;
  std::vector<Predecessor> after;  // unresolved
  Parts parts;
  std::vector<Record*> records;
  activity::DeviceWorkPtr activity;
  std::function<void()> host;
  bool arrived = false;
  bool host_started = false;
  bool resolved = false;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t done_ns = 0;     // when this and all that it waited for has ended
  std::int64_t overlap_ns = 0;  // when the next kernel may begin
  bool kernel = false;
};

using OperationPtr = std::shared_ptr<Operation>;

}  // namespace simgpu
