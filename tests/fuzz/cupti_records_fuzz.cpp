// Any activity records, of any version of CUPTI, in a buffer that ends where they end.
#include <cstdlib>
#include <memory>

#include "agent/device/record_reader.hpp"
#include "agent/ring/writer.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace {

using namespace traceagent;

constexpr std::uint32_t versions[] = {12, 14, 16, 18, 20, 21, 22, 24, 26, 28, 120000, 130000};

// Records are as long as the input says, in multiples of 8.
std::size_t step_bytes = 24;

device::CuptiResult next(std::uint8_t* buffer, std::size_t valid_bytes, void** record) {
  const std::size_t at =
      *record == nullptr
          ? 0
          : static_cast<std::size_t>(static_cast<std::uint8_t*>(*record) - buffer) + step_bytes;
  if (at >= valid_bytes) return device::cupti_result::max_limit_reached;
  *record = buffer + at;
  return device::cupti_result::success;
}

// CUPTI's pointers are its own: they lead to a text or to nothing.
void set_name_pointers(std::uint8_t* bytes, std::size_t size) {
  static const char* const names[] = {nullptr, "", "_Z6squarePfi", "\x01\x80 \"name\""};
  constexpr std::size_t name_at = 104;
  for (std::size_t at = 0; at + name_at + sizeof(char*) <= size; at += step_bytes) {
    const char* name = names[bytes[at + name_at] % 4];
    std::uint32_t kind = 0;
    std::memcpy(&kind, bytes + at, sizeof kind);
    if (kind == 3 || kind == 10) std::memcpy(bytes + at + name_at, &name, sizeof name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint32_t version = versions[input.number<std::uint8_t>() % std::size(versions)];
  step_bytes = 24 + 8 * (input.number<std::uint8_t>() % 32);
  // Of its own, so that a read beyond its end is seen.
  const std::string_view bytes = input.rest();
  const auto buffer = std::make_unique<std::uint8_t[]>(bytes.size());
  std::memcpy(buffer.get(), bytes.data(), bytes.size());
  set_name_pointers(buffer.get(), bytes.size());
  const ring::MemoryRing memory(512 * 1024);
  ring::target.ring = memory.ring();
  ring::target.generation.fetch_add(1, std::memory_order_release);
  device::ApiFunctions functions;
  device::RecordReader reader(memory.ring(), version, next, functions);
  reader.set_shape(0, {132, 32});
  reader.read(buffer.get(), bytes.size());
  reader.discard(buffer.get(), bytes.size());
  reader.streams_json();
  ring::target.ring = ring::Ring();
  return 0;
}
