#include "agent/drain/simulated_calls.hpp"

#include "agent/api/function.hpp"

namespace traceagent::drain {

using api::Function;
using event::Record;

namespace {

bool is(const Record& record, Function function) noexcept {
  return record.function == static_cast<std::uint16_t>(function);
}

// Those of the outermost group that is open: an inner one's end does nothing.
class OpenGroup {
 public:
  explicit OpenGroup(std::unordered_set<const Record*>& simulated) : simulated_(simulated) {}

  void read(const Record& record) {
    if (is(record, Function::ncclGroupStart)) ++depth_;
    if (depth_ == 0) return;
    if (record.layout == event::Layout::collective) calls_.push_back(&record);
    const bool is_simulated = is(record, Function::ncclGroupSimulateEnd);
    if (!is_simulated && !is(record, Function::ncclGroupEnd)) return;
    if (--depth_ > 0) return;
    if (is_simulated) simulated_.insert(calls_.begin(), calls_.end());
    calls_.clear();
  }

 private:
  std::unordered_set<const Record*>& simulated_;
  std::vector<const Record*> calls_;
  unsigned depth_ = 0;
};

}  // namespace

SimulatedCalls::SimulatedCalls(const std::vector<ThreadEvents>& threads) {
  for (const ThreadEvents& thread : threads) {
    OpenGroup group(calls_);
    for (const Record* record : thread.records) group.read(*record);
  }
}

}  // namespace traceagent::drain
