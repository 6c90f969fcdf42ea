#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/trace/document.hpp"
#include "agent/trace/event_writer.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::trace {

// What a rank file is made of; every event is named e<n> after its place.
struct SampleTrace {
  std::int64_t rank = 0;
  std::int64_t base_ns = 1700000000000000000;
  std::vector<std::int64_t> times_ns = {};
  std::string metadata = {};  // empty: {"rank": <rank>, "events": <n>}
  std::int64_t pid = -1;      // -1: the rank
  std::string thread = "main";
  std::string name = {};  // of the trace; empty: the file's
  bool gzip = false;
  bool complete = true;
  std::string run_key = {};
  std::int64_t node_rank = 0;
};

inline std::string write_sample(const std::string& path, const SampleTrace& sample) {
  OutputFile file;
  EXPECT_TRUE(file.open(path, {.gzip = sample.gzip})) << file.error();
  DocumentHeader header;
  header.rank = sample.rank;
  header.world_size = 4;
  header.backend = "nccl";
  header.base_ns = sample.base_ns;
  header.run_key = sample.run_key;
  header.node_rank = sample.node_rank;
  header.trace_name = sample.name.empty() ? path.substr(path.rfind('/') + 1) : sample.name;
  write_header(file, header);
  EventWriter events(file, sample.pid < 0 ? sample.rank : sample.pid);
  events.process_name("rank " + std::to_string(sample.rank));
  events.thread_name(7, sample.thread);
  for (std::size_t i = 0; i < sample.times_ns.size(); ++i) {
    events.complete("e" + std::to_string(i), "cat", 7, sample.times_ns[i], 1);
    events.arg("rank", sample.rank);
    events.end();
  }
  const std::string usual = "{\"rank\": " + std::to_string(sample.rank) +
                            ", \"events\": " + std::to_string(sample.times_ns.size()) + "}";
  write_footer(file, sample.metadata.empty() ? usual : sample.metadata, sample.complete);
  EXPECT_TRUE(file.finish()) << file.error();
  return path;
}

// All that a reader gives: times are absolute.
struct ReadTrace {
  TraceHeader header;
  std::vector<std::string> metadata_events;
  std::vector<std::string> events;
  std::vector<std::int64_t> times_ns;
  TraceFooter footer;
  std::map<std::string, std::uint64_t> lost;
  std::string problem;
};

inline ReadTrace read_trace(const std::string& path) {
  ReadTrace result;
  TraceReader reader;
  if (reader.open(path)) {
    TraceLine line;
    while ((line = reader.next()).kind != TraceLine::Kind::end) {
      const bool event = line.kind == TraceLine::Kind::event;
      (event ? result.events : result.metadata_events).emplace_back(line.text);
      if (event) {
        result.times_ns.push_back(reader.header().base_ns + line.ts_ns);
      }
    }
  }
  result.header = reader.header();
  result.footer = reader.footer();
  result.lost = reader.lost();
  result.problem = reader.problem();
  return result;
}

}  // namespace traceagent::trace
