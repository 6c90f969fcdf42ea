#include <algorithm>

#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/cudart/graph_handles.hpp"
#include "tests/sim/cudart/work.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t handle, Work work) {
  const auto graph = graph_of(handle);
  if (out == nullptr || graph == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = reinterpret_cast<cudaGraphNode_t>(&graph->add(std::move(work)));
  return cudaSuccess;
}

cudaError_t add_copy(cudaGraphNode_t* out, cudaGraph_t graph, const Copy& copy) {
  Work work;
  bool waits = false;
  const cudaError_t problem = copy_work(copy, work, waits);
  return problem != cudaSuccess ? problem : add_node(out, graph, std::move(work));
}

cudaError_t instantiate(cudaGraphExec_t* out, cudaGraph_t handle, unsigned long long flags) {
  const auto graph = graph_of(handle);
  if (out == nullptr || graph == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = add_exec(*graph, flags);
  return cudaSuccess;
}

cudaError_t list_nodes(const Graph& graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (nodes != nullptr) {
    const std::size_t shown = std::min(*count, graph.nodes.size());
    for (std::size_t i = 0; i < shown; ++i) {
      nodes[i] = reinterpret_cast<cudaGraphNode_t>(graph.nodes[i].get());
    }
    *count = shown;
  } else {
    *count = graph.nodes.size();
  }
  return cudaSuccess;
}

cudaGraphNodeType type_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::copy:
      return cudaGraphNodeTypeMemcpy;
    case WorkKind::set:
      return cudaGraphNodeTypeMemset;
    case WorkKind::host:
      return cudaGraphNodeTypeHost;
    case WorkKind::kernel:
    case WorkKind::collective:
      return cudaGraphNodeTypeKernel;
    case WorkKind::marker:
    case WorkKind::none:
      return cudaGraphNodeTypeEmpty;
  }
  return cudaGraphNodeTypeEmpty;
}

}  // namespace

BODY(cudaGraphCreate)(Call&, cudaGraph_t* out, unsigned flags) {
  if (out == nullptr || flags != 0) {
    return cudaErrorInvalidValue;
  }
  *out = add_graph(Timeline::get().new_graph());
  return cudaSuccess;
}

BODY(cudaGraphAddKernelNode)
(Call&, cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t*, std::size_t,
 const cudaKernelNodeParams* p) {
  if (p == nullptr) {
    return cudaErrorInvalidValue;
  }
  Work work;
  const cudaError_t problem =
      kernel_work(p->func, p->gridDim, p->blockDim, p->sharedMemBytes, work);
  return problem != cudaSuccess ? problem : add_node(out, graph, std::move(work));
}

BODY(cudaGraphAddMemcpyNode1D)
(Call&, cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t*, std::size_t, void* to,
 const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return add_copy(out, graph, {to, from, bytes, 1, bytes, bytes, kind});
}

BODY(cudaGraphAddMemcpyNode)
(Call&, cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t*, std::size_t,
 const cudaMemcpy3DParms* p) {
  return p == nullptr ? cudaErrorInvalidValue : add_copy(out, graph, box_of(*p));
}

BODY(cudaGraphAddMemsetNode)
(Call&, cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t*, std::size_t,
 const cudaMemsetParams* p) {
  if (p == nullptr) {
    return cudaErrorInvalidValue;
  }
  Work work;
  const cudaError_t problem = fill_work({p->dst, p->width * p->elementSize, p->height, p->pitch,
                                         static_cast<int>(p->value), p->elementSize},
                                        work);
  return problem != cudaSuccess ? problem : add_node(out, graph, std::move(work));
}

BODY(cudaGraphAddHostNode)
(Call&, cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t*, std::size_t,
 const cudaHostNodeParams* p) {
  if (p == nullptr || p->fn == nullptr) {
    return cudaErrorInvalidValue;
  }
  Work work;
  work.kind = WorkKind::host;
  work.host = [function = p->fn, data = p->userData] { function(data); };
  return add_node(out, graph, std::move(work));
}

BODY(cudaGraphAddEmptyNode)
(Call&, cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t*, std::size_t) {
  return add_node(out, graph, Work{});
}

BODY(cudaGraphAddChildGraphNode)
(Call&, cudaGraphNode_t* out, cudaGraph_t handle, const cudaGraphNode_t*, std::size_t,
 cudaGraph_t child_handle) {
  const auto child = graph_of(child_handle);
  const auto graph = graph_of(handle);
  if (child == nullptr || graph == nullptr) {
    return cudaErrorInvalidValue;
  }
  graph->nodes.insert(graph->nodes.end(), child->nodes.begin(), child->nodes.end());
  return add_node(out, handle, Work{});
}

// Nodes run in the order in which they were added, which every program's edges allow.
BODY(cudaGraphAddDependencies)
(Call&, cudaGraph_t graph, const cudaGraphNode_t*, const cudaGraphNode_t*, const cudaGraphEdgeData*,
 std::size_t) {
  return graph_of(graph) == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}

BODY(cudaGraphClone)(Call&, cudaGraph_t* out, cudaGraph_t original) {
  const auto graph = graph_of(original);
  if (out == nullptr || graph == nullptr) {
    return cudaErrorInvalidValue;
  }
  const auto clone = Timeline::get().new_graph();
  clone->nodes = graph->nodes;
  *out = add_graph(clone);
  return cudaSuccess;
}

BODY(cudaGraphGetNodes)(Call&, cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  const auto graph = graph_of(handle);
  return graph == nullptr || count == nullptr ? cudaErrorInvalidValue
                                              : list_nodes(*graph, nodes, count);
}

BODY(cudaGraphGetRootNodes)(Call&, cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  const auto graph = graph_of(handle);
  if (graph == nullptr || count == nullptr) {
    return cudaErrorInvalidValue;
  }
  Graph first;
  if (!graph->nodes.empty()) {
    first.nodes.push_back(graph->nodes.front());
  }
  return list_nodes(first, nodes, count);
}

BODY(cudaGraphNodeGetType)(Call&, cudaGraphNode_t node, cudaGraphNodeType* type) {
  if (node == nullptr || type == nullptr) {
    return cudaErrorInvalidValue;
  }
  *type = type_of(reinterpret_cast<const Work*>(node)->kind);
  return cudaSuccess;
}

BODY(cudaGraphInstantiate)
(Call&, cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(out, graph, flags);
}

BODY(cudaGraphInstantiateWithFlags)
(Call&, cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(out, graph, flags);
}

BODY(cudaGraphInstantiateWithParams)
(Call&, cudaGraphExec_t* out, cudaGraph_t graph, cudaGraphInstantiateParams* p) {
  if (p == nullptr) {
    return cudaErrorInvalidValue;
  }
  p->result_out = cudaGraphInstantiateSuccess;
  return instantiate(out, graph, p->flags);
}

BODY(cudaGraphExecGetFlags)(Call&, cudaGraphExec_t handle, unsigned long long* flags) {
  const auto exec = exec_of(handle);
  if (exec == nullptr || flags == nullptr) {
    return cudaErrorInvalidValue;
  }
  *flags = exec->flags;
  return cudaSuccess;
}

BODY(cudaGraphUpload)(Call& call, cudaGraphExec_t handle, cudaStream_t stream) {
  if (exec_of(handle) == nullptr) {
    return cudaErrorInvalidValue;
  }
  return stream_of(call, stream) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

BODY(cudaGraphLaunch)(Call& call, cudaGraphExec_t handle, cudaStream_t stream_handle) {
  Stream* stream = stream_of(call, stream_handle);
  const auto exec = exec_of(handle);
  call.args().address = reinterpret_cast<std::uint64_t>(handle);
  if (exec == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  call.args().count = exec->graph.nodes.size();
  Timeline::get().launch_graph(*stream, exec->graph, call.number());
  return cudaSuccess;
}

BODY(cudaGraphExecUpdate)
(Call&, cudaGraphExec_t handle, cudaGraph_t graph_handle, cudaGraphExecUpdateResultInfo* result) {
  const auto exec = exec_of(handle);
  const auto graph = graph_of(graph_handle);
  if (exec == nullptr || graph == nullptr) {
    return cudaErrorInvalidValue;
  }
  exec->graph.nodes = graph->nodes;
  if (result != nullptr) {
    *result = {};
    result->result = cudaGraphExecUpdateSuccess;
  }
  return cudaSuccess;
}

BODY(cudaGraphExecDestroy)(Call&, cudaGraphExec_t handle) {
  return remove_exec(handle) ? cudaSuccess : cudaErrorInvalidValue;
}

BODY(cudaGraphDestroy)(Call&, cudaGraph_t handle) {
  return remove_graph(handle) ? cudaSuccess : cudaErrorInvalidValue;
}

BODY(cudaDeviceGraphMemTrim)(Call&, int device) {
  return valid_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace simgpu::cudart
