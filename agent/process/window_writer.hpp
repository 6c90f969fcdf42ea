#pragma once
// Writes windows as they close and keeps the ring free. Used by the drain thread alone.

#include <cstdint>
#include <memory>

#include "agent/drain/rank_file.hpp"
#include "agent/process/clock_anchors.hpp"
#include "agent/process/freeing_pace.hpp"
#include "agent/process/governor.hpp"
#include "agent/process/unwritten_windows.hpp"
#include "agent/process/window_failures.hpp"

namespace traceagent::process {

struct Agent;

class WindowWriter {
 public:
  explicit WindowWriter(Agent& agent) noexcept;

  // Touches the ring's pages before the job's threads do: a first touch costs them 60 ns an event.
  // A piece at a time: all of a ring of 16 GiB takes a minute. False: there is no more.
  bool prefault() noexcept;
  void take_anchor() noexcept;
  std::uint64_t next_anchor_in_ns() const noexcept;
  void poll() noexcept;
  // The end: every window that is closed, and once more those that could not be written.
  void write_last() noexcept;
  // After that, what still has no file stays with the ring.
  void keep_unwritten() { unwritten_.keep_ring(); }

  bool wants_close_looks() const noexcept {
    return governor_ != nullptr && governor_->wants_close_looks();
  }
  std::uint64_t failures() const noexcept { return failures_.number(); }
  // False where a file that was written could not be noted beside the ring.
  bool lists_all() const noexcept { return lists_all_; }

 private:
  void bound_startup(std::uint64_t now_ticks) noexcept;
  void free_chunks(std::uint64_t now_ticks) noexcept;
  void write_closed(std::uint64_t before_ticks, bool may_wait) noexcept;
  bool is_given_up(ring::Window& window) noexcept;
  void leave_out(ring::Window& window) noexcept;
  void give_up_files(const std::string& path);
  bool is_put_off(ring::Window& window) noexcept;
  void make_room(std::uint64_t now_ticks) noexcept;
  void write(ring::Window& window) noexcept;
  enum class Outcome { failed, has_file, left_out };
  void write_file(ring::Window& window, std::uint64_t refused_before, Outcome& outcome);
  void describe_steps();
  void note_late_cupti(const ring::Window& window, const drain::RankFileReport& report);
  void note_file(ring::Window& window, const drain::RankFileReport& report);
  bool is_over_memory_budget(std::uint64_t refused_before) noexcept;

  Agent& agent_;
  UnwrittenWindows unwritten_;
  WindowFailures failures_;
  std::unique_ptr<Governor> governor_;  // null: no memory for one
  ClockAnchors anchors_;
  std::uint64_t prefaulted_bytes_ = 0;
  std::uint64_t given_up_until_ticks_ = 0;
  std::uint64_t margin_ticks_;
  FreeingPace freeing_pace_;
  std::uint64_t settle_ticks_;
  bool lists_all_ = true;
};

}  // namespace traceagent::process
