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

ring::Ring make_ring(const std::string& folder) {
  const std::uint64_t chunks = events / ring::records_per_chunk + 2;
  const ring::Sizes sizes = ring::divide(chunks * ring::chunk_bytes * 9 / 8);
  void* memory = mmap(nullptr, sizes.file_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  const ring::Ring ring = ring::format(memory, sizes);
  ring::Header& header = ring.header();
  header.nominal_ns_per_tick = 0.5;
  ring::add_anchor(ring, {first_tick, 1'700'000'000'000'000'000, 20});
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

void write_window(benchmark::State& state) {
  const char* chosen = std::getenv("TMPDIR");
  const std::string folder = std::string(chosen != nullptr ? chosen : "/dev/shm") +
                             "/traceagent-bench-" + std::to_string(getpid());
  const ring::Ring ring = make_ring(folder);
  record_events(ring, static_cast<std::uint64_t>(state.range(0)));
  ring::Window& window = ring.header().windows[0];
  window.begin_ticks.store(first_tick);
  window.end_ticks.store(UINT64_MAX / 4);
  window.is_startup = 1;
  RankFileReport report;
  for (auto _ : state) {
    report = write_rank_file(ring, window, {});
    if (!report.problem.empty() || report.events < events) {
      state.SkipWithError(report.problem.c_str());
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(report.events));
  if (report.problem.empty()) {
    const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(report.path));
    state.SetBytesProcessed(state.iterations() * bytes);
  }
  std::filesystem::remove_all(folder);
  munmap(&ring.header(), ring.header().file_bytes);
}
BENCHMARK(write_window)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(8)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace traceagent::drain
