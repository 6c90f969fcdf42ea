#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "agent/event/held_memory.hpp"
#include "agent/trace/input_file.hpp"
#include "agent/trace/judged_lines.hpp"
#include "agent/trace/line_judge.hpp"
#include "agent/trace/side_reads.hpp"

namespace traceagent::trace {

using Memory = std::unique_ptr<char, event::HeldFree>;

// The next bytes of a file, read (and inflated) by others while those before are used; and the
// lines in them, judged.
class AheadFile : private SideReads::Read {
 public:
  // Free room before each block, for what is left of the one before.
  static constexpr std::size_t lead_bytes = std::size_t{4} << 10;
  static constexpr std::size_t block_bytes = std::size_t{128} << 10;
  static constexpr std::size_t buffer_bytes = lead_bytes + block_bytes;

  // `file` is this one's alone until the end of its life. `trusts`: LineJudge's.
  AheadFile(InputFile& file, SideReads& reads, bool trusts)
      : file_(file), reads_(reads), judge_(trusts) {}
  ~AheadFile() override { finish(); }
  AheadFile(const AheadFile&) = delete;
  AheadFile& operator=(const AheadFile&) = delete;

  // Begins to read. False: no memory.
  [[nodiscard]] bool start();

  // As InputFile's.
  InputFile::Status read(char* to, std::size_t capacity, std::size_t& size);

  // A whole block of `size` bytes for `buffer` (of at least buffer_bytes), which the next is read
  // into: they begin behind lead_bytes. `judged`: of its lines. False: there is none, read() tells
  // why or gives the rest.
  bool swap(Memory& buffer, std::size_t& capacity, std::size_t& size, JudgedLines& judged);

  [[nodiscard]] std::uint64_t file_bytes_read() const { return file_bytes_read_; }
  [[nodiscard]] const GzipDamage& damage() const { return damage_; }
  // At most: others may be at work with it.
  [[nodiscard]] std::size_t memory_bytes() const {
    return capacity_ + JudgedLines::most_lines * sizeof(MadeEvents::Line) +
           (judge_.trusts() ? 0 : EventShapes::most_memory_bytes);
  }

 private:
  void run() noexcept override;
  void begin();
  void finish();

  InputFile& file_;
  SideReads& reads_;
  LineJudge judge_;
  JudgedLines judged_;
  Memory block_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;  // of the block's bytes
  std::size_t used_ = 0;
  InputFile::Status status_ = InputFile::Status::data;
  bool is_begun_ = false;
  // When the block was there.
  std::uint64_t file_bytes_read_ = 0;
  GzipDamage damage_;
};

}  // namespace traceagent::trace
