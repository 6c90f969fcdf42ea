#pragma once

namespace traceagent::process {

struct Agent;
struct NodeInputs;
class RankFilesHeld;

// Merges the inputs into the node's file, or adds them to the one that is there, and says what came
// of it. What then follows from output.merged_remote, output.keep and merge.include is done too.
// False, and said: there is none.
bool write_node_file(Agent& agent, NodeInputs& inputs, RankFilesHeld& held);

}  // namespace traceagent::process
