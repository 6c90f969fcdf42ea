#include "agent/drain/written_window.hpp"

#include <sys/stat.h>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::drain {
namespace {

bool is_regular_file(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

bool open(trace::TraceReader& reader, const std::string& file) {
  return is_regular_file(file) && reader.open(file);
}

void pass_events(trace::TraceReader& reader) {
  while (reader.next().kind != trace::TraceLine::Kind::end) {
  }
}

bool is_of_run(const trace::TraceHeader& header, const ring::Ring& ring) {
  const ring::IdentityBlock& identity = ring.header().identity;
  const auto key = trace::string_member(header.distributed_info, "run_key").value_or("");
  return header.rank == identity.rank && header.sources.empty() &&
         key == ring.name(identity.run_key);
}

}  // namespace

bool holds_window(const std::string& file, const ring::Ring& ring, const ring::Window& window) {
  trace::TraceReader reader;
  if (!open(reader, file) || !is_of_run(reader.header(), ring)) return false;
  pass_events(reader);
  const std::string& about = reader.footer().metadata;
  const auto number = [&](const char* object, const char* key) {
    const std::string_view text = trace::member(about, object).value_or("");
    return trace::integer_member(text, key).value_or(-1);
  };
  // A program that executes itself again keeps its pid and counts its cycles anew.
  const auto begin_ticks =
      static_cast<std::int64_t>(window.begin_ticks.load(std::memory_order_relaxed));
  return reader.footer().closed && reader.problem().empty() &&
         number("identity", "pid") == ring.header().owner_pid &&
         number("window", "cycle") == window.cycle &&
         number("window", "begin_ticks") == begin_ticks;
}

bool is_of_run(const std::string& file, const ring::Ring& ring) {
  trace::TraceReader reader;
  return open(reader, file) && is_of_run(reader.header(), ring);
}

bool is_of_owner(const std::string& file, const ring::Ring& ring) {
  trace::TraceReader reader;
  if (!open(reader, file) || !is_of_run(reader.header(), ring)) return false;
  pass_events(reader);
  return reader.footer().complete;
}

}  // namespace traceagent::drain
