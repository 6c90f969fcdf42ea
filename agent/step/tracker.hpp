#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "agent/step/detector.hpp"
#include "agent/step/marks.hpp"
#include "agent/step/stride.hpp"
#include "agent/step/tracker_lock.hpp"
#include "agent/step/tracker_log.hpp"
#include "agent/step/tracker_ranges.hpp"

namespace traceagent::step {

/// Bits of what the doors must report to the tracker even while nothing is recorded.
using Interest = std::uint32_t;
inline constexpr Interest interest_collectives = 1;
inline constexpr Interest interest_launches = 2;
inline constexpr Interest interest_synchronisations = 4;
inline constexpr Interest interest_copies = 8;
inline constexpr Interest interest_ranges = 16;  ///< range_begin, range_end and mark
inline constexpr Interest interest_calls = 32;   ///< call, of the function called_function()

/// Which name of a step a range has; 0: none.
using StepName = std::uint32_t;
inline constexpr StepName no_step_name = 0;

/// Finds where steps begin from the calls that the doors report. Any thread may call anything at
/// any time; nothing blocks, allocates or throws. Calls that are not of interest() are harmless.
class Tracker {
 public:
  static constexpr std::uint64_t default_patience_ns = 120'000'000'000;

  /// `patience_ns`: with `auto`, how long after the first call that could be part of a step the
  /// tracker may look for a period before it falls back to slices of one second.
  Tracker(const MarkSpecification& mark, StepListener& listener,
          std::uint64_t patience_ns = default_patience_ns);
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  /// A collective call as it is enqueued. `exact_hash` of operation, count, type, communicator;
  /// `shape_hash` the same without the count. Equal on all ranks of the communicator.
  void collective(std::uint64_t exact_hash, std::uint64_t shape_hash, std::uint64_t ticks) noexcept;
  /// The same for send and recv; the hashes should hold the peer and the direction.
  void point_to_point(std::uint64_t exact_hash, std::uint64_t shape_hash,
                      std::uint64_t ticks) noexcept;
  void launch(std::uint64_t kernel_hash, std::uint64_t ticks) noexcept;

  /// Whether the call is known beforehand: then it need not be told, nor its ticks be read. True
  /// counts it.
  [[gnu::always_inline]] bool passes_launch(std::uint64_t kernel_hash) noexcept {
    return strides_.opened().pass_launch(kernel_hash);
  }
  /// The same of a collective or point-to-point call; `hashes` gives its exact and its shape hash,
  /// and is asked only where they matter. In line, or the call would be described in memory for it.
  template <class Hashes>
  [[gnu::always_inline]] bool passes_collective(const Hashes& hashes) noexcept {
    Stride* stride = strides_.opened().of_collectives();
    if (stride == nullptr) [[unlikely]] {
      return false;
    }
    const auto [exact, shape] = hashes();
    return stride->pass(stride->goes_by_shape() ? shape : exact);
  }
  /// What passes in fewer instructions.
  const OpenStride& open_stride() const noexcept { return strides_.opened(); }
  /// Whether collectives of this thread are known beforehand.
  bool expects_collectives() noexcept { return strides_.opened().of_collectives() != nullptr; }

  /// The host waited: stream, event or device synchronisation, or a blocking copy to the host.
  void synchronise(std::uint64_t ticks) noexcept;
  void copy_to_device(std::uint64_t ticks) noexcept;

  /// Whether a range's name may be a step's, by its first letter; '\0': it is empty.
  bool may_begin_step_name(char first) const noexcept {
    return first_letters_[static_cast<unsigned char>(first)];
  }
  /// What a range or mark of NVTX is to step detection; none where ranges are not of interest().
  StepName step_name(std::string_view name) const noexcept;
  /// A range that has a step_name(), pushed and popped or started and ended.
  void range_begin(StepName name, std::uint64_t ticks) noexcept;
  void range_end(StepName name, std::uint64_t ticks) noexcept;
  void mark(StepName name, std::uint64_t ticks) noexcept;

  /// A hooked function was called (for `call:FUNCTION`).
  void call(std::string_view function, std::uint64_t ticks) noexcept;
  /// The function that `call:` counts, so that a door can compare once instead of at each call;
  /// empty for other marks.
  std::string_view called_function() const noexcept;

  /// The door of the function that `call:` counts is shut, so that at most some of its calls would
  /// be heard. Before any is.
  void count_no_call() noexcept { interest_.store(0, std::memory_order_relaxed); }

  /// From the drain thread: what the doors do not report any more, for the budget's sake. Without
  /// the calls that the steps are found by they are slices of a second, for good, with numbers that
  /// go on.
  void leave_out(Interest left_out) noexcept;

  /// What the reported calls cost the job's threads, by samples; from the drain thread.
  struct Heard {
    std::uint64_t busiest = 0;  ///< calls since the last look, of the thread that made most
    std::uint64_t passed = 0;   ///< those that were known beforehand
    double ticks_per_call = 0;  ///< 0: no sample
  };
  Heard heard_since_last() noexcept;

  /// From the drain thread, a few times a second: time slices, the fallback of `auto`, and the
  /// number of the steps that have passed.
  void poll(std::uint64_t now_ticks, std::uint64_t now_ns) noexcept;

  /// How long poll() may be put off without missing a slice of time; at least a millisecond.
  std::uint64_t longest_pause_ns() const noexcept;

  Interest interest() const noexcept { return interest_.load(std::memory_order_relaxed); }

  /// What it locked on to and when, or that it fell back and why; for the trace's metadata.
  std::string description() const;

  /// Calls lost because the log between the threads was full.
  std::uint64_t dropped() const noexcept { return log_.dropped(); }
  /// Whether calls wait to be consumed by the next call or poll.
  bool has_backlog() const noexcept { return log_.has_published(); }

 private:
  enum class Source : std::uint8_t { undecided, ranges, sequence, calls, slices, fallback };

  void push(Token::Kind kind, std::uint64_t exact, std::uint64_t shape,
            std::uint64_t ticks) noexcept;
  void push(LogEntry::Kind kind, std::uint64_t name, std::uint64_t ticks) noexcept;
  void append_and_consume(const LogEntry& entry) noexcept;
  /// `own_entry`: the number of the calling thread's last entry in the log, if it has one.
  void consume_published(std::uint64_t own_entry = 0) noexcept;
  void consume(const LogEntry& entry) noexcept;
  void consume_range(const LogEntry& entry) noexcept;
  void consume_sequence(const LogEntry& entry) noexcept;
  void consume_call(std::uint64_t ticks) noexcept;
  void update_interest() noexcept;
  void count(const LogEntry& entry) noexcept;
  void sample(std::uint64_t begin_ticks) noexcept;
  bool lost_its_calls() const noexcept;
  void fall_back(std::uint64_t now_ticks, std::uint64_t now_ns) noexcept;
  Interest wanted() const noexcept;
  void poll_slices(std::uint64_t now_ticks, std::uint64_t now_ns) noexcept;
  void poll_patience(std::uint64_t now_ticks, std::uint64_t now_ns) noexcept;
  Source source() const noexcept { return source_.load(std::memory_order_relaxed); }
  std::string describe_auto() const;

  const MarkSpecification mark_;
  const FirstLetters first_letters_;
  StepListener& listener_;
  const std::uint64_t patience_ns_;
  std::atomic<Interest> interest_{0};
  std::atomic<Source> source_{Source::undecided};
  std::atomic<std::uint64_t> followed_name_{0};
  std::atomic<Interest> left_out_{0};
  std::atomic<bool> fell_back_for_budget_{false};
  std::atomic<std::uint64_t> sampled_calls_{0}, sampled_ticks_{0};
  TrackerLog log_;
  Strides strides_;
  /// Held by the one thread that consumes; see consume_published for the pairing.
  alignas(64) std::atomic<bool> turn_{false};

  // Below: for the holder of the turn alone.
  RangeFollower ranges_;
  std::unique_ptr<LockNotes> lock_notes_;
  std::unique_ptr<Detector> detector_;
  std::uint64_t calls_ = 0;
  std::uint64_t step_ = 0;
  std::uint64_t slices_start_ns_ = 0;
  std::uint64_t patience_start_ns_ = 0;
  std::uint64_t first_slice_ = 0;
  // By the thread, as far as they go: two that share a place count as one.
  static constexpr std::size_t heard_places = 64;
  std::array<std::atomic<std::uint32_t>, heard_places> heard_{};
  bool step_open_ = false;
  bool sequence_seen_ = false;

  // The drain thread's.
  std::array<std::uint32_t, heard_places> heard_before_{};
  std::uint64_t dropped_before_ = 0;
  std::uint64_t passed_before_ = 0;
};

}  // namespace traceagent::step
