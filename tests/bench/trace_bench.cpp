// Speed of writing and merging traces. TMPDIR chooses the file system; /dev/shm by default, since
// the disk is not what is measured.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/trace/document.hpp"
#include "agent/trace/event_writer.hpp"
#include "agent/trace/merge.hpp"

namespace traceagent::trace {
namespace {

std::string scratch_path(const std::string& name) {
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/dev/shm") + "/traceagent-bench-" +
         std::to_string(getpid()) + "-" + name;
}

// Spread like real times, so that gzip does not find more to save than it would there.
std::int64_t spread(std::int64_t i) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U >> 52);
}

// A collective as the NCCL door records it: the usual long event, about 270 bytes.
void write_collective(EventWriter& events, std::int64_t i, std::int64_t ts_ns) {
  events.complete("ncclAllReduce", "collective_comm", 123456, ts_ns, 4321 + spread(i));
  events.arg("Collective name", "allreduce");
  events.arg("In msg nelems", 1048576 + i);
  events.arg("dtype", "Float");
  events.arg("Group size", 8);
  events.arg("stream", Hex{0x55d0c0ffee00U});
  events.arg("Seq", i);
  events.end();
}

bool write_trace(const std::string& path, const OutputOptions& options, std::int64_t rank,
                 std::int64_t count, std::uint64_t& bytes) {
  OutputFile file;
  if (!file.open(path, options)) {
    return false;
  }
  DocumentHeader header;
  header.rank = rank;
  header.world_size = 8;
  header.base_ns = 1700000000000000000 + rank * 1234567;
  write_header(file, header);
  EventWriter events(file, rank);
  events.process_name("rank " + std::to_string(rank));
  for (std::int64_t i = 0; i < count; ++i) {
    write_collective(events, i, i * 5003 + spread(i + rank));
  }
  write_footer(file, "{\"rank\": " + std::to_string(rank) + "}");
  const bool ok = file.finish();
  bytes = file.file_bytes();
  return ok;
}

void write_events(benchmark::State& state) {
  const bool gzip = state.range(0) != 0;
  const std::int64_t count = state.range(1);
  const std::string path = scratch_path("write.json");
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    if (!write_trace(path, {.gzip = gzip}, 0, count, bytes)) {
      state.SkipWithError("cannot write");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * count);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  state.counters["bytes_per_event"] = static_cast<double>(bytes) / static_cast<double>(count);
  std::filesystem::remove(path);
}
BENCHMARK(write_events)
    ->ArgNames({"gzip", "events"})
    ->Args({0, 1000000})
    ->Args({1, 200000})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void merge_ranks(benchmark::State& state) {
  const bool gzip = state.range(0) != 0;
  const std::int64_t ranks = state.range(1);
  const std::int64_t count = state.range(2);
  const std::string output = scratch_path("merged.json");
  std::vector<std::string> inputs;
  std::uint64_t bytes = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t file_bytes = 0;
    inputs.push_back(scratch_path("rank" + std::to_string(rank) + ".json"));
    if (!write_trace(inputs.back(), {.gzip = gzip}, rank, count, file_bytes)) {
      state.SkipWithError("cannot write");
    }
    bytes += file_bytes;
  }
  MergeReport report;
  for (auto _ : state) {
    report = merge(inputs, output, {.gzip = gzip});
    if (!report.problem.empty() || !report.complete) {
      state.SkipWithError("cannot merge");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(report.events));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  state.counters["reader_MiB"] = static_cast<double>(report.peak_reader_bytes) / 1048576.0;
  inputs.push_back(output);
  for (const std::string& path : inputs) {
    std::filesystem::remove(path);
  }
}
BENCHMARK(merge_ranks)
    ->ArgNames({"gzip", "ranks", "events"})
    ->Args({0, 8, 200000})
    ->Args({1, 8, 50000})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace traceagent::trace
