// What a trace file of the soak holds, line by line and without any code of the agent's: JSON on
// standard output. Files are large: Python would take minutes.
//
//   count_events TRACE
//
// {"events": of all kinds, "gpu_memsets": …, "steps": ProfilerStep spans, "marks":
// synchronizations,
//  "threads": {"<pid>/<tid>": {"first", "last", "count", "wrong",
//  "memsets"}}, "head": what stands before the
//  events, "tail": what stands behind them}
//
// Numbered events of a thread rise by one. count < last - first + 1: some are missing. wrong: those
// that come again or too late.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace {

constexpr std::uint64_t memset_bytes = 4096;  // see soak_rank.cpp

struct Thread {
  std::uint64_t first = 0, last = 0, count = 0, wrong = 0, memsets = 0;

  void add(std::uint64_t number) {
    if (count > 0 && number <= last) {
      ++wrong;
      return;
    }
    if (count == 0) first = number;
    last = number;
    ++count;
  }

  // Of a memset only the rest is known: it is the next number with that rest. Where more than that
  // are missing it is taken for an earlier one, and the count is right all the same.
  void add_rest(std::uint64_t rest) {
    ++memsets;
    const std::uint64_t number = last - last % memset_bytes + rest;
    add(count > 0 && number <= last ? number + memset_bytes : number);
  }
};

struct Counts {
  std::uint64_t events = 0, gpu_memsets = 0, steps = 0, marks = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Thread> threads;
};

constexpr std::uint64_t none = ~std::uint64_t{0};

// The number behind `key`, or none.
std::uint64_t number_of(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return none;
  return std::strtoull(line.data() + at + key.size(), nullptr, 10);
}

void count_line(std::string_view line, Counts& counts) {
  if (line.find("\"ph\":\"M\"") != std::string_view::npos) return;
  ++counts.events;
  // Half of the lines are arrows between a call and its work.
  if (line.substr(0, 100).find("\"cat\":\"ac2g\"") != std::string_view::npos) return;
  if (line.find("\"cat\":\"gpu_memset\"") != std::string_view::npos &&
      line.find("\"ph\":\"X\"") != std::string_view::npos) {
    ++counts.gpu_memsets;
    return;
  }
  if (line.find("\"name\":\"ProfilerStep#") != std::string_view::npos) {
    ++counts.steps;
    return;
  }
  const bool is_mark = line.find("\"name\":\"cudaDeviceSynchronize\"") != std::string_view::npos;
  const bool is_memset = line.find("\"name\":\"cudaMemsetAsync\"") != std::string_view::npos;
  const std::uint64_t payload = number_of(line, "\"payload\":");
  // Found no room in the ring, and is counted there: CUPTI alone saw that it was made.
  if (line.find("\"seen by\"") != std::string_view::npos) return;
  counts.marks += is_mark ? 1 : 0;
  if (!is_memset && payload == none) return;
  constexpr std::uint64_t spill = 10'000'000;  // lanes of what overlaps on one thread
  Thread& thread =
      counts.threads[{number_of(line, "\"pid\":"), number_of(line, "\"tid\":") % spill}];
  if (is_memset) {
    thread.add_rest(number_of(line, "\"bytes\":") - 1);
  } else {
    thread.add(payload);
  }
}

std::string in_json(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c) & 0xffU);
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

void print(const Counts& counts, const std::string& head, const std::string& tail) {
  std::printf("{\"events\": %" PRIu64 ", \"gpu_memsets\": %" PRIu64 ", \"steps\": %" PRIu64
              ", \"marks\": %" PRIu64 ", \"threads\": {",
              counts.events, counts.gpu_memsets, counts.steps, counts.marks);
  const char* comma = "";
  for (const auto& [where, thread] : counts.threads) {
    std::printf("%s\"%" PRIu64 "/%" PRIu64 "\": {\"first\": %" PRIu64 ", \"last\": %" PRIu64
                ", \"count\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"memsets\": %" PRIu64 "}",
                comma, where.first, where.second, thread.first, thread.last, thread.count,
                thread.wrong, thread.memsets);
    comma = ", ";
  }
  std::printf("}, \"head\": %s, \"tail\": %s}\n", in_json(head).c_str(), in_json(tail).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* file = argc == 2 ? std::fopen(argv[1], "re") : nullptr;
  if (file == nullptr) return 2;
  Counts counts;
  std::string head, tail;
  enum { before, within, behind } place = before;
  char* line = nullptr;
  std::size_t room = 0;
  for (ssize_t size = 0; (size = getline(&line, &room, file)) > 0;) {
    const std::string_view text(line, static_cast<std::size_t>(size));
    if (place == within && text.starts_with(']')) place = behind;
    if (place == before) head += text;
    if (place == within) count_line(text, counts);
    if (place == behind) tail += text;
    if (place == before && text.starts_with("\"traceEvents\"")) place = within;
  }
  std::free(line);
  std::fclose(file);
  print(counts, head, tail);
  return place == behind ? 0 : 1;
}
