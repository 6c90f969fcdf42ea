#include "agent/trace/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/trace/member_search.hpp"
#include "agent/trace/zlib_memory.hpp"

namespace traceagent::trace {

namespace {
constexpr std::size_t compressed_bytes = std::size_t{64} << 10;
constexpr std::size_t zlib_inflate_bytes = std::size_t{48} << 10;  // window and state, about
constexpr int window_bits_gzip = 15 + 16;                          // + 16: gzip framing only
}  // namespace

std::string damage_in_words(const GzipDamage& damage, const std::string& path) {
  const bool is_one = damage.places == 1;
  return (is_one ? "damaged gzip data: "
                 : "gzip data damaged in " + std::to_string(damage.places) + " places: ") +
         path + (is_one ? ": at byte " : ": the first at byte ") + std::to_string(damage.begin) +
         " to " + std::to_string(damage.end) + " of the compressed file: ";
}

struct InputFile::Inflater {
  z_stream stream{};
  bool initialised = false;
  bool within_member = false;
  Status next = Status::data;   // else what is to be given before any text
  std::uint64_t offset = 0;     // of the file, behind `input`
  std::uint64_t member_at = 0;  // where this member begins, or the one before has ended
  MemberSearch search;
  Bytef input[compressed_bytes];

  explicit Inflater(std::uint64_t file_bytes) : search(file_bytes) {}

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
  damage_ = {};
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
  inflater_.reset(new (std::nothrow) Inflater(file_bytes_));
  if (inflater_) use_held_memory(inflater_->stream);
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
  if (inflater_->next != Status::data) {
    const Status status = inflater_->next;
    inflater_->next = status == Status::gap ? Status::data : status;
    return status;
  }
  z_stream& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(capacity);
  Status status = Status::data;
  while (stream.avail_out == capacity && status == Status::data) {
    status = inflate_some();
  }
  size = capacity - stream.avail_out;
  if (status == Status::cut || status == Status::damaged) {
    status = pass_damage(status);
  }
  if (status == Status::data || (status == Status::gap && size == 0)) {
    return status;
  }
  inflater_->next = status;  // to be given again, and behind this text
  return size > 0 ? Status::data : status;
}

InputFile::Status InputFile::inflate_some() {
  z_stream& stream = inflater_->stream;
  if (stream.avail_in == 0) {
    const Status status = read_compressed();
    if (status != Status::data) {
      return status == Status::end && inflater_->within_member ? Status::cut : status;
    }
  }
  if (!inflater_->within_member && *stream.next_in == 0) {
    return pass_padding();
  }
  inflater_->within_member = true;
  const int result = inflate(&stream, Z_NO_FLUSH);
  if (result == Z_STREAM_END) {
    inflater_->within_member = false;
    inflater_->member_at = inflater_->offset - stream.avail_in;
    return inflateReset(&stream) == Z_OK ? Status::data : Status::damaged;
  }
  if (result == Z_MEM_ERROR) {
    error_number_ = ENOMEM;
    return Status::failed;
  }
  return result == Z_OK || result == Z_BUF_ERROR ? Status::data : Status::damaged;
}

// A member begins with another byte. With anything behind them zeros are damage, as where a file
// system has crashed.
InputFile::Status InputFile::pass_padding() {
  z_stream& stream = inflater_->stream;
  Status status = Status::data;
  while (status == Status::data) {
    const Bytef* const begin = stream.next_in;
    if (std::any_of(begin, begin + stream.avail_in, [](Bytef byte) { return byte != 0; })) {
      return Status::damaged;
    }
    status = read_compressed();
  }
  return status;
}

InputFile::Status InputFile::read_compressed() {
  Inflater& inflater = *inflater_;
  const ssize_t got = event::uninterrupted([&] {
    return pread(descriptor_, inflater.input, compressed_bytes,
                 static_cast<off_t>(inflater.offset));
  });
  if (got < 0) {
    error_number_ = errno;
    return Status::failed;
  }
  inflater.stream.next_in = inflater.input;
  inflater.stream.avail_in = static_cast<uInt>(got);
  inflater.offset += static_cast<std::uint64_t>(got);
  // Behind damage some bytes are read again.
  file_bytes_read_ = std::max(file_bytes_read_, inflater.offset);
  return got == 0 ? Status::end : Status::data;
}

// On to the next member that can be read. A damaged length may have run over it up to the end of
// the file, which then looks cut.
InputFile::Status InputFile::pass_damage(Status status) {
  Inflater& inflater = *inflater_;
  const bool has_text = inflater.stream.total_out > 0;
  inflater.search.count(inflater.stream);
  const auto next = inflater.search.next(descriptor_, inflater.member_at + 1, inflater.stream,
                                         inflater.input, compressed_bytes);
  inflater.within_member = false;
  inflater.stream.avail_in = 0;
  inflater.offset = next.value_or(file_bytes_);
  const bool is_damage = next || status == Status::damaged;
  if (is_damage && damage_.places++ == 0) {
    damage_.begin = inflater.member_at;
    damage_.end = inflater.offset;
  }
  damage_.has_text = has_text;
  damage_.is_given_up = inflater.search.is_given_up();
  inflater.member_at = inflater.offset;
  return next && inflateReset(&inflater.stream) == Z_OK ? Status::gap : status;
}

}  // namespace traceagent::trace
