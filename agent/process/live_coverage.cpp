#include "agent/process/live_coverage.hpp"

#include "agent/door/dlsym.hpp"
#include "agent/door/driver.hpp"
#include "agent/door/nccl_plugin.hpp"
#include "agent/door/nvtx.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/loaded_libraries.hpp"

namespace traceagent::process {

trace::JsonObject live_coverage(const Agent& agent) {
  trace::JsonObject coverage;
  const door::NcclPluginState nccl = door::nccl_plugin_state();
  trace::JsonObject nccl_plugin;
  nccl_plugin.add("version", nccl.version)
      .add("communicators", nccl.communicators)
      .add("chained_to_users_own", nccl.chained);
  coverage.add("nccl_plugin", nccl_plugin)
      .add("dlsym_replaced", door::dlsym_replaced())
      .add("dlsym_went_round", door::dlsym_went_round())
      .add("driver_replaced", door::driver_replaced())
      .add("driver_went_round", door::driver_went_round())
      .add("nvtx_clients", door::nvtx_clients())
      .add("schedule_shift_steps", agent.windows->schedule_shift())
      .add("step_tokens_lost", agent.tracker->dropped())
      .add("cycles_lost", agent.windows->cycles_lost())
      .add("cycles_begun_late", agent.windows->cycles_begun_late());
  if (const std::string names = door::first_that_went_round(); !names.empty()) {
    coverage.add("driver_went_round_first", names);
  }
  if (agent.options.output_keep >= 0) coverage.add("cycles_removed", agent.files_removed);
  if (const auto files = agent.full_queue.left_out(); files != 0) {
    coverage.add("cycles_left_out", files);
  }
  add_loaded_libraries(coverage);
  agent.event_times.describe(coverage);
  agent.counters.describe(coverage);
  return coverage;
}

}  // namespace traceagent::process
