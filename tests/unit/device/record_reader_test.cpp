// CUPTI's records become records of the ring: all kinds and versions, damage, and bounds.

#include "agent/device/record_reader.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>
#include <string>

#include "tests/unit/device/crafted_records.hpp"

namespace traceagent::device {
namespace {

using event::DeviceKind;
using event::DeviceWork;
using event::Layout;

constexpr std::uint32_t newest = 130000;

// Names of calls as a library would tell them.
CuptiResult callback_name(int domain, std::uint32_t id, const char** name) {
  static const std::map<std::pair<int, std::uint32_t>, const char*> names = {
      {{cupti_domain::runtime, 211}, "cudaLaunchKernel_v7000"},
      {{cupti_domain::runtime, 505}, "__cudaLaunchKernel_v13000"},
      {{cupti_domain::runtime, 17}, "cudaGetDevice_v3020"},
      {{cupti_domain::driver, 307}, "cuLaunchKernel_ptsz"},
      {{cupti_domain::driver, 9}, "cuMemcpyHtoDAsync_v2"},
  };
  const auto found = names.find({domain, id});
  if (found == names.end()) return 1;
  *name = found->second;
  return cupti_result::success;
}

class RecordReaderTest : public testing::Test {
 protected:
  explicit RecordReaderTest(std::uint64_t ring_bytes = 1024 * 1024) : ring(ring_bytes) {
    CuptiFunctions functions;
    functions.get_callback_name = callback_name;
    api.learn(functions);
  }
  void read(CraftedBuffer& buffer, std::uint32_t version = newest) {
    reader = std::make_unique<RecordReader>(ring.ring(), version, CraftedBuffer::next, api);
    reader->read(buffer.data(), buffer.size());
  }
  DeviceWork only_work() {
    const auto records = ring.records();
    EXPECT_EQ(records.size(), 1u);
    if (records.empty()) return {};
    EXPECT_EQ(records[0]->layout, Layout::device_work);
    return event::device_work_of(*records[0]);
  }
  std::string name(std::uint32_t offset) const { return std::string(ring.ring().name(offset)); }

  OwnRing ring;
  ApiFunctions api;
  std::unique_ptr<RecordReader> reader;
};

TEST_F(RecordReaderTest, a_kernel_with_all_its_facts) {
  NewestKernel kernel = crafted_kernel("_Z4gemmPf", 77, 1000, 3000);
  kernel.graphNodeId = 12884901890;
  kernel.graphId = 3;
  kernel.clusterX = 2;
  kernel.clusterY = kernel.clusterZ = 1;
  CraftedBuffer buffer;
  read(buffer.add(kernel));
  const DeviceWork work = only_work();
  EXPECT_EQ(work.kind, DeviceKind::kernel);
  EXPECT_EQ(work.device, 1);
  EXPECT_EQ(work.context, 2u);
  EXPECT_EQ(work.stream, 7u);
  EXPECT_EQ(name(work.name), "_Z4gemmPf");
  EXPECT_EQ(work.start_ns, 1000);
  EXPECT_EQ(work.end_ns, 3000);
  EXPECT_EQ(work.correlation, 77u);
  EXPECT_EQ(work.quantity, 12884901890u);
  EXPECT_EQ(name(work.facts),
            "\"registers per thread\":32,\"shared memory\":1536,\"grid\":[64,2,1],"
            "\"block\":[256,1,1],\"cluster\":[2,1,1],\"graph id\":3");
}

TEST_F(RecordReaderTest, occupancy_where_the_device_is_known) {
  NewestKernel kernel = crafted_kernel("k", 1, 10, 20);
  kernel.graphId = 0;
  kernel.clusterX = kernel.clusterY = kernel.clusterZ = 0;
  CraftedBuffer buffer;
  buffer.add(kernel);
  reader = std::make_unique<RecordReader>(ring.ring(), newest, CraftedBuffer::next, api);
  reader->set_shape(1, {108, 32, 8, 0, 2048, 32, 65536, 167936, 1024});
  reader->read(buffer.data(), buffer.size());
  EXPECT_NE(name(only_work().facts)
                .find("\"blocks per SM\":1.19,\"warps per SM\":9.48,"
                      "\"est. achieved occupancy %\":15,"),
            std::string::npos)
      << name(only_work().facts);
}

// What a version does not write is left over from what was in the buffer before.
template <class Kernel>
class KernelVersions : public RecordReaderTest {};

template <class Struct, std::uint32_t version>
struct Version {
  using Kernel = Struct;
  static constexpr std::uint32_t number = version;
};
using AllVersions =
    testing::Types<Version<CUpti_ActivityKernel5, 13>, Version<CUpti_ActivityKernel5, 14>,
                   Version<CUpti_ActivityKernel6, 15>, Version<CUpti_ActivityKernel7, 17>,
                   Version<CUpti_ActivityKernel8, 18>, Version<CUpti_ActivityKernel9, 28>,
                   Version<NewestKernel, newest>>;
TYPED_TEST_SUITE(KernelVersions, AllVersions);

TYPED_TEST(KernelVersions, tail_fields_are_read_where_the_version_has_them) {
  using Kernel = typename TypeParam::Kernel;
  auto kernel = crafted_kernel<Kernel>("k", 5, 100, 200);
  kernel.graphNodeId = 9;
  if (TypeParam::number >= 15) kernel.graphId = 4;
  if constexpr (requires { kernel.clusterX; }) {
    kernel.clusterX = 1;
    kernel.clusterY = 2;
    kernel.clusterZ = 1;
  }
  CraftedBuffer buffer;
  this->read(buffer.add(kernel), TypeParam::number);
  const DeviceWork work = this->only_work();
  const std::string facts = this->name(work.facts);
  EXPECT_EQ(work.correlation, 5u);
  EXPECT_EQ(work.quantity, 9u);
  EXPECT_EQ(facts.find("graph id") != std::string::npos, TypeParam::number >= 15) << facts;
  EXPECT_EQ(facts.find("\"cluster\":[1,2,1]") != std::string::npos, TypeParam::number >= 18);
  EXPECT_EQ(facts.find("cluster") != std::string::npos, TypeParam::number >= 18) << facts;
}

TEST_F(RecordReaderTest, copies_and_sets) {
  CUpti_ActivityMemcpy5 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  copy.start = 10;
  copy.end = 30;
  copy.streamId = 13;
  copy.correlationId = 8;
  copy.graphNodeId = 6;
  copy.graphId = 2;
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  set.bytes = 64;
  set.start = 40;
  set.end = 50;
  set.correlationId = 9;
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.srcKind = peer.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  peer.bytes = 128;
  peer.start = 60;
  peer.end = 70;
  peer.srcDeviceId = 1;
  peer.srcContextId = 2;
  peer.dstDeviceId = 3;
  peer.dstContextId = 4;
  peer.correlationId = 10;
  CraftedBuffer buffer;
  read(buffer.add(copy).add(set).add(peer));
  const auto records = ring.records();
  ASSERT_EQ(records.size(), 3u);
  const DeviceWork copied = event::device_work_of(*records[0]);
  EXPECT_EQ(copied.kind, DeviceKind::copy);
  EXPECT_EQ(name(copied.name), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(copied.quantity, 4096u);
  EXPECT_EQ(copied.stream, 13u);
  EXPECT_EQ(copied.correlation, 8u);
  EXPECT_EQ(name(copied.facts), "\"graph id\":2,\"graph node id\":6");
  const DeviceWork filled = event::device_work_of(*records[1]);
  EXPECT_EQ(filled.kind, DeviceKind::set);
  EXPECT_EQ(name(filled.name), "Memset (Device)");
  EXPECT_EQ(filled.quantity, 64u);
  EXPECT_EQ(filled.facts, 0u);
  const DeviceWork across = event::device_work_of(*records[2]);
  EXPECT_EQ(across.kind, DeviceKind::peer_copy);
  EXPECT_EQ(name(across.name), "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(across.correlation, 10u);
  EXPECT_EQ(name(across.facts),
            "\"fromDevice\":1,\"fromContext\":2,\"toDevice\":3,\"toContext\":4");
}

CUpti_ActivityAPI crafted_call(CUpti_ActivityKind kind, std::uint32_t id, std::uint32_t result) {
  CUpti_ActivityAPI call{};
  call.kind = kind;
  call.cbid = id;
  call.start = 100;
  call.end = 120;
  call.threadId = 4711;
  call.correlationId = 50 + id;
  call.returnValue = result;
  return call;
}

TEST_F(RecordReaderTest, calls_by_their_plain_names_and_only_those_of_use) {
  CraftedBuffer buffer;
  buffer.add(crafted_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 0));
  buffer.add(crafted_call(CUPTI_ACTIVITY_KIND_RUNTIME, 17, 0));
  buffer.add(crafted_call(CUPTI_ACTIVITY_KIND_RUNTIME, 505, 0));
  buffer.add(crafted_call(CUPTI_ACTIVITY_KIND_DRIVER, 307, 2));
  read(buffer.add(crafted_call(CUPTI_ACTIVITY_KIND_DRIVER, 9, 0)));
  const auto records = ring.records();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(reader->counts().passed_over, 1u);
  const event::ApiCall first = event::api_call_of(*records[0]);
  EXPECT_EQ(records[0]->layout, Layout::api_call);
  EXPECT_FALSE(first.is_driver);
  EXPECT_EQ(name(first.name), "cudaLaunchKernel");
  EXPECT_EQ(first.thread_id, 4711u);
  EXPECT_EQ(first.start_ns, 100);
  EXPECT_EQ(first.end_ns, 120);
  EXPECT_EQ(first.correlation, 261u);
  EXPECT_EQ(name(event::api_call_of(*records[1]).name), "cudaLaunchKernel");
  const event::ApiCall failed = event::api_call_of(*records[2]);
  EXPECT_TRUE(failed.is_driver);
  EXPECT_EQ(failed.result, 2);
  EXPECT_EQ(name(failed.name), "cuLaunchKernel");
  EXPECT_EQ(name(event::api_call_of(*records[3]).name), "cuMemcpyHtoDAsync");
}

TEST_F(RecordReaderTest, waits_know_their_device_from_the_context) {
  CUpti_ActivitySynchronization wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  wait.start = 5;
  wait.end = 9;
  wait.contextId = 2;
  wait.streamId = 7;
  wait.correlationId = 3;
  CUpti_ActivityContext context{};
  context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  context.contextId = 30;
  context.deviceId = 5;
  CUpti_ActivitySynchronization other = wait;
  other.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  other.contextId = 30;
  other.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  CraftedBuffer buffer;
  buffer.add(wait).add(crafted_kernel("k", 1, 10, 20)).add(wait).add(context);
  read(buffer.add(other));
  const auto records = ring.records();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(event::device_work_of(*records[0]).device, event::no_device);
  const DeviceWork known = event::device_work_of(*records[2]);
  EXPECT_EQ(known.kind, DeviceKind::synchronise);
  EXPECT_EQ(known.device, 1);
  EXPECT_EQ(name(known.name), "Stream Sync");
  const DeviceWork whole = event::device_work_of(*records[3]);
  EXPECT_EQ(whole.device, 5);
  EXPECT_EQ(whole.stream, event::no_stream);
  EXPECT_EQ(name(whole.name), "Context Sync");
}

TEST_F(RecordReaderTest, memory_overhead_and_graphs) {
  CUpti_ActivityMemory3 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.timestamp = 11;
  memory.bytes = 2048;
  memory.deviceId = 1;
  CUpti_ActivityOverhead overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 99;
  overhead.start = 1;
  overhead.end = 2;
  CUpti_ActivityGraphTrace graph{};
  graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  graph.start = 3;
  graph.end = 4;
  graph.correlationId = 12;
  graph.graphId = 8;
  CraftedBuffer buffer;
  read(buffer.add(memory).add(overhead).add(graph), 18);
  const auto records = ring.records();
  ASSERT_EQ(records.size(), 3u);
  const DeviceWork released = event::device_work_of(*records[0]);
  EXPECT_EQ(released.kind, DeviceKind::memory);
  EXPECT_EQ(name(released.name), "Memory Release (Device)");
  EXPECT_EQ(released.start_ns, 11);
  EXPECT_EQ(released.end_ns, 11);
  EXPECT_EQ(released.quantity, 2048u);
  const DeviceWork cost = event::device_work_of(*records[1]);
  EXPECT_EQ(cost.kind, DeviceKind::overhead);
  EXPECT_EQ(name(cost.name), "Buffer Flush");
  EXPECT_EQ(cost.stream, 99u);
  EXPECT_EQ(cost.correlation, 0u);
  const DeviceWork whole = event::device_work_of(*records[2]);
  EXPECT_EQ(whole.kind, DeviceKind::graph);
  EXPECT_EQ(whole.correlation, 12u);
  EXPECT_EQ(name(whole.facts), "\"graph id\":8,\"graph node id\":0");
}

TEST_F(RecordReaderTest, unknown_kinds_are_passed_over) {
  CUpti_ActivityMarker2 marker{};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  CraftedBuffer buffer;
  read(buffer.add(marker).add(crafted_kernel("k", 1, 10, 20)));
  EXPECT_EQ(only_work().correlation, 1u);
  EXPECT_EQ(reader->counts().passed_over, 1u);
}

TEST_F(RecordReaderTest, work_that_has_not_ended_at_a_forced_flush_is_not_kept) {
  CraftedBuffer buffer;
  buffer.add(crafted_kernel("k", 1, 0, 0)).add(crafted_kernel("k", 2, 10, 0));
  buffer.add(crafted_kernel("k", 3, 10, 20));
  reader = std::make_unique<RecordReader>(ring.ring(), newest, CraftedBuffer::next, api);
  reader->expect_unfinished(true);
  reader->read(buffer.data(), buffer.size());
  EXPECT_EQ(only_work().correlation, 3u);
  EXPECT_EQ(reader->counts().unfinished, 2u);
  EXPECT_EQ(ring.dropped(ring::DropCause::device_untimed), 0u);
  reader->expect_unfinished(false);
  reader->read(buffer.data(), buffer.size());
  EXPECT_EQ(ring.dropped(ring::DropCause::device_untimed), 2u);
}

// As CUPTI hands over what it had no room to time: 0 and 0, or an end before the start.
TEST_F(RecordReaderTest, work_that_cupti_could_not_time_is_counted) {
  CUpti_ActivityMemcpy5 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  CUpti_ActivityMemcpyPtoP4 peer_copy{};
  peer_copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  CraftedBuffer buffer;
  buffer.add(crafted_kernel("k", 1, 0, 0)).add(crafted_kernel("k", 2, 20, 10)).add(copy);
  buffer.add(peer_copy).add(set).add(crafted_kernel("k", 3, 0, 20));
  read(buffer.add(crafted_kernel("k", 4, 10, 10)));
  EXPECT_EQ(only_work().correlation, 4u) << "no time at all is a time";
  EXPECT_EQ(ring.dropped(ring::DropCause::device_untimed), 6u);
  EXPECT_EQ(reader->counts().unfinished, 0u);
}

TEST_F(RecordReaderTest, a_record_beyond_the_buffer_ends_the_reading) {
  const auto astray = [](std::uint8_t* buffer, std::size_t, void** record) {
    *record = buffer + 1'000'000'000;
    return cupti_result::success;
  };
  reader = std::make_unique<RecordReader>(ring.ring(), newest, astray, api);
  std::array<std::uint8_t, 64> buffer{};
  reader->read(buffer.data(), buffer.size());
  EXPECT_EQ(ring.dropped(ring::DropCause::device_dropped), 1u);
  EXPECT_TRUE(ring.records().empty());
}

// A library that takes its records for shorter than we do goes on behind one that we do not read.
TEST_F(RecordReaderTest, what_follows_a_damaged_record_is_counted) {
  const auto in_words = [](std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
    auto* const next = *record == nullptr ? buffer : static_cast<std::uint8_t*>(*record) + 8;
    if (next >= buffer + valid_bytes) return cupti_result::max_limit_reached;
    *record = next;
    return cupti_result::success;
  };
  reader = std::make_unique<RecordReader>(ring.ring(), newest, in_words, api);
  alignas(8) std::array<std::uint8_t, 64> buffer{};
  buffer[0] = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  reader->read(buffer.data(), buffer.size());
  EXPECT_EQ(ring.dropped(ring::DropCause::device_dropped), 8u);
}

// The name is a pointer at byte 104: what lies behind the buffer must not be taken for one.
TEST_F(RecordReaderTest, ReadsNoRecordThatTheBuffersEndCuts) {
  CraftedBuffer buffer;
  buffer.add(crafted_kernel("whole", 7, 100, 200)).add(crafted_kernel("cut", 8, 300, 400));
  reader = std::make_unique<RecordReader>(ring.ring(), newest, CraftedBuffer::next, api);
  reader->read(buffer.data(), buffer.size() - 64);
  EXPECT_EQ(ring.dropped(ring::DropCause::device_dropped), 1u);
  ASSERT_EQ(ring.records().size(), 1u);
  EXPECT_EQ(name(event::device_work_of(*ring.records()[0]).name), "whole");
}

TEST_F(RecordReaderTest, a_name_is_kept_once_and_its_bytes_are_what_counts) {
  std::array<char, 8> name_memory = {"first"};
  CraftedBuffer buffer, again;
  buffer.add(crafted_kernel(name_memory.data(), 1, 10, 20));
  buffer.add(crafted_kernel(name_memory.data(), 2, 10, 20));
  again.add(crafted_kernel(name_memory.data(), 3, 10, 20));
  reader = std::make_unique<RecordReader>(ring.ring(), newest, CraftedBuffer::next, api);
  reader->read(buffer.data(), buffer.size());
  const std::uint64_t used = ring.ring().header().names_used;
  std::strcpy(name_memory.data(), "second");  // another module, loaded in its place
  reader->read(again.data(), again.size());
  const auto records = ring.records();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(event::device_work_of(*records[0]).name, event::device_work_of(*records[1]).name);
  EXPECT_EQ(event::device_work_of(*records[0]).facts, event::device_work_of(*records[2]).facts);
  EXPECT_EQ(name(event::device_work_of(*records[2]).name), "second");
  EXPECT_EQ(ring.ring().header().names_used, used + 16);
}

// A device that is first used while CUPTI records is described after its first kernels.
TEST_F(RecordReaderTest, occupancy_is_told_once_the_device_is_known) {
  CraftedBuffer buffer;
  read(buffer.add(crafted_kernel("k", 1, 10, 20)));
  reader->set_shape(1, {.multiprocessors = 132, .warp_size = 32});
  reader->read(buffer.data(), buffer.size());
  const auto records = ring.records();
  ASSERT_EQ(records.size(), 2u);
  const auto tells = [&](std::size_t index) {
    const std::string facts = name(event::device_work_of(*records[index]).facts);
    return facts.find("warps per SM") != std::string::npos;
  };
  EXPECT_FALSE(tells(0));
  EXPECT_TRUE(tells(1));
}

TEST_F(RecordReaderTest, a_wait_is_on_the_device_only_where_there_is_one) {
  CUpti_ActivitySynchronization wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.contextId = 3;
  wait.start = 10;
  wait.end = 20;
  CraftedBuffer buffer, with_kernel;
  with_kernel.add(crafted_kernel("k", 1, 10, 20));
  read(buffer.add(wait));
  reader->expect_devices(2);
  reader->read(with_kernel.data(), with_kernel.size());
  reader->read(buffer.data(), buffer.size());
  reader->expect_devices(3);
  reader->read(buffer.data(), buffer.size());
  const auto records = ring.records();
  ASSERT_EQ(records.size(), 4u);
  const auto device = [&](std::size_t index) {
    return event::device_work_of(*records[index]).device;
  };
  EXPECT_EQ(device(0), event::no_device);
  EXPECT_EQ(device(2), 1u);
  EXPECT_EQ(device(3), event::no_device);
}

TEST_F(RecordReaderTest, streams_are_described) {
  CUpti_ActivityStream stream{};
  stream.kind = CUPTI_ACTIVITY_KIND_STREAM;
  stream.contextId = 2;
  stream.streamId = 20;
  stream.priority = static_cast<std::uint32_t>(-5);
  CraftedBuffer buffer;
  read(buffer.add(stream).add(crafted_kernel("k", 1, 10, 20)));
  EXPECT_EQ(reader->streams_json(), "{\"1/2/20\": {\"priority\": -5}}");
  EXPECT_EQ(reader->devices_seen(), 2u);
}

TEST_F(RecordReaderTest, the_reading_thread_is_left_as_it_was) {
  ring::writer.nested_in_start = 0;
  ring::writer.full_cause = ring::DropCause::plan_ring_full;
  CraftedBuffer buffer;
  read(buffer.add(crafted_kernel("k", 1, 10, 20)));
  EXPECT_EQ(ring::writer.nested_in_start, 0u);
  EXPECT_EQ(ring::writer.full_cause, ring::DropCause::plan_ring_full);
  ring::writer.full_cause = ring::DropCause::ring_full;
}

// CUPTI stays on between windows that follow each other fast.
TEST_F(RecordReaderTest, what_finds_no_room_is_missed_by_a_window_alone) {
  CraftedBuffer buffer;
  for (std::uint32_t i = 0; i < 100; ++i) buffer.add(crafted_kernel("k", i, 10, 20));
  reader = std::make_unique<RecordReader>(ring.ring(), newest, CraftedBuffer::next, api);
  const std::uint64_t room = ring.ring().chunk_count() * ring::records_per_chunk;
  for (std::uint64_t i = 0; i <= room / 100; ++i) reader->read(buffer.data(), buffer.size());
  EXPECT_EQ(reader->counts().written, room);
  EXPECT_EQ(ring.dropped(ring::DropCause::device_ring_full), 0u);
  for (const auto state : {ring::WindowState::open, ring::WindowState::closed,
                           ring::WindowState::failed, ring::WindowState::written}) {
    ring.ring().header().windows[0].state = state;
    reader->read(buffer.data(), buffer.size());
  }
  EXPECT_EQ(ring.dropped(ring::DropCause::device_ring_full), 300u);
}

// Told late, in a flush: its time says which window's it was.
TEST_F(RecordReaderTest, what_finds_no_room_is_counted_by_its_own_time) {
  ring::Header& header = ring.ring().header();
  header.nominal_ns_per_tick = 1.0;
  ring::add_anchor(header, {1, 1, 1});
  for (const std::uint64_t begin_ticks : {1000, 3000}) {
    ring::Window& window = header.windows[begin_ticks / 3000];
    window.begin_ticks = begin_ticks;
    window.end_ticks = begin_ticks + 1000;
    window.state = ring::WindowState::closed;
  }
  while (ring::claim_chunk(ring.ring(), 1, {}, false) != nullptr) {
  }
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = 211;
  call.start = 3100;
  call.end = 3200;
  CraftedBuffer buffer;
  read(buffer.add(crafted_kernel("k", 1, 1100, 1200)).add(call).add(call));
  EXPECT_EQ(header.windows[0].device_full, 1u);
  EXPECT_EQ(header.windows[1].device_full, 2u);
  EXPECT_EQ(ring.dropped(ring::DropCause::device_ring_full), 0u);
}

std::uint64_t resident_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss);
}

// Every grid is another, as it may be where shapes are dynamic: the texts must be bounded too.
TEST_F(RecordReaderTest, fifty_million_records_are_counted_to_the_last_in_bounded_memory) {
#ifdef __SANITIZE_THREAD__  // which takes minutes for as many
  constexpr std::uint64_t wanted = 1'000'000;
#else
  constexpr std::uint64_t wanted = 50'000'000;
#endif
  constexpr std::uint64_t in_buffer = 5000;
  static std::size_t stride;
  std::vector<NewestKernel> kernels;
  for (std::uint32_t i = 0; i < in_buffer; ++i) {
    kernels.push_back(crafted_kernel(i % 2 == 0 ? "even" : "odd", i, 10, 20));
  }
  stride = sizeof kernels[0];
  const auto next = [](std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
    auto* at = static_cast<std::uint8_t*>(*record);
    at = at == nullptr ? buffer : at + stride;
    if (at >= buffer + valid_bytes) return cupti_result::max_limit_reached;
    *record = at;
    return cupti_result::success;
  };
  ring.ring().header().windows[0].state = ring::WindowState::open;
  reader = std::make_unique<RecordReader>(ring.ring(), newest, next, api);
  std::uint64_t at_first = 0;
  for (std::uint64_t round = 0; round < wanted / in_buffer; ++round) {
    for (std::uint32_t i = 0; i < 20; ++i) {
      kernels[i].gridX = static_cast<std::int32_t>(round * 20 + i);
    }
    reader->read(reinterpret_cast<std::uint8_t*>(kernels.data()), kernels.size() * stride);
    if (round == 100) at_first = resident_kib();
  }
  const std::uint64_t kept = ring.records().size();
  EXPECT_EQ(kept, ring.ring().chunk_count() * ring::records_per_chunk);
  EXPECT_EQ(reader->counts().written, kept);
  EXPECT_EQ(ring.dropped(ring::DropCause::device_ring_full), wanted - kept);
  EXPECT_EQ(ring.dropped(ring::DropCause::ring_full), 0u);
  EXPECT_LT(resident_kib(), at_first + 4096);
}

}  // namespace
}  // namespace traceagent::device
