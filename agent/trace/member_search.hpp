#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace traceagent::trace {

// Where a gzip file can be read again behind damage: at its next member, found by its first bytes
// and by the text that comes of it. The work is bounded by the size of the file: one that is made
// to look like members everywhere is given up.
class MemberSearch {
 public:
  explicit MemberSearch(std::uint64_t file_bytes) : most_work_(first_work + 64 * file_bytes) {}

  // A member that turned out to be damaged was read as far as `stream` tells.
  void count(const z_stream& stream) { work_ += stream.total_in + stream.total_out; }

  [[nodiscard]] bool is_given_up() const { return work_ >= most_work_; }

  // The first member from `from` on. `stream` and `buffer` are free to be used; nothing is kept in
  // them.
  [[nodiscard]] std::optional<std::uint64_t> next(int descriptor, std::uint64_t from,
                                                  z_stream& stream, Bytef* buffer,
                                                  std::size_t buffer_bytes);

 private:
  static constexpr std::uint64_t first_work = std::uint64_t{64} << 20;

  std::size_t find_in(Bytef* buffer, std::size_t bytes, std::size_t most, z_stream& stream);
  bool begins_at(Bytef* at, std::size_t bytes, z_stream& stream);

  std::uint64_t most_work_;
  std::uint64_t work_ = 0;  // bytes that were read, inflated and made in vain
};

}  // namespace traceagent::trace
