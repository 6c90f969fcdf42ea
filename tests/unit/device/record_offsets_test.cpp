// The offsets that the agent reads by, held against every struct of the installed CUPTI header.

#include <cuda.h>
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "agent/device/cupti_functions.hpp"
#include "agent/device/cupti_records.hpp"

namespace traceagent::device {
namespace {

#define SAME_PLACE(Struct, field, expected) \
  EXPECT_EQ(offsetof(Struct, field), static_cast<std::size_t>(expected)) << #Struct "::" #field

template <class Kernel>
void check_kernel() {
  using namespace kernel_record;
  SAME_PLACE(Kernel, kind, 0);
  SAME_PLACE(Kernel, registersPerThread, registers);
  SAME_PLACE(Kernel, start, start);
  SAME_PLACE(Kernel, end, end);
  SAME_PLACE(Kernel, deviceId, device);
  SAME_PLACE(Kernel, contextId, context);
  SAME_PLACE(Kernel, streamId, stream);
  SAME_PLACE(Kernel, gridX, grid);
  SAME_PLACE(Kernel, gridZ, grid + 8);
  SAME_PLACE(Kernel, blockX, block);
  SAME_PLACE(Kernel, blockZ, block + 8);
  SAME_PLACE(Kernel, staticSharedMemory, static_shared);
  SAME_PLACE(Kernel, dynamicSharedMemory, dynamic_shared);
  SAME_PLACE(Kernel, correlationId, correlation);
  SAME_PLACE(Kernel, name, name);
  EXPECT_GE(sizeof(Kernel), smallest_bytes);
}

template <class Kernel>
void check_graph_kernel() {
  check_kernel<Kernel>();
  SAME_PLACE(Kernel, graphNodeId, kernel_record::graph_node);
  SAME_PLACE(Kernel, graphId, kernel_record::graph);
}

template <class Kernel>
void check_cluster_kernel() {
  check_graph_kernel<Kernel>();
  SAME_PLACE(Kernel, clusterX, kernel_record::cluster);
  SAME_PLACE(Kernel, clusterZ, kernel_record::cluster + 8);
}

TEST(RecordOffsets, of_kernels) {
  check_kernel<CUpti_ActivityKernel4>();
  check_graph_kernel<CUpti_ActivityKernel5>();
  check_graph_kernel<CUpti_ActivityKernel6>();
  check_graph_kernel<CUpti_ActivityKernel7>();
  check_cluster_kernel<CUpti_ActivityKernel8>();
  check_cluster_kernel<CUpti_ActivityKernel9>();
#if CUPTI_API_VERSION >= 130000
  check_cluster_kernel<CUpti_ActivityKernel10>();
#endif
}

template <class Copy>
void check_copy() {
  using namespace copy_record;
  SAME_PLACE(Copy, kind, 0);
  SAME_PLACE(Copy, copyKind, copy_kind);
  SAME_PLACE(Copy, srcKind, from_kind);
  SAME_PLACE(Copy, dstKind, to_kind);
  SAME_PLACE(Copy, bytes, bytes);
  SAME_PLACE(Copy, start, start);
  SAME_PLACE(Copy, end, end);
  SAME_PLACE(Copy, deviceId, device);
  SAME_PLACE(Copy, contextId, context);
  SAME_PLACE(Copy, streamId, stream);
}

template <class Copy>
void check_plain_copy() {
  check_copy<Copy>();
  SAME_PLACE(Copy, correlationId, copy_record::correlation);
}

template <class Copy>
void check_graph_copy() {
  check_plain_copy<Copy>();
  SAME_PLACE(Copy, graphNodeId, copy_record::graph_node);
  SAME_PLACE(Copy, graphId, copy_record::graph);
}

TEST(RecordOffsets, of_copies) {
  check_plain_copy<CUpti_ActivityMemcpy>();
  check_plain_copy<CUpti_ActivityMemcpy3>();
  SAME_PLACE(CUpti_ActivityMemcpy3, graphNodeId, copy_record::graph_node);
  check_graph_copy<CUpti_ActivityMemcpy4>();
  check_graph_copy<CUpti_ActivityMemcpy5>();
#if CUPTI_API_VERSION >= 26
  check_graph_copy<CUpti_ActivityMemcpy6>();
#endif
}

template <class Copy>
void check_peer_copy() {
  using namespace peer_copy_record;
  check_copy<Copy>();
  SAME_PLACE(Copy, srcDeviceId, from_device);
  SAME_PLACE(Copy, srcContextId, from_context);
  SAME_PLACE(Copy, dstDeviceId, to_device);
  SAME_PLACE(Copy, dstContextId, to_context);
  SAME_PLACE(Copy, correlationId, correlation);
}

TEST(RecordOffsets, of_peer_copies) {
  check_peer_copy<CUpti_ActivityMemcpyPtoP>();
  check_peer_copy<CUpti_ActivityMemcpyPtoP2>();
  check_peer_copy<CUpti_ActivityMemcpyPtoP3>();
  check_peer_copy<CUpti_ActivityMemcpyPtoP4>();
  SAME_PLACE(CUpti_ActivityMemcpyPtoP2, graphNodeId, peer_copy_record::graph_node);
  SAME_PLACE(CUpti_ActivityMemcpyPtoP4, graphNodeId, peer_copy_record::graph_node);
  SAME_PLACE(CUpti_ActivityMemcpyPtoP3, graphId, peer_copy_record::graph);
  SAME_PLACE(CUpti_ActivityMemcpyPtoP4, graphId, peer_copy_record::graph);
}

template <class Set>
void check_set() {
  using namespace set_record;
  SAME_PLACE(Set, kind, 0);
  SAME_PLACE(Set, bytes, bytes);
  SAME_PLACE(Set, start, start);
  SAME_PLACE(Set, end, end);
  SAME_PLACE(Set, deviceId, device);
  SAME_PLACE(Set, contextId, context);
  SAME_PLACE(Set, streamId, stream);
  SAME_PLACE(Set, correlationId, correlation);
  SAME_PLACE(Set, memoryKind, memory_kind);
}

TEST(RecordOffsets, of_sets) {
  check_set<CUpti_ActivityMemset>();
  check_set<CUpti_ActivityMemset2>();
  check_set<CUpti_ActivityMemset3>();
  check_set<CUpti_ActivityMemset4>();
  SAME_PLACE(CUpti_ActivityMemset2, graphNodeId, set_record::graph_node);
  SAME_PLACE(CUpti_ActivityMemset4, graphNodeId, set_record::graph_node);
  SAME_PLACE(CUpti_ActivityMemset3, graphId, set_record::graph);
  SAME_PLACE(CUpti_ActivityMemset4, graphId, set_record::graph);
}

TEST(RecordOffsets, of_calls) {
  using namespace api_record;
  SAME_PLACE(CUpti_ActivityAPI, cbid, function);
  SAME_PLACE(CUpti_ActivityAPI, start, start);
  SAME_PLACE(CUpti_ActivityAPI, end, end);
  SAME_PLACE(CUpti_ActivityAPI, threadId, thread);
  SAME_PLACE(CUpti_ActivityAPI, correlationId, correlation);
  SAME_PLACE(CUpti_ActivityAPI, returnValue, result);
}

template <class Wait>
void check_synchronisation() {
  using namespace synchronisation_record;
  SAME_PLACE(Wait, type, type);
  SAME_PLACE(Wait, start, start);
  SAME_PLACE(Wait, end, end);
  SAME_PLACE(Wait, correlationId, correlation);
  SAME_PLACE(Wait, contextId, context);
  SAME_PLACE(Wait, streamId, stream);
}

template <class Memory>
void check_memory() {
  using namespace memory_record;
  SAME_PLACE(Memory, memoryOperationType, operation);
  SAME_PLACE(Memory, memoryKind, memory_kind);
  SAME_PLACE(Memory, correlationId, correlation);
  SAME_PLACE(Memory, bytes, bytes);
  SAME_PLACE(Memory, timestamp, timestamp);
  SAME_PLACE(Memory, deviceId, device);
  SAME_PLACE(Memory, contextId, context);
  SAME_PLACE(Memory, streamId, stream);
}

template <class Overhead>
void check_overhead() {
  using namespace overhead_record;
  SAME_PLACE(Overhead, overheadKind, overhead_kind);
  SAME_PLACE(Overhead, objectKind, object_kind);
  SAME_PLACE(Overhead, objectId.pt.threadId, thread);
  SAME_PLACE(Overhead, start, start);
  SAME_PLACE(Overhead, end, end);
}

template <class Graph>
void check_graph() {
  using namespace graph_record;
  SAME_PLACE(Graph, correlationId, correlation);
  SAME_PLACE(Graph, start, start);
  SAME_PLACE(Graph, end, end);
  SAME_PLACE(Graph, deviceId, device);
  SAME_PLACE(Graph, graphId, graph);
  SAME_PLACE(Graph, contextId, context);
  SAME_PLACE(Graph, streamId, stream);
}

template <class Context>
void check_context() {
  SAME_PLACE(Context, contextId, context_record::context);
  SAME_PLACE(Context, deviceId, context_record::device);
}

TEST(RecordOffsets, of_the_other_kinds) {
  check_synchronisation<CUpti_ActivitySynchronization>();
  check_memory<CUpti_ActivityMemory2>();
  check_memory<CUpti_ActivityMemory3>();
  check_overhead<CUpti_ActivityOverhead>();
  check_graph<CUpti_ActivityGraphTrace>();
  check_context<CUpti_ActivityContext>();
  SAME_PLACE(CUpti_ActivityStream, contextId, stream_record::context);
  SAME_PLACE(CUpti_ActivityStream, streamId, stream_record::stream);
  SAME_PLACE(CUpti_ActivityStream, priority, stream_record::priority);
#if CUPTI_API_VERSION >= 26
  check_synchronisation<CUpti_ActivitySynchronization2>();
  check_memory<CUpti_ActivityMemory4>();
  check_overhead<CUpti_ActivityOverhead2>();
  check_overhead<CUpti_ActivityOverhead3>();
  SAME_PLACE(CUpti_ActivityOverhead2, correlationId, overhead_record::correlation);
  SAME_PLACE(CUpti_ActivityOverhead3, correlationId, overhead_record::correlation);
  check_graph<CUpti_ActivityGraphTrace2>();
  check_context<CUpti_ActivityContext2>();
  check_context<CUpti_ActivityContext3>();
#endif
}

constexpr auto number(ActivityKind kind) { return static_cast<std::uint32_t>(kind); }

TEST(RecordOffsets, numbers_of_kinds_domains_and_results) {
  EXPECT_EQ(number(ActivityKind::copy), CUPTI_ACTIVITY_KIND_MEMCPY);
  EXPECT_EQ(number(ActivityKind::set), CUPTI_ACTIVITY_KIND_MEMSET);
  EXPECT_EQ(number(ActivityKind::kernel), CUPTI_ACTIVITY_KIND_KERNEL);
  EXPECT_EQ(number(ActivityKind::driver), CUPTI_ACTIVITY_KIND_DRIVER);
  EXPECT_EQ(number(ActivityKind::runtime), CUPTI_ACTIVITY_KIND_RUNTIME);
  EXPECT_EQ(number(ActivityKind::context), CUPTI_ACTIVITY_KIND_CONTEXT);
  EXPECT_EQ(number(ActivityKind::concurrent_kernel), CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(number(ActivityKind::overhead), CUPTI_ACTIVITY_KIND_OVERHEAD);
  EXPECT_EQ(number(ActivityKind::peer_copy), CUPTI_ACTIVITY_KIND_MEMCPY2);
  EXPECT_EQ(number(ActivityKind::stream), CUPTI_ACTIVITY_KIND_STREAM);
  EXPECT_EQ(number(ActivityKind::synchronisation), CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  EXPECT_EQ(number(ActivityKind::memory), CUPTI_ACTIVITY_KIND_MEMORY2);
  EXPECT_EQ(number(ActivityKind::graph), CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  EXPECT_EQ(cupti_domain::driver, CUPTI_CB_DOMAIN_DRIVER_API);
  EXPECT_EQ(cupti_domain::runtime, CUPTI_CB_DOMAIN_RUNTIME_API);
  EXPECT_EQ(cupti_domain::resource, CUPTI_CB_DOMAIN_RESOURCE);
  EXPECT_EQ(context_destroy_starting, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
  EXPECT_EQ(flush_forced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  EXPECT_EQ(system_thread_ids, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  EXPECT_EQ(cupti_result::max_limit_reached, CUPTI_ERROR_MAX_LIMIT_REACHED);
  EXPECT_EQ(cupti_result::not_compatible, CUPTI_ERROR_NOT_COMPATIBLE);
  EXPECT_EQ(cupti_result::insufficient_privileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  EXPECT_EQ(cupti_result::multiple_subscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(cupti_result::virtualised_insufficient_privileges,
            CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
}

}  // namespace
}  // namespace traceagent::device
