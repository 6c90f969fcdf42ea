#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace traceagent::trace {

class GzipMembers;
class SideWork;

struct OutputOptions {
  bool gzip = false;
  int gzip_level = 1;                     // zlib's 1..9; 1 is what the job's own process can afford
  bool overwrite = true;                  // false: a final name that exists already is refused
  std::uint64_t most_bytes = UINT64_MAX;  // a file that grows larger is given up
  SideWork* side_work = nullptr;          // compresses and writes while more is made; outlives it
  // Without `overwrite`, where others have taken the name by the time that the file is whole: the
  // one to take instead, again and again, until it is empty. Not set: that is a problem.
  std::function<std::string()> next_name = {};
};

// A file that appears under its name only when it is whole: it is written under a temporary name in
// the same folder and renamed by finish(). The first problem is remembered, later writes do
// nothing, so that a caller may check once at the end. One buffer (two with side work), allocated
// by open(); no exceptions.
class OutputFile {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
  static constexpr std::size_t max_reserve_bytes = std::size_t{1} << 18;

  OutputFile();
  ~OutputFile();  // a file that was not finished is removed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // False (see error()) when the file cannot be made; nothing may be written then.
  [[nodiscard]] bool open(const std::string& path, const OutputOptions& options = {});
  // As that of the file which it is to replace; else it is as the umask says. False: see error().
  [[nodiscard]] bool keep_mode(mode_t mode);

  // Room for `size` bytes (at most max_reserve_bytes) to format into; never null after open().
  [[nodiscard]] char* reserve(std::size_t size) {
    if (buffer_bytes - used_ < size) [[unlikely]] {
      write_lines();
    }
    return buffer_.get() + used_;
  }
  // `size` bytes of the room last reserved are now part of the file.
  void commit(std::size_t size) { used_ += size; }
  void append(std::string_view text);

  // Writes what is left, closes, and gives the file its final name. False: see error().
  [[nodiscard]] bool finish();
  // Closes and removes the temporary file.
  void abandon();

  // Given up for its size alone, see OutputOptions.
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  // "<what>: <file>: <why>: <remedy>", one line, or empty. With side work only once it failed or is
  // finished.
  [[nodiscard]] const std::string& error() const { return error_; }
  // Once finished the name that it has, see OutputOptions::next_name.
  [[nodiscard]] const std::string& path() const { return path_; }
  // Bytes that have reached the file; after finish() its size.
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Free {
    void operator()(char* memory) const { ::operator delete(memory); }
  };

  bool open_temporary();
  void write_lines();
  void write_beside(std::size_t size);
  void write_text(const char* text, std::size_t size);
  bool write_raw(const char* bytes, std::size_t size);
  bool publish();
  bool publish_without_replacing();
  int publish_where_free(const char* to);
  void remember(const char* what, int error_number);
  void fail(std::string error);

  std::unique_ptr<char, Free> buffer_;
  std::unique_ptr<char, Free> other_;  // what is written beside; only with side work
  std::size_t used_ = 0;
  int descriptor_ = -1;
  pid_t owner_ = -1;  // a forked child must not remove its parent's temporary file
  OutputOptions options_;
  std::unique_ptr<GzipMembers> gzip_;
  std::uint64_t file_bytes_ = 0;
  bool is_too_large_ = false;
  std::string path_;
  std::string temporary_;
  std::string error_;
  // Set behind error_: the caller asks while the side work writes.
  std::atomic<bool> failed_ = false;
};

// Removes what a process that is dead has left of an OutputFile for `path`, if anything.
void remove_abandoned(const std::string& path, pid_t dead_writer) noexcept;

}  // namespace traceagent::trace
