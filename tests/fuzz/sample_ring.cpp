#include "tests/fuzz/sample_ring.hpp"

#include <vector>

#include "agent/event/device_record.hpp"
#include "tests/fuzz/sample_counters.hpp"
#include "tests/fuzz/sample_nccl.hpp"
#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::fuzz {
namespace {

// The smallest ring, and one chunk more, so that each of its threads has one: what a reader goes
// through is what a run of the fuzzer costs.
std::uint64_t wanted_bytes() { return ring::divide(1).file_bytes + ring::chunk_bytes; }

using api::Function;
using event::Layout;

void add_calls(drain::CraftedRing& made, ring::Chunk& chunk) {
  const std::uint32_t name = made.ring().add_name("_Z6squarePfi");
  std::uint64_t at = 2000;
  for (int layout = 0; layout <= static_cast<int>(Layout::mark); ++layout) {
    event::Record& record =
        made.add(chunk, Function::cudaLaunchKernel, static_cast<Layout>(layout), at, at + 50);
    record.extra = record.layout == Layout::collective ? 1 : name;
    record.args[2] = 4096;
    at += 100;
  }
  made.add(chunk, Function::ncclAllReduce, Layout::collective, at, 0).extra = 1;
}

void add_device_work(drain::CraftedRing& made, ring::Chunk& chunk) {
  const std::uint32_t name = made.ring().add_name("_Z6squarePfi");
  const std::uint32_t facts = made.ring().add_name("\"registers per thread\":32,\"grid\":[1,1,1]");
  for (std::uint8_t kind = 0; kind <= static_cast<std::uint8_t>(event::DeviceKind::graph); ++kind) {
    const std::int64_t start = drain::epoch_ns + 2000 + 100 * kind;
    event::fill(made.add(chunk, Function::none, Layout::device_work, 5000, 5001),
                event::DeviceWork{static_cast<event::DeviceKind>(kind), 0, 1, 7, name, start,
                                  start + 60, 10u + kind, facts, 4096});
    event::fill(made.add(chunk, Function::none, Layout::api_call, 5000, 5001),
                event::ApiCall{false, 100, made.ring().add_name("cudaLaunchKernel"), 0, start - 500,
                               start - 450, 10u + kind});
  }
  for (const Layout layout : {Layout::timed_by_event, Layout::collective_plan}) {
    made.add(chunk, Function::ncclAllReduce, layout, 2500, 2600).args[0] = 1;
  }
}

// The budgets' classes are left out one after another, and come back.
void add_governor_changes(ring::GovernorBlock& governor) {
  governor.budget_millionths = 10'000;
  governor.windows_left_out = 1;
  std::uint32_t level = 0;
  for (const ring::LeftOut left_out : {1u, 3u, 3u | ring::left_out_device, 1u}) {
    ring::BudgetChange& change = governor.changes[level];
    change.ticks = 2100 + 400 * level;
    change.kind = static_cast<ring::BudgetKind>(level % ring::budget_kind_count);
    change.level = ++level;
    change.left_out = left_out;
    change.measured_millionths = 31'000;
  }
  governor.change_count = level;
}

// As NVTX gives them: a stream's twice, since its handle is given again to another.
void add_resource_names(drain::CraftedRing& made, ring::Chunk& chunk) {
  using ring::Named;
  ring::NamedPlaces& places = made.ring().header().named_resources;
  const std::uint64_t stream = 0x77;
  places[0].store({Named::stream, made.ring().add_name("gradients"), stream, 1, 3050});
  places[1].store({Named::stream, made.ring().add_name("copies"), stream, 3051, 0});
  places[2].store({Named::device, made.ring().add_name("the first"), 0, 1, 0});
  places[3].store({Named::context, made.ring().add_name("of the job"), 1, 1, 0});
  places[4].store({Named::thread, made.ring().add_name("trainer"), 100, 1, 0});
  // Calls that gave the named stream work, and a graph that was captured on it.
  using enum Function;
  for (const Function function : {cudaLaunchKernel, cudaMemcpyAsync, cudaStreamBeginCapture,
                                  cudaStreamEndCapture, cudaGraphLaunch}) {
    const bool is_launch = function == cudaLaunchKernel;
    const std::uint64_t at = 2900 + 20 * static_cast<std::uint64_t>(function) % 90;
    Layout layout = is_launch ? Layout::launch : Layout::stream;
    if (function == cudaMemcpyAsync) layout = Layout::copy;
    if (function == cudaGraphLaunch) layout = Layout::graph;
    made.add(chunk, function, layout, at, at + 9).args[3] = stream;
  }
}

// Two of the device's works overlap on one stream; a kernel of a graph; one that no door saw asked
// for.
void add_overlapping_work(drain::CraftedRing& made, ring::Chunk& chunk) {
  const std::uint32_t name = made.ring().add_name("overlapping");
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::int64_t start = drain::epoch_ns + 2905 + 10 * i;
    event::fill(
        made.add(chunk, Function::none, Layout::device_work, 5000, 5001),
        event::DeviceWork{event::DeviceKind::kernel, static_cast<std::uint16_t>(i / 3), 1, 9, name,
                          start, start + 50, 40 + i, 0, i == 2 ? 0x300000001u : 0u});
    event::fill(made.add(chunk, Function::none, Layout::api_call, 5000, 5001),
                event::ApiCall{i % 2 != 0, 100, made.ring().add_name("cudaGraphLaunch"), 0,
                               start - 4, start - 1, 40 + i});
  }
}

}  // namespace

std::string sample_ring(const std::string& folder) {
  drain::CraftedRing made(folder, wanted_bytes());
  ring::Header& header = made.ring().header();
  // What follows are names that the fuzzer may change.
  while (header.names_used.load() < identity_names_bytes) made.ring().add_name("room");
  made.communicator(0x1234567890abcdef, 3, 8);
  header.device.properties_json = made.ring().add_name(R"([{"id":0,"name":"Simulated"}])");
  header.device.streams_json = made.ring().add_name(R"({"0/1/7":{"name":"main","priority":0}})");
  header.device.source = ring::DeviceSource::cupti;
  header.device.cupti_version = 26;
  header.device.recording_since_ns = drain::epoch_ns + 1;
  header.device.delivered_until_ns = drain::epoch_ns + 50'000'000;  // all of it
  header.identity.overwrite_files = 1;
  header.identity.options_json = made.ring().add_name(
      R"({"output.remote":"/there/{run_name}/","output.merged_remote":"/there/","output.keep":2})");
  ring::Chunk& main = made.chunk_of(100, "main");
  ring::Chunk& other = made.chunk_of(101, "cupti");
  add_calls(made, main);
  add_device_work(made, other);
  add_governor_changes(header.governor);
  add_resource_names(made, main);
  add_overlapping_work(made, other);
  add_nccl(made, main, other);
  add_counters(made, made.chunk_of(102, "traceagent-cnt"));
  for (std::uint64_t step = 0; step < 3; ++step)
    made.step(step, 2000 + 500 * step, 2500 + 500 * step);
  made.window(1500, 3000, 0, 1);
  made.window(3000, 0, 2, 2);
  header.ready = 1;
  header.identity.checksum = ring::identity_checksum(made.ring());
  const auto* bytes = reinterpret_cast<const char*>(&header);
  return {bytes, header.file_bytes};
}

}  // namespace traceagent::fuzz
