#include "tests/faults/place_table.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace traceagent::faults {
namespace {
constinit PlaceTable own_table{};
}

PlaceTable& map_table(const char* path) noexcept {
  const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return own_table;
  const bool has_size = ftruncate(fd, sizeof(PlaceTable)) == 0;
  void* memory = has_size
                     ? mmap(nullptr, sizeof(PlaceTable), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
  close(fd);
  return memory == MAP_FAILED ? own_table : *static_cast<PlaceTable*>(memory);
}

Place& place_of(PlaceTable& table, std::size_t function, std::uint64_t offset) noexcept {
  const std::uint64_t key = std::uint64_t{function} << 48 | offset;
  for (std::size_t tried = 0; tried < place_count; ++tried) {
    Place& place = table.places[(offset + function + tried) % place_count];
    std::uint64_t found = place.key.load(std::memory_order_relaxed);
    if (found == 0 && place.key.compare_exchange_strong(found, key)) return place;
    if (found == key) return place;
  }
  _exit(119);
}

}  // namespace traceagent::faults
