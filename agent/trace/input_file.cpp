#include "agent/trace/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "agent/event/high_descriptor.hpp"

namespace traceagent::trace {

namespace {
constexpr std::size_t compressed_bytes = std::size_t{64} << 10;
constexpr std::size_t zlib_inflate_bytes = std::size_t{48} << 10;  // window and state, about
constexpr int window_bits_gzip = 15 + 16;                          // + 16: gzip framing only
}  // namespace

struct InputFile::Inflater {
  z_stream stream{};
  bool initialised = false;
  bool within_member = false;
  Bytef input[compressed_bytes];

  ~Inflater() {
    if (initialised) {
      inflateEnd(&stream);
    }
  }
};

InputFile::InputFile() = default;

InputFile::~InputFile() { close(); }

void InputFile::close() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  descriptor_ = -1;
  inflater_.reset();
}

bool InputFile::open(const std::string& path) {
  close();
  file_bytes_read_ = 0;
  descriptor_ = event::open_high(path.c_str(), O_RDONLY | O_NOCTTY);
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
    error_number_ = errno;
    return false;
  }
  if (S_ISDIR(status.st_mode)) {
    error_number_ = EISDIR;
    return false;
  }
  file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  unsigned char magic[2] = {0, 0};
  const bool is_gzip = pread(descriptor_, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  return !is_gzip || start_gzip();
}

bool InputFile::start_gzip() {
  inflater_.reset(new (std::nothrow) Inflater);
  if (!inflater_ || inflateInit2(&inflater_->stream, window_bits_gzip) != Z_OK) {
    error_number_ = ENOMEM;
    return false;
  }
  inflater_->initialised = true;
  return true;
}

std::size_t InputFile::memory_bytes() const {
  return inflater_ ? sizeof(Inflater) + zlib_inflate_bytes : 0;
}

InputFile::Status InputFile::read(char* to, std::size_t capacity, std::size_t& size) {
  size = 0;
  if (descriptor_ < 0) {
    error_number_ = EBADF;
    return Status::failed;
  }
  return inflater_ ? read_gzip(to, capacity, size) : read_system(to, capacity, size);
}

InputFile::Status InputFile::read_system(char* to, std::size_t capacity, std::size_t& size) {
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, to, capacity);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    error_number_ = errno;
    return Status::failed;
  }
  size = static_cast<std::size_t>(got);
  file_bytes_read_ += size;
  return got == 0 ? Status::end : Status::data;
}

InputFile::Status InputFile::read_gzip(char* to, std::size_t capacity, std::size_t& size) {
  z_stream& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(capacity);
  Status input = Status::data;
  while (stream.avail_out == capacity) {
    const Status status = inflate_some(input);
    size = capacity - stream.avail_out;
    if (status != Status::data) {
      return size > 0 ? Status::data : status;  // met again at the next call
    }
  }
  return Status::data;
}

InputFile::Status InputFile::inflate_some(Status& input) {
  z_stream& stream = inflater_->stream;
  if (stream.avail_in == 0) {
    std::size_t got = 0;
    input = read_system(reinterpret_cast<char*>(inflater_->input), compressed_bytes, got);
    stream.next_in = inflater_->input;
    stream.avail_in = static_cast<uInt>(got);
    if (input == Status::end) {
      return inflater_->within_member ? Status::cut : Status::end;
    }
    if (input != Status::data) {
      return input;
    }
  }
  inflater_->within_member = true;
  const int result = inflate(&stream, Z_NO_FLUSH);
  if (result == Z_STREAM_END) {
    inflater_->within_member = false;
    return inflateReset(&stream) == Z_OK ? Status::data : Status::damaged;
  }
  return result == Z_OK || result == Z_BUF_ERROR ? Status::data : Status::damaged;
}

}  // namespace traceagent::trace
