#pragma once
// What the folder of a run's rings is called: <run key>, or <run key>@node<N> on node N from 1 on.
// Nodes of one run may share a machine (torchrun --nnodes=2 on one host, containers that share
// /dev/shm). The first has no such ending: where only some ranks of a node know which it is, as
// where all do not, they meet all the same.

#include <cstdint>
#include <string>
#include <string_view>

namespace traceagent::ring {

// A plain file name, whatever is in the key.
std::string run_folder_name(const std::string& run_key, std::int64_t node_rank);

// Of any node of the run.
bool is_run_folder_name(std::string_view name, const std::string& run_key);

}  // namespace traceagent::ring
