#include "agent/trace/member_search.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "agent/event/uninterrupted.hpp"

namespace traceagent::trace {

namespace {
constexpr std::string_view member_begin = "\x1f\x8b\x08";  // gzip, deflate
// So much of a member is looked at. What is none fails within a few bytes.
constexpr std::size_t most_tried_bytes = std::size_t{16} << 10;
constexpr std::size_t enough_text_bytes = 512;
constexpr std::uint64_t work_of_try = 256;  // beside what is inflated

// Fewer bytes only at the end of the file, or where it cannot be read.
std::size_t read_at(int descriptor, std::uint64_t offset, Bytef* to, std::size_t bytes) {
  std::size_t done = 0;
  ssize_t got = 1;
  while (done < bytes && got > 0) {
    got = event::uninterrupted([&] {
      return pread(descriptor, to + done, bytes - done, static_cast<off_t>(offset + done));
    });
    done += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return done;
}
}  // namespace

bool MemberSearch::begins_at(Bytef* at, std::size_t bytes, z_stream& stream) {
  if (inflateReset(&stream) != Z_OK) return false;
  std::array<Bytef, enough_text_bytes> text;
  stream.next_in = at;
  stream.avail_in = static_cast<uInt>(std::min(bytes, most_tried_bytes));
  stream.next_out = text.data();
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&stream, Z_NO_FLUSH);
  work_ += work_of_try + stream.total_in + stream.total_out;
  // A shorter one was read to its end, and its CRC is right.
  return result == Z_STREAM_END || (result == Z_OK && stream.avail_out == 0);
}

// Where a member begins in the first `most` bytes; `most`: none does.
std::size_t MemberSearch::find_in(Bytef* buffer, std::size_t bytes, std::size_t most,
                                  z_stream& stream) {
  std::size_t at = 0;
  while (at < most && !is_given_up()) {
    const void* const found =
        memmem(buffer + at, bytes - at, member_begin.data(), member_begin.size());
    if (found == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const Bytef*>(found) - buffer);
    if (at < most && begins_at(buffer + at, bytes - at, stream)) return at;
    ++at;
  }
  return most;
}

std::optional<std::uint64_t> MemberSearch::next(int descriptor, std::uint64_t from,
                                                z_stream& stream, Bytef* buffer,
                                                std::size_t buffer_bytes) {
  while (!is_given_up()) {
    const std::size_t bytes = read_at(descriptor, from, buffer, buffer_bytes);
    work_ += bytes;
    const bool is_last = bytes < buffer_bytes;
    // What begins further back is looked at with more behind it.
    const std::size_t most = is_last ? bytes : bytes - most_tried_bytes;
    const std::size_t at = find_in(buffer, bytes, most, stream);
    if (at < most) return from + at;
    if (is_last) break;
    from += most;
  }
  return std::nullopt;
}

}  // namespace traceagent::trace
