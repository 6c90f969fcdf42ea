#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace traceagent::trace {

// The lines of a journal of uploads, read as it grows: each byte once, unless a shorter journal has
// taken its place (tools/upload/journal_compaction.cpp).
class JournalReader {
 public:
  using Take = std::function<void(std::string_view line)>;
  static constexpr std::size_t no_limit = SIZE_MAX;

  // Whose words are believed: `own` alone where they say what is run.
  enum class From { anybody, own };
  // A longer line is passed over, and takes no more memory than this.
  JournalReader(std::string path, std::size_t most_line_bytes, From from = From::anybody);

  // Whole lines that were appended since, but for empty ones. Before those of another journal,
  // which are read from its first, or where there is none any more: `begin_anew`. False: it cannot
  // be read; there may be more. EPERM: another user could have written it.
  bool read(const Take& take, const std::function<void()>& begin_anew);

  // Of the first line that is not known.
  std::uint64_t offset() const noexcept { return offset_; }
  // Half a line behind it too.
  std::uint64_t end() const noexcept { return end_; }
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  // The caller has put this one in its place, and knows what stands in it.
  void replace_by(std::string_view text);

 private:
  void begin_if_other(std::string head, const std::function<void()>& begin_anew);
  bool read_on(int fd, const Take& take);
  void take_lines(std::string_view text, const Take& take);

  const std::string path_;
  const std::size_t most_line_bytes_;
  const From from_;
  std::string head_;
  std::uint64_t offset_ = 0, end_ = 0, bytes_read_ = 0;
  bool is_in_long_line_ = false;  // offset_ is within one that is too long
};

}  // namespace traceagent::trace
