#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/import/time_spans.hpp"

namespace traceagent::tools {

// Sorts lines by time in bounded memory: they are held back for some megabytes, and go, in order,
// to the end of the first file (a run) whose last line is not later. Input that is nearly in order
// makes one run; one written thread by thread, as Kineto does, one for each thread at most. Lines
// of the same time keep their order within a run.
class SortedRuns {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{4} << 20;  // there are two

  struct Run {
    std::string path;
    std::uint64_t lines = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    TimeSpans spans = {};
  };

  // Files `<prefix>0`, `<prefix>1` ...; each begins with `head_bytes` that the caller fills in.
  // Half of `bytes` is written at a time.
  SortedRuns(std::string prefix, std::size_t head_bytes, std::size_t bytes = buffer_bytes);

  // Room for a line of up to `bytes` (at most a quarter of the buffer), and how long it became.
  char* reserve(std::size_t bytes) {
    if (capacity_ - used_ < bytes) [[unlikely]] {
      write_some(used_ / 2);
    }
    return buffer_.get() + used_;
  }
  void commit(std::size_t bytes, std::int64_t ts_ns) {
    lines_.push_back({ts_ns, static_cast<std::uint32_t>(used_), static_cast<std::uint32_t>(bytes)});
    is_sorted_ = is_sorted_ && (lines_.size() < 2 || lines_[lines_.size() - 2].ts_ns <= ts_ns);
    used_ += bytes;
  }

  // Writes what is held. Nothing may be added then.
  void finish();

  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  // An errno; 0: all is well.
  [[nodiscard]] int error_number() const { return error_number_; }

 private:
  struct Line {
    std::int64_t ts_ns;
    std::uint32_t offset;
    std::uint32_t bytes;
  };

  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  using Buffer = std::unique_ptr<char[], Free>;

  static Buffer new_buffer(std::size_t bytes);
  bool sort_by_moves();
  void sort();
  void write_some(std::size_t least_bytes);
  void keep_from(std::size_t first);
  void write_lines(std::size_t first, std::size_t last);
  [[nodiscard]] std::string_view text_of(std::size_t first, std::size_t last) const;
  void append(Run& run, std::size_t first, std::size_t last);

  std::string prefix_;
  std::size_t head_bytes_;
  std::size_t capacity_;
  Buffer buffer_;
  Buffer other_;
  std::size_t used_ = 0;
  std::vector<Line> lines_;
  bool is_sorted_ = true;
  std::vector<Run> runs_;
  int error_number_ = 0;
};

}  // namespace traceagent::tools
