#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/trace/json_object.hpp"

namespace traceagent::tools {

// A file of events (SortedRuns') that becomes one of our own form.
struct RunFile {
  // Room for the header, which is known when all events have been read. One line at least is
  // padding; LineReader takes up to 1 MiB.
  static constexpr std::size_t head_bytes = std::size_t{64} << 10;

  std::string path;
  std::string name;
  std::int64_t base_ns = 0;
  std::vector<std::int64_t> ranks;
  std::string content;            // of what file, and which run of it
  trace::JsonObject identity;     // ForeignFile::identity_json(), of the file
  std::string older_states = {};  // ForeignFile::set_older_states()
  // From when until when it has events, again and again, relative to the base: where nothing of it
  // but that tells of clocks, it need not be read for them (clocks/clock_nodes.cpp). Or empty.
  std::vector<std::int64_t> quiet_ns = {};

  std::string host = {};         // whose clock it is of; or empty
  std::string corrections = {};  // JSON, "clock_corrections" of a file of ours; or empty
  std::string clock = {};        // JSON, MergedClock; or empty

  // Writes what stands before and behind the events. An errno; 0: all is well.
  [[nodiscard]] int complete() const;
  // Makes a file of that alone, for events that are made while they are read (EventSource).
  [[nodiscard]] int write_without_events() const;
};

// Several runs as one, until there are few: each open file of a merge costs a buffer. Files that
// went into others are removed. `clock`: RunFile's.
std::vector<std::string> merge_runs(std::vector<std::string> paths, const std::string& prefix,
                                    const std::string& name, const std::string& clock);

}  // namespace traceagent::tools
