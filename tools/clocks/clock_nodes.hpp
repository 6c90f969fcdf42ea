#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/clocks/clock_marks.hpp"
#include "tools/clocks/clock_tree.hpp"
#include "tools/clocks/collective_line.hpp"

namespace traceagent::tools {

// The files whose times come from one clock.
struct ClockNode {
  std::string name;  // "node 1"; where nothing says on which node a rank ran: "rank 3"
  bool is_of_known_node = false;
  bool is_ours = false;             // told by files of ours
  bool is_merged = false;           // of a merge that has told of clocks (merged_clock.hpp)
  bool has_several_clocks = false;  // which it left as far apart as they are
  bool is_unsure = false;           // it was not sure of all times
  bool has_collectives = false;     // that can be compared, as far as read_events() has seen
  std::string corrections;          // JSON: what earlier merges did to its times; or empty
  std::set<std::int64_t> ranks;
  std::vector<std::string> paths;
  std::set<std::string> sources;  // trace::identities_of() its files
  // Which clock its times are on: of files that a merge has corrected the one that it has taken all
  // to. Or empty: nobody knows.
  std::string clock;
  std::vector<BarrierMark> barriers;  // of all files
  // How far off a merge may have left times on that clock. Nothing: not known.
  std::optional<std::int64_t> earlier_bound_ns = 0;
  // Of what read_events() has read: without the pauses of a second and more.
  ClockSpans spans;
  // Where long slices end that began before such a pause, or before all ended.
  ClockSpans late_ends;
  // How far off the host's times may be on that clock, by what files of ours say of their ticks.
  std::int64_t host_error_ns = 0;
};

// Our own files say their node, and perhaps its host: without a word of the launcher's two nodes
// may have guessed one number. Others' are of the node of our files of the same rank; without such,
// of their host where its name is known (SageMakerName, PyTorchName), and else each rank has a
// clock of its own. Files whose times a merge has corrected are of a node of their own, on the
// clock that it tells: a rank's, which may be that of a node here. Files that a merge would leave
// out are left out. In the order of the lowest ranks.
std::vector<ClockNode> clock_nodes(const std::vector<std::string>& paths);

// All that its files hold. What cannot be read is passed over: the merge will name it. `on_read`:
// told the bytes as they come.
void read_events(ClockNode& node,
                 const std::function<void(const CollectiveKey&, const CollectiveTimes&)>& visit,
                 const std::function<void(std::uint64_t bytes)>& on_read);

// How often the job has begun, as far as ranks and batches of Composer's marks show: a rank has one
// clock, and passes a barrier once a run, so files on two clocks that hold the same rank and the
// same batch are merges of two runs. 1 or 2.
std::size_t runs_of(const std::vector<ClockNode>& nodes);

}  // namespace traceagent::tools
