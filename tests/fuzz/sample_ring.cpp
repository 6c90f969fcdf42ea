#include "tests/fuzz/sample_ring.hpp"

#include <vector>

#include "agent/event/device_record.hpp"
#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::fuzz {
namespace {

// The smallest ring, of two chunks, one for each of its threads: what a reader goes through is what
// a run of the fuzzer costs.
constexpr std::uint64_t wanted_bytes = 1;

using api::Function;
using event::Layout;

void add_calls(drain::CraftedRing& made) {
  ring::Chunk& chunk = made.chunk_of(100, "main");
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

void add_device_work(drain::CraftedRing& made) {
  ring::Chunk& chunk = made.chunk_of(101, "cupti");
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

}  // namespace

std::string sample_ring(const std::string& folder) {
  drain::CraftedRing made(folder, wanted_bytes);
  ring::Header& header = made.ring().header();
  // What follows are names that the fuzzer may change.
  while (header.names_used.load() < identity_names_bytes) made.ring().add_name("room");
  made.communicator(0x1234567890abcdef, 3, 8);
  header.device.properties_json = made.ring().add_name(R"([{"id":0,"name":"Simulated"}])");
  header.device.streams_json = made.ring().add_name(R"({"0/1/7":{"name":"main","priority":0}})");
  header.identity.overwrite_files = 1;
  add_calls(made);
  add_device_work(made);
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
