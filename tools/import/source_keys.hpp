#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/trace_reader.hpp"

namespace traceagent::tools {

// What tells the rank files of a job apart, however another program writes their names: the rank
// and where its times begin; of what was imported the content.
std::string source_key(std::int64_t rank, std::int64_t base_ns);
// Of all that one file became: `content` is its mark, with or without the number of a run.
std::string content_key(std::string_view content);
// Of "sources", a JSON array.
std::vector<std::string> source_keys(std::string_view sources);
// Of a file of ours.
std::vector<std::string> source_keys(const trace::TraceHeader& header);

// As our own writer has them, whatever another program made of the spaces.
std::string normal_source(std::string_view name, std::int64_t rank, std::int64_t base_ns);
std::vector<std::string> normal_sources(std::string_view sources);

}  // namespace traceagent::tools
