#pragma once

namespace traceagent::process {

struct Agent;

// Option `keeper`: starts `traceagent recover --wait` for this node's run, once per node. It is no
// child that the job could see: no SIGCHLD, nothing for wait(), none of its descriptors. What is
// wrong with it is said in one line. Only where the job is the first process of its container does
// it become a child of it, as all orphans do.
void start_keeper(const Agent& agent);

}  // namespace traceagent::process
