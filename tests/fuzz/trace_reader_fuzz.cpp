// Any bytes as a trace file, plain or gzip: the reader ends, names what is wrong in one line, and
// gives the same where it is read, and judged, beforehand.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "agent/event/hash.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using traceagent::trace::TraceLine;

// A file that is nowhere but in memory.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text) : descriptor_(memfd_create("trace", 0)) {
    if (descriptor_ < 0 ||
        write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      std::abort();
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// What is read beforehand is read when it is asked for, by who asks.
class NoThreads : public traceagent::trace::SideReads {
 public:
  void begin(Read& /*read*/) override {}
  void finish(Read& read) override { read.run(); }
};

// A form feed, which is in no trace, stands for lines of more than a block, so that a few bytes
// reach the blocks that are read beforehand; the first two do.
std::string text_of(traceagent::fuzz::Input input) {
  constexpr std::string_view line =
      "{\"ts\":1.000,\"dur\":2.000,\"ph\":\"X\",\"name\":\"filler\"},\n";
  std::string text(input.take_until('\f'));
  for (int blocks = 0; blocks < 2 && !input.empty(); ++blocks) {
    const std::size_t wanted = text.size() + traceagent::trace::AheadFile::block_bytes;
    while (text.size() < wanted) text += line;
    text += input.take_until('\f');
  }
  return text.append(input.rest());
}

struct Given {
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  // of what the reader gave, line by line
  std::uint64_t lost = 0;
  std::string problem;
  bool operator==(const Given&) const = default;
};

Given given_by(const std::string& path, bool is_beside) {
  Given given;
  NoThreads reads;
  traceagent::trace::TraceReader reader;
  if (reader.open(path)) {
    if (is_beside) reader.read_beside(reads);
    TraceLine line;
    while ((line = reader.next()).kind != TraceLine::Kind::end) {
      ++given.events;
      given.hash = given.hash * 31 + traceagent::event::hash_text(line.text) +
                   line.after_ts.size() + static_cast<std::uint64_t>(line.ts_ns);
    }
  } else if (reader.problem().empty()) {
    std::abort();
  }
  for (const auto& [cause, count] : reader.lost()) given.lost += count;
  given.problem = reader.problem() + reader.footer().metadata;
  if (reader.problem().find('\n') != std::string::npos) std::abort();
  return given;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(text_of({data, size}));
  if (given_by(file.path(), false) != given_by(file.path(), true)) std::abort();
  return 0;
}
