// Speed of writing a window of the ring as a rank file, on one thread. TMPDIR chooses the file
// system; /dev/shm by default, since the disk is not what is measured.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "agent/api/function.hpp"
#include "agent/drain/rank_file.hpp"
#include "agent/event/device_record.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::drain {
namespace {

using event::Layout;
using event::Record;

constexpr std::uint64_t events = 1'000'000;
constexpr std::uint64_t first_tick = 1'000'000;
constexpr std::uint64_t ns_between = 2500;

// A training step's mixture: mostly launches, some copies, allocations, waits and collectives.
void fill(Record& record, std::uint64_t i, std::uint32_t kernel) {
  using api::Function;
  record.args[3] = 0x55d0c0ffee00u;
  switch (i % 16) {
    case 3:
      record.function = static_cast<std::uint16_t>(Function::ncclAllReduce);
      record.layout = Layout::collective;
      record.extra = 1;
      record.args[0] = 1048576;
      record.args[1] = i / 16;
      record.args[2] = 7 | std::uint64_t{0xffffffff} << 32;
      break;
    case 7:
      record.function = static_cast<std::uint16_t>(Function::cudaMemcpyAsync);
      record.layout = Layout::copy;
      record.detail = 1;
      record.args[0] = 0x7f0000000000u + i * 256;
      record.args[1] = 0x7e0000000000u + i * 256;
      record.args[2] = 65536;
      break;
    case 11:
      record.function = static_cast<std::uint16_t>(Function::cudaEventRecord);
      record.layout = Layout::event;
      record.args[0] = 0x55d0c0ffee00u + i % 32;
      break;
    case 15:
      record.function = static_cast<std::uint16_t>(Function::cudaStreamSynchronize);
      record.layout = Layout::synchronise;
      record.args[0] = 0x55d0c0ffee00u;
      break;
    default:
      record.function = static_cast<std::uint16_t>(Function::cudaLaunchKernel);
      record.layout = Layout::launch;
      record.extra = kernel;
      record.args[0] = 1024 | std::uint64_t{1} << 32;
      record.args[1] = 1 | std::uint64_t{256} << 32;
      record.args[2] = 1 | std::uint64_t{1} << 32;
  }
}

ring::Ring make_ring(const std::string& folder, std::uint64_t records) {
  const std::uint64_t chunks = records / ring::records_per_chunk + 8;
  const ring::Sizes sizes = ring::divide(chunks * ring::chunk_bytes * 9 / 8);
  void* memory = mmap(nullptr, sizes.file_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  const ring::Ring ring = ring::format(memory, sizes);
  ring::Header& header = ring.header();
  header.nominal_ns_per_tick = 0.5;
  ring::add_anchor(ring.header(), {first_tick, 1'700'000'000'000'000'000, 20});
  header.identity.output_folder = ring.add_name(folder);
  header.identity.file_template = ring.add_name("rank{rank}.json");
  header.identity.options_json = ring.add_name("{}");
  header.identity.overwrite_files = 1;
  header.communicator_count.store(1);
  header.communicators[0].hash.store(0x0123456789abcdef);
  header.communicators[0].size = 8;
  return ring;
}

void record_events(const ring::Ring& ring, std::uint64_t threads) {
  const std::uint32_t kernel =
      ring.add_name("_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15gelu_kernelEvE");
  std::uint64_t done = 0;
  while (done < events) {
    const auto thread = static_cast<std::uint32_t>(done / ring::records_per_chunk % threads);
    ring::Chunk* chunk = ring::claim_chunk(ring, 4000 + thread, "python\0\0\0\0\0\0\0\0\0", false);
    // Each thread's records are spread over the whole time: the merge has to work for its order.
    for (std::size_t slot = 0; slot < ring::records_per_chunk && done < events; ++slot, ++done) {
      const std::uint64_t round = done / (ring::records_per_chunk * threads);
      const std::uint64_t at = (round * ring::records_per_chunk + slot) * threads + thread;
      Record& record = chunk->records[slot];
      fill(record, done, kernel);
      record.begin_ticks.store(first_tick + at * ns_between * 2);
      record.end_ticks.store(first_tick + at * ns_between * 2 + 3000);
    }
    ring::retire_chunk(*chunk);
  }
}

class RecordSource {
 public:
  explicit RecordSource(const ring::Ring& ring) : ring_(ring) {}
  Record& next(std::uint32_t thread) {
    if (chunk_ == nullptr || slot_ == ring::records_per_chunk) {
      chunk_ = ring::claim_chunk(ring_, thread, "python\0\0\0\0\0\0\0\0\0", false);
      slot_ = 0;
    }
    return chunk_->records[slot_++];
  }

 private:
  const ring::Ring& ring_;
  ring::Chunk* chunk_ = nullptr;
  std::size_t slot_ = 0;
};

// A launch every 4 µs on each of four threads, seen by CUPTI too, and its kernel on one of eight
// streams: what a training step leaves. Of every sixteenth launch no door of ours saw the call.
void record_device(const ring::Ring& ring, std::uint64_t kernels) {
  const std::uint32_t kernel =
      ring.add_name("_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15gelu_kernelEvE");
  const std::uint32_t facts = ring.add_name(
      "\"registers per thread\":32,\"shared memory\":0,\"grid\":[1024,1,1],\"block\":[256,1,1]");
  const std::uint32_t call = ring.add_name("cudaLaunchKernel");
  ring.header().device.source.store(ring::DeviceSource::cupti);
  ring.header().device.recording_since_ns.store(1);
  const std::int64_t base_ns = 1'700'000'000'000'000'000;
  RecordSource hosts[4] = {RecordSource(ring), RecordSource(ring), RecordSource(ring),
                           RecordSource(ring)};
  RecordSource cupti(ring);
  for (std::uint64_t i = 0; i < kernels; ++i) {
    const auto thread = static_cast<std::uint32_t>(i % 4);
    const auto at_ns = static_cast<std::int64_t>(1'000'000 + i * 1000);
    if (i % 16 != 0) {
      Record& host = hosts[thread].next(4000 + thread);
      fill(host, i % 16 == 3 || i % 16 == 7 ? 0 : i, kernel);
      host.begin_ticks.store(first_tick + static_cast<std::uint64_t>(at_ns) * 2);
      host.end_ticks.store(first_tick + static_cast<std::uint64_t>(at_ns + 3000) * 2);
    }
    const auto id = static_cast<std::uint32_t>(i + 1);
    Record& api = cupti.next(4100);
    event::fill(api, event::ApiCall{false, 4000 + thread, call, 0, base_ns + at_ns + 200,
                                    base_ns + at_ns + 2800, id});
    Record& work = cupti.next(4100);
    const std::int64_t start_ns = base_ns + at_ns + 10'000;
    event::fill(work, event::DeviceWork{event::DeviceKind::kernel, 0, 1,
                                        static_cast<std::uint32_t>(7 + i % 8), kernel, start_ns,
                                        start_ns + 6000, id, facts, 0});
    for (Record* record : {&api, &work}) {
      record->end_ticks.store(first_tick);
      record->begin_ticks.store(first_tick);
    }
  }
}

std::string bench_folder() {
  const char* chosen = std::getenv("TMPDIR");
  return std::string(chosen != nullptr ? chosen : "/dev/shm") + "/traceagent-bench-" +
         std::to_string(getpid());
}

// Counts `items` for each file; a file of fewer events than that is a failure.
void write_window_of(const ring::Ring& ring, const std::string& folder, std::uint64_t items,
                     benchmark::State& state) {
  ring::Window& window = ring.header().windows[0];
  window.begin_ticks.store(first_tick);
  window.end_ticks.store(UINT64_MAX / 4);
  window.is_startup = 1;
  window.state.store(ring::WindowState::closed);
  RankFileReport report;
  for (auto _ : state) {
    report = write_rank_file(ring, window, {});
    if (!report.problem.empty() || report.events < items) {
      state.SkipWithError(report.problem.c_str());
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(items));
  state.counters["lines"] = static_cast<double>(report.events);
  if (report.problem.empty()) {
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(report.path));
    state.SetBytesProcessed(state.iterations() * bytes);
  }
  std::filesystem::remove_all(folder);
  munmap(&ring.header(), ring.header().file_bytes);
}

void write_window(benchmark::State& state) {
  const std::string folder = bench_folder();
  const ring::Ring ring = make_ring(folder, events);
  record_events(ring, static_cast<std::uint64_t>(state.range(0)));
  write_window_of(ring, folder, events, state);
}
BENCHMARK(write_window)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(8)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// An item is a record that CUPTI made: a kernel, or the call that launched it. With the job's own
// calls the ring holds half as many more.
void write_device_window(benchmark::State& state) {
  constexpr std::uint64_t kernels = 300'000;
  const std::string folder = bench_folder();
  const ring::Ring ring = make_ring(folder, kernels * 3);
  record_device(ring, kernels);
  write_window_of(ring, folder, kernels * 2, state);
}
BENCHMARK(write_device_window)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace traceagent::drain
