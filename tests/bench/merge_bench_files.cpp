// usage: merge_bench_files FOLDER RANKS EVENTS [plain|gzip]: rank<n>.json and rank<n>.json.gz, or
// one of them, of events of about 270 bytes as the NCCL door records a collective: what merge_bench
// merges.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "agent/trace/document.hpp"
#include "agent/trace/event_writer.hpp"

namespace traceagent::trace {
namespace {

// Spread like real times, so that gzip does not find more to save than it would there.
std::int64_t spread(std::int64_t i) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U >> 52);
}

void write_collective(EventWriter& events, std::int64_t i, std::int64_t ts_ns) {
  events.complete("ncclAllReduce", "collective_comm", 123456, ts_ns, 4321 + spread(i));
  events.arg("Collective name", "allreduce");
  events.arg("In msg nelems", 1048576 + i);
  events.arg("Out msg nelems", 1048576 + i);
  events.arg("dtype", "Float");
  events.arg("Group size", 8);
  events.arg("stream", Hex{0x55d0c0ffee00U});
  events.arg("Seq", i);
  events.end();
}

bool write_trace(const std::string& path, bool gzip, std::int64_t rank, std::int64_t count) {
  OutputFile file;
  if (!file.open(path, {.gzip = gzip})) {
    return false;
  }
  DocumentHeader header;
  header.rank = rank;
  header.world_size = 64;
  header.run_key = "bench";  // of one node, as all files of ours say: one clock
  header.base_ns = 1700000000000000000 + rank * 1234567;
  write_header(file, header);
  EventWriter events(file, rank);
  events.process_name("rank " + std::to_string(rank));
  for (std::int64_t i = 0; i < count; ++i) {
    write_collective(events, i, i * 5003 + spread(i + rank));
  }
  write_footer(file, "{\"rank\": " + std::to_string(rank) + "}");
  return file.finish();
}

}  // namespace
}  // namespace traceagent::trace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fputs("usage: merge_bench_files FOLDER RANKS EVENTS [plain|gzip]\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  const std::string only = argc == 5 ? argv[4] : "";
  for (std::int64_t rank = 0; rank < std::atoll(argv[2]); ++rank) {
    const std::string path = folder + "/rank" + std::to_string(rank) + ".json";
    const bool ok = (only == "gzip" ||
                     traceagent::trace::write_trace(path, false, rank, std::atoll(argv[3]))) &&
                    (only == "plain" ||
                     traceagent::trace::write_trace(path + ".gz", true, rank, std::atoll(argv[3])));
    if (!ok) {
      std::fprintf(stderr, "cannot write: %s\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
