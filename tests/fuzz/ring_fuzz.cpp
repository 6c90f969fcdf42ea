// A ring file with any bytes changed, recovered: no crash, no file beside the output folder, and
// the files that come of it are JSON. The input is a list of changes: where, how many bytes, which.
#include <filesystem>
#include <string>

#include "agent/drain/recover_ring.hpp"
#include "agent/ring/ring_file.hpp"
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

std::string changed(std::string_view ring_bytes, fuzz::Input& input) {
  std::string bytes(ring_bytes);
  for (std::size_t i = 0; i < most_changes && !input.empty(); ++i) {
    const std::size_t at = place(input.number<std::uint32_t>(), bytes.size());
    const std::string_view part = input.take(1 + input.number<std::uint8_t>() % 16);
    bytes.replace(at, std::min(part.size(), bytes.size() - at), part.substr(0, bytes.size() - at));
  }
  return bytes;
}

// Where its files go is the user's word: whoever can write that can write the files themselves.
void keep_identity_texts(std::string& bytes, std::string_view original) {
  const std::size_t at = offsetof(ring::Header, identity) + offsetof(ring::IdentityBlock, run_name);
  const std::size_t end = offsetof(ring::Header, identity) + offsetof(ring::IdentityBlock, gzip);
  bytes.replace(at, end - at, original.substr(at, end - at));
  const auto& header = *reinterpret_cast<const ring::Header*>(original.data());
  const std::size_t names_at = header.names_offset;
  bytes.replace(names_at, fuzz::identity_names_bytes,
                original.substr(names_at, fuzz::identity_names_bytes));
  auto& changed_header = *reinterpret_cast<ring::Header*>(bytes.data());
  changed_header.names_offset = header.names_offset;
  changed_header.names_bytes = header.names_bytes;
  changed_header.chunks_offset = header.chunks_offset;
  changed_header.identity.checksum = ring::identity_checksum(ring::Ring(bytes.data()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  static const std::string original = fuzz::sample_ring(scratch.path("out"));
  scratch.clear();
  fuzz::Input input(data, size);
  const bool is_consistent = (input.number<std::uint8_t>() & 1) == 0;
  std::string bytes = changed(original, input);
  if (is_consistent) keep_identity_texts(bytes, original);
  const std::string path = scratch.path("rank3.ring");
  fuzz::write_file(path, bytes);
  const drain::Recovered recovered = drain::recover_ring(path);
  for (const std::string& problem : recovered.problems) fuzz::expect_one_line(problem);
  for (const drain::RecoveredFile& file : recovered.files) {
    if (!file.path.starts_with(scratch.path("out/"))) fuzz::fail("wrote " + file.path);
    fuzz::expect_json(file.path);
  }
  scratch.check();
  return 0;
}
