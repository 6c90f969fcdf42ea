#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "tests/sim/engine/stream.hpp"

namespace simgpu::cudart {

/// A graph made executable: a copy, so that later changes to the graph do not reach it.
struct GraphExec {
  Graph graph;
  unsigned long long flags = 0;
};

cudaGraph_t add_graph(std::shared_ptr<Graph> graph);
/// nullptr for a handle that is no graph.
std::shared_ptr<Graph> graph_of(cudaGraph_t handle);
bool remove_graph(cudaGraph_t handle);

cudaGraphExec_t add_exec(const Graph& graph, unsigned long long flags);
std::shared_ptr<GraphExec> exec_of(cudaGraphExec_t handle);
bool remove_exec(cudaGraphExec_t handle);

}  // namespace simgpu::cudart
