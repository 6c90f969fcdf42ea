#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/trace/ahead_file.hpp"
#include "agent/trace/made_events.hpp"
#include "tools/import/document_scan.hpp"
#include "tools/import/event_text.hpp"
#include "tools/import/file_state.hpp"
#include "tools/import/foreign_lanes.hpp"

namespace traceagent::tools {

// What a first reading has found in a foreign file: enough to make its lines in a second one.
struct EventSource {
  std::string path;
  FileState state;          // before the first reading
  std::uint64_t bytes = 0;  // that it has read; what was written behind them since is not asked for
  std::string content;      // of these (content_mark.hpp)
  std::shared_ptr<const ForeignLanes> lanes;
  EventTimes times;
  std::uint64_t events = 0;
  std::size_t late_bytes = 0;  // see OrderCheck
};

// The lines of a foreign file whose events are nearly in order, made while they are read, in
// blocks.
class ImportedEvents : public trace::MadeEvents, private trace::SideReads::Read {
 public:
  static constexpr std::size_t block_bytes = std::size_t{128} << 10;
  static constexpr std::size_t first_block_bytes = std::size_t{4} << 10;
  static constexpr std::size_t read_bytes = std::size_t{64} << 10;

  explicit ImportedEvents(std::shared_ptr<const EventSource> source);
  ~ImportedEvents() override;
  ImportedEvents(const ImportedEvents&) = delete;
  ImportedEvents& operator=(const ImportedEvents&) = delete;

  void make_beside(trace::SideReads& reads) override;
  Lines next() override;
  [[nodiscard]] const std::string& problem() const override { return problem_; }
  [[nodiscard]] std::uint64_t file_bytes() const override { return source_->bytes; }
  [[nodiscard]] std::uint64_t file_bytes_read() const override { return current_.file_bytes_read; }
  [[nodiscard]] std::size_t memory_bytes() const override;

 private:
  // Lines in the order of time. Those from `ready` on may have to let others in front.
  struct Block {
    trace::Memory text;
    std::size_t capacity = 0;
    std::size_t used = 0;
    std::vector<Line> lines;
    std::size_t ready = 0;
    bool is_last = false;
    std::uint64_t file_bytes_read = 0;

    char* reserve(std::size_t bytes);
  };

  void run() noexcept override;
  void finish();
  void make();
  void keep_late_lines();
  bool add_next();
  bool add(const ScannedObject& event);
  void put_in_order();
  [[nodiscard]] bool is_as_it_was() const;

  std::shared_ptr<const EventSource> source_;
  trace::SideReads* reads_ = nullptr;
  bool is_begun_ = false;
  Block current_;  // the caller's
  Block making_;
  std::string problem_;

  // Of who makes.
  DocumentScan scan_;
  KnownForms forms_;
  bool is_open_ = false;
  bool is_changed_ = false;
  std::string why_unread_;
  std::size_t wanted_bytes_ = first_block_bytes;
  std::uint64_t source_offset_ = 0;
  std::uint64_t events_ = 0;
  std::int64_t settled_ns_;  // no later event is earlier
  std::string latest_pid_;
  const ForeignLanes::Process* latest_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace traceagent::tools
