// Any bytes as a trace file, plain or gzip: the reader ends, and names what is wrong in one line.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "agent/trace/trace_reader.hpp"

namespace {

// A file that is nowhere but in memory.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(memfd_create("trace", 0)) {
    if (descriptor_ < 0 || write(descriptor_, data, size) != static_cast<ssize_t>(size)) {
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using traceagent::trace::TraceLine;
  const MemoryFile file(data, size);
  traceagent::trace::TraceReader reader;
  bool opened = reader.open(file.path());
  while (opened && reader.next().kind != TraceLine::Kind::end) {
  }
  const bool is_named = !reader.problem().empty();
  if ((!opened && !is_named) || reader.problem().find('\n') != std::string::npos) {
    std::abort();
  }
  return 0;
}
