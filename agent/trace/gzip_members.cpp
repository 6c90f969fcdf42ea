#include "agent/trace/gzip_members.hpp"

#include "agent/trace/zlib_memory.hpp"

namespace traceagent::trace {

namespace {
constexpr std::size_t output_bytes = std::size_t{128} << 10;
constexpr int window_bits_gzip = 15 + 16;  // zlib: + 16 asks for gzip framing
constexpr int memory_level = 8;
}  // namespace

GzipMembers::GzipMembers(int level) {
  use_held_memory(stream_);
  output_.reset(static_cast<char*>(event::held_malloc(output_bytes)));
  ready_ = output_ && deflateInit2(&stream_, level, Z_DEFLATED, window_bits_gzip, memory_level,
                                   Z_DEFAULT_STRATEGY) == Z_OK;
}

GzipMembers::~GzipMembers() {
  if (ready_) {
    deflateEnd(&stream_);
  }
}

bool GzipMembers::begin(std::string_view text) {
  if (!ready_ || deflateReset(&stream_) != Z_OK) {
    return false;
  }
  // zlib's interface wants a non-const pointer but does not write through it.
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream_.avail_in = static_cast<uInt>(text.size());
  return true;
}

bool GzipMembers::next_piece(std::size_t& size, bool& more) {
  stream_.next_out = reinterpret_cast<Bytef*>(output_.get());
  stream_.avail_out = static_cast<uInt>(output_bytes);
  const int result = deflate(&stream_, Z_FINISH);
  size = output_bytes - stream_.avail_out;
  more = result != Z_STREAM_END;
  return result == Z_STREAM_END || result == Z_OK || result == Z_BUF_ERROR;
}

}  // namespace traceagent::trace
