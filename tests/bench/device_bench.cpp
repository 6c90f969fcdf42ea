// Speed of what CUPTI tells: activity buffers into the ring, and on into a rank file, on one
// thread. TMPDIR chooses the file system; /dev/shm by default, since the disk is not what is
// measured.
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <cupti.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/device/record_reader.hpp"
#include "agent/drain/rank_file.hpp"
#include "agent/event/ticks.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::device {
namespace {

#if CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
#else
using Kernel = CUpti_ActivityKernel9;
#endif

constexpr std::uint32_t newest_version = 130000;
constexpr std::size_t pairs_in_buffer = 500;  // a buffer of 128 KiB
constexpr std::uint64_t base_ns = 1'700'000'000'000'000'000;

CuptiResult callback_name(int domain, std::uint32_t id, const char** name) {
  if (domain != cupti_domain::runtime || id != 211) return 1;
  *name = "cudaLaunchKernel_v7000";
  return cupti_result::success;
}

// Launch and kernel by turns, as they come on a thread's buffer.
CuptiResult next_of_pair(std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
  auto* at = static_cast<std::uint8_t*>(*record);
  if (at == nullptr) {
    at = buffer;
  } else {
    std::uint32_t kind;
    std::memcpy(&kind, at, sizeof kind);
    at += kind == CUPTI_ACTIVITY_KIND_RUNTIME ? sizeof(CUpti_ActivityAPI) : sizeof(Kernel);
  }
  if (at >= buffer + valid_bytes) return cupti_result::max_limit_reached;
  *record = at;
  return cupti_result::success;
}

const char* name_of(std::size_t i) {
  static std::vector<std::string> names;
  if (names.empty()) {
    for (int n = 0; n < 100; ++n) {
      names.push_back("_ZN2at6native29vectorized_elementwise_kernelILi" + std::to_string(n) +
                      "EZZZNS0_15gelu_kernelEvE");
    }
  }
  return names[i % names.size()].c_str();
}

std::vector<std::uint8_t> make_buffer() {
  std::vector<std::uint8_t> bytes(pairs_in_buffer * (sizeof(CUpti_ActivityAPI) + sizeof(Kernel)));
  std::uint8_t* at = bytes.data();
  for (std::size_t i = 0; i < pairs_in_buffer; ++i) {
    const auto id = static_cast<std::uint32_t>(i + 1);
    CUpti_ActivityAPI call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = 211;
    call.threadId = 4000;
    call.correlationId = id;
    call.start = base_ns + i * 4000;
    call.end = call.start + 3000;
    Kernel kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.registersPerThread = 32;
    kernel.start = call.start + 10'000;
    kernel.end = kernel.start + 3500;
    kernel.contextId = 1;
    kernel.streamId = 7;
    kernel.gridX = static_cast<int>(64 + i % 200);
    kernel.gridY = kernel.gridZ = kernel.blockY = kernel.blockZ = 1;
    kernel.blockX = 256;
    kernel.correlationId = id;
    kernel.name = name_of(i);
    std::memcpy(at, &call, sizeof call);
    std::memcpy(at + sizeof call, &kernel, sizeof kernel);
    at += sizeof call + sizeof kernel;
  }
  return bytes;
}

class Job {
 public:
  explicit Job(std::uint64_t records) {
    const std::uint64_t chunks = records / ring::records_per_chunk + 8;
    const ring::Sizes sizes = ring::divide(chunks * ring::chunk_bytes * 9 / 8);
    bytes_ = sizes.file_bytes;
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ring = ring::format(memory, sizes);
    ring::target.ring = ring;
    ring::target.generation.fetch_add(1);
    CuptiFunctions functions;
    functions.get_callback_name = callback_name;
    api_.learn(functions);
    reader = std::make_unique<RecordReader>(ring, newest_version, next_of_pair, api_);
  }
  ~Job() {
    reader.reset();
    ring::target.ring = ring::Ring();
    ring::target.generation.fetch_add(1);
    munmap(&ring.header(), bytes_);
  }
  void read(std::vector<std::uint8_t>& buffer, std::uint64_t records) {
    for (std::uint64_t done = 0; done < records; done += 2 * pairs_in_buffer) {
      reader->read(buffer.data(), buffer.size());
    }
  }

  ring::Ring ring;
  std::unique_ptr<RecordReader> reader;

 private:
  std::uint64_t bytes_ = 0;
  ApiFunctions api_;
};

constexpr std::uint64_t records = 500'000;

double seconds_since(std::uint64_t start_ns) {
  return static_cast<double>(event::clock_ns(CLOCK_MONOTONIC) - start_ns) * 1e-9;
}

void convert(benchmark::State& state) {
  std::vector<std::uint8_t> buffer = make_buffer();
  for (auto _ : state) {
    Job job(records);
    const std::uint64_t start_ns = event::clock_ns(CLOCK_MONOTONIC);
    job.read(buffer, records);
    state.SetIterationTime(seconds_since(start_ns));
    if (job.reader->counts().written != records) state.SkipWithError("not all were converted");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(records));
}
BENCHMARK(convert)->UseManualTime()->Unit(benchmark::kMillisecond);

void prepare_file(const ring::Ring& ring, const std::string& folder) {
  ring::Header& header = ring.header();
  header.nominal_ns_per_tick = 1;
  ring::add_anchor(ring.header(), {1'000'000, base_ns, 20});
  header.identity.output_folder = ring.add_name(folder);
  header.identity.file_template = ring.add_name("rank{rank}.json");
  header.identity.options_json = ring.add_name("{}");
  header.identity.overwrite_files = 1;
  header.device.source.store(ring::DeviceSource::cupti);
  header.device.recording_since_ns.store(1);
  ring::Window& window = header.windows[0];
  window.begin_ticks.store(1'000'000);
  window.end_ticks.store(UINT64_MAX / 4);
  window.is_startup = 1;
  window.state.store(ring::WindowState::closed);
}

// Every launch's own correlation id, and times that go on from buffer to buffer.
void renumber(std::vector<std::uint8_t>& buffer) {
  constexpr std::uint32_t more = pairs_in_buffer;
  constexpr std::uint64_t later_ns = pairs_in_buffer * 4000;
  void* at = nullptr;
  while (next_of_pair(buffer.data(), buffer.size(), &at) == cupti_result::success) {
    const auto add = [&](std::size_t offset, auto value) {
      decltype(value) old;
      std::memcpy(&old, static_cast<std::uint8_t*>(at) + offset, sizeof old);
      old = static_cast<decltype(value)>(old + value);
      std::memcpy(static_cast<std::uint8_t*>(at) + offset, &old, sizeof old);
    };
    std::uint32_t kind;
    std::memcpy(&kind, at, sizeof kind);
    const bool is_call = kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    add(is_call ? api_record::correlation : kernel_record::correlation, more);
    add(is_call ? api_record::start : kernel_record::start, later_ns);
    add(is_call ? api_record::end : kernel_record::end, later_ns);
  }
}

void convert_and_write(benchmark::State& state) {
  const char* chosen = std::getenv("TMPDIR");
  const std::string folder = std::string(chosen != nullptr ? chosen : "/dev/shm") +
                             "/traceagent-bench-" + std::to_string(getpid());
  for (auto _ : state) {
    std::vector<std::uint8_t> buffer = make_buffer();
    Job job(records);
    prepare_file(job.ring, folder);
    double seconds = 0;
    for (std::uint64_t done = 0; done < records; done += 2 * pairs_in_buffer) {
      const std::uint64_t start_ns = event::clock_ns(CLOCK_MONOTONIC);
      job.reader->read(buffer.data(), buffer.size());
      seconds += seconds_since(start_ns);
      renumber(buffer);
    }
    const std::uint64_t start_ns = event::clock_ns(CLOCK_MONOTONIC);
    const drain::RankFileReport report =
        drain::write_rank_file(job.ring, job.ring.header().windows[0], {});
    state.SetIterationTime(seconds + seconds_since(start_ns));
    if (!report.problem.empty() || report.events < records) {
      state.SkipWithError(report.problem.empty() ? "events lack" : report.problem.c_str());
    }
  }
  std::filesystem::remove_all(folder);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(records));
}
BENCHMARK(convert_and_write)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace traceagent::device
