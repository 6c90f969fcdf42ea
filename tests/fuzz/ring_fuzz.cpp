// A ring file with any bytes changed, or made holes, recovered: no crash, no file beside the output
// folder, and the files that come of it are JSON. The input is what stands in the ring's list, if
// anything, where its holes are, if any, and a list of changes: where, how many bytes, which.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "agent/drain/recover_ring.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/ring/written_files.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/json_check.hpp"
#include "tests/fuzz/ring_parts.hpp"
#include "tests/fuzz/sample_ring.hpp"
#include "tests/fuzz/scratch.hpp"

namespace {

using namespace traceagent;

constexpr std::size_t most_changes = 64;
constexpr std::size_t page_bytes = 4096;

// The input's first byte.
constexpr std::uint8_t inconsistent = 1, with_list = 2, with_holes = 4;

// The ring's file stays, mapped, from run to run: a reader maps it privately and changes nothing.
class RingFile {
 public:
  explicit RingFile(std::string path, const std::string& output_folder)
      : path_(std::move(path)), original_(fuzz::sample_ring(output_folder)) {
    fuzz::write_file(path_, original_);
    const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    void* memory = mmap(nullptr, original_.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || memory == MAP_FAILED) fuzz::fail("cannot map " + path_);
    fd_ = fd;
    bytes_ = static_cast<char*>(memory);
  }
  ~RingFile() {
    munmap(bytes_, original_.size());
    close(fd_);
  }
  RingFile(const RingFile&) = delete;
  RingFile& operator=(const RingFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  void put_back() { std::memcpy(bytes_, original_.data(), original_.size()); }
  void make_holes(fuzz::Input& input);
  void fill_holes();
  void change(fuzz::Input& input);
  void keep_identity_texts();

 private:
  void keep(std::size_t at, std::size_t size) {
    std::memcpy(bytes_ + at, original_.data() + at, size);
  }

  const std::string path_, original_;
  int fd_ = -1;
  char* bytes_ = nullptr;
};

// A page each. What is changed in one makes it a page again.
void RingFile::make_holes(fuzz::Input& input) {
  for (const char page : input.take(input.number<std::uint8_t>())) {
    const std::size_t at = static_cast<unsigned char>(page) * page_bytes;
    if (fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                  page_bytes) != 0)
      fuzz::fail("no hole can be made");
  }
}

// To write to one makes it a page, of zeros.
void RingFile::fill_holes() {
  for (std::size_t at = 0; at < original_.size(); at += page_bytes) {
    auto* const byte = const_cast<volatile char*>(bytes_ + at);
    *byte = *byte;
  }
}

void RingFile::change(fuzz::Input& input) {
  const auto parts = fuzz::parts_of(*reinterpret_cast<const ring::Header*>(original_.data()));
  for (std::size_t i = 0; i < most_changes && !input.empty(); ++i) {
    const fuzz::Part& in = parts[input.number<std::uint8_t>() % parts.size()];
    const std::size_t at = in.begin + input.number<std::uint32_t>() % (in.end - in.begin);
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

drain::Recovered recover(const std::string& ring) {
  const drain::Recovered recovered = drain::recover_ring(ring);
  for (const std::string& problem : recovered.problems) fuzz::expect_one_line(problem);
  for (const std::string& note : recovered.notes) fuzz::expect_one_line(note);
  return recovered;
}

// A damaged ring's files are bounded by its size, which is less where it has holes.
bool is_too_large(const drain::Recovered& recovered) {
  const auto& problems = recovered.problems;
  return std::any_of(problems.begin(), problems.end(), [](const std::string& problem) {
    return problem.find("--any-size") != std::string::npos;
  });
}

void expect_same(const drain::Recovered& one, const drain::Recovered& other) {
  if (is_too_large(one) || is_too_large(other)) return;
  const bool is_same = one.events() == other.events() && one.files.size() == other.files.size() &&
                       one.problems.size() == other.problems.size();
  if (!is_same) fuzz::fail("with holes it is another ring than without");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  static RingFile file(scratch.path("rank3.ring"), scratch.path("out"));
  fuzz::Input input(data, size);
  const auto kind = input.number<std::uint8_t>();
  std::string_view list;
  if ((kind & with_list) != 0) list = input.take(input.number<std::uint8_t>());
  const auto begin = [&] {
    scratch.clear(file.path());
    if ((kind & with_list) != 0) write_list(file.path(), list);
  };
  begin();
  file.put_back();
  if ((kind & with_holes) != 0) file.make_holes(input);
  file.change(input);
  if ((kind & inconsistent) == 0) file.keep_identity_texts();
  const drain::Recovered recovered = recover(file.path());
  for (const drain::RecoveredFile& each : recovered.files) {
    if (!each.path.starts_with(scratch.path("out/"))) fuzz::fail("wrote " + each.path);
    fuzz::expect_json(each.path);
  }
  scratch.check();
  if ((kind & with_holes) != 0) {
    begin();
    file.fill_holes();
    expect_same(recovered, recover(file.path()));
  }
  return 0;
}
