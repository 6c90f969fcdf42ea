// A ring file with any bytes changed, recovered: no crash, no file beside the output folder, and
// the files that come of it are JSON. The input is what stands in the ring's list, if anything, and
// a list of changes: where, how many bytes, which.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "agent/drain/recover_ring.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/ring/written_files.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/json_check.hpp"
#include "tests/fuzz/sample_ring.hpp"
#include "tests/fuzz/scratch.hpp"

namespace {

using namespace traceagent;

constexpr std::size_t most_changes = 64;

// Half of the changes go where the fields are, not into the records' expanse.
std::size_t place(std::uint32_t wanted, std::size_t bytes) {
  const std::size_t header = offsetof(ring::Header, steps);
  return (wanted & 1) != 0 ? (wanted >> 1) % header : (wanted >> 1) % bytes;
}

// The ring's file stays, mapped, from run to run: a reader maps it privately and changes nothing.
class RingFile {
 public:
  explicit RingFile(std::string path, const std::string& output_folder)
      : path_(std::move(path)), original_(fuzz::sample_ring(output_folder)) {
    fuzz::write_file(path_, original_);
    const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    void* memory = mmap(nullptr, original_.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || memory == MAP_FAILED) fuzz::fail("cannot map " + path_);
    close(fd);
    bytes_ = static_cast<char*>(memory);
  }
  ~RingFile() { munmap(bytes_, original_.size()); }
  RingFile(const RingFile&) = delete;
  RingFile& operator=(const RingFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  void put_back() { std::memcpy(bytes_, original_.data(), original_.size()); }
  void change(fuzz::Input& input);
  void keep_identity_texts();

 private:
  void keep(std::size_t at, std::size_t size) {
    std::memcpy(bytes_ + at, original_.data() + at, size);
  }

  const std::string path_, original_;
  char* bytes_ = nullptr;
};

void RingFile::change(fuzz::Input& input) {
  for (std::size_t i = 0; i < most_changes && !input.empty(); ++i) {
    const std::size_t at = place(input.number<std::uint32_t>(), original_.size());
    const std::string_view part = input.take(1 + input.number<std::uint8_t>() % 16);
    std::memcpy(bytes_ + at, part.data(), std::min(part.size(), original_.size() - at));
  }
}

// Where its files go is the user's word: whoever can write that can write the files themselves.
void RingFile::keep_identity_texts() {
  const std::size_t at = offsetof(ring::Header, identity) + offsetof(ring::IdentityBlock, run_name);
  const std::size_t end = offsetof(ring::Header, identity) + offsetof(ring::IdentityBlock, gzip);
  keep(at, end - at);
  const auto& original = *reinterpret_cast<const ring::Header*>(original_.data());
  keep(original.names_offset, fuzz::identity_names_bytes);
  auto& header = *reinterpret_cast<ring::Header*>(bytes_);
  header.names_offset = original.names_offset;
  header.names_bytes = original.names_bytes;
  header.chunks_offset = original.chunks_offset;
  header.identity.checksum = ring::identity_checksum(ring::Ring(bytes_));
}

// With a list that has the uploads of files that waited for room in the queue; the input adds
// lines.
void write_list(const std::string& ring, std::string_view more) {
  std::string text;
  for (const char* file : {"a.json", "b \\\"1\\\".json"}) {
    text += std::string("{\"queue\": \"1.2-3-4\", \"file\": \"") + file +
            "\", \"target\": \"/there/a.json\", \"kind\": \"rank\", \"run\": \"r\"}\n";
  }
  fuzz::write_file(ring::written_files_path(ring), text + std::string(more));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  static RingFile file(scratch.path("rank3.ring"), scratch.path("out"));
  scratch.clear(file.path());
  file.put_back();
  fuzz::Input input(data, size);
  const auto kind = input.number<std::uint8_t>();
  const bool is_consistent = (kind & 1) == 0;
  constexpr int with_list = 0x4c;  // one that no older seed begins with
  if ((kind & ~1) == with_list) {
    write_list(file.path(), input.take(input.number<std::uint8_t>()));
  }
  file.change(input);
  if (is_consistent) file.keep_identity_texts();
  const drain::Recovered recovered = drain::recover_ring(file.path());
  for (const std::string& problem : recovered.problems) fuzz::expect_one_line(problem);
  for (const std::string& note : recovered.notes) fuzz::expect_one_line(note);
  for (const drain::RecoveredFile& file : recovered.files) {
    if (!file.path.starts_with(scratch.path("out/"))) fuzz::fail("wrote " + file.path);
    fuzz::expect_json(file.path);
  }
  scratch.check();
  return 0;
}
