#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "agent/event/held_memory.hpp"
#include "agent/step/detector_token.hpp"

namespace traceagent::step {

/// How often the job did something, since it began.
struct CallCounts {
  std::uint64_t kernels = 0;  ///< sum of the hashes of the kernels launched: equal for equal sets
  std::uint32_t launches = 0;
  std::uint32_t new_launches = 0;  ///< of kernels that were not known (see KernelSet)
  std::uint32_t synchronisations = 0;
  std::uint32_t copies = 0;  ///< to the device
  std::uint32_t point_to_points = 0;
  /// Synchronisations and copies by threads that launch or communicate: a loader's thread copies
  /// at any moment.
  std::uint32_t own_boundaries = 0;

  std::uint32_t boundaries() const noexcept { return synchronisations + copies; }

  friend CallCounts operator-(CallCounts a, const CallCounts& b) noexcept {
    a.kernels -= b.kernels;
    a.launches -= b.launches;
    a.new_launches -= b.new_launches;
    a.synchronisations -= b.synchronisations;
    a.copies -= b.copies;
    a.point_to_points -= b.point_to_points;
    a.own_boundaries -= b.own_boundaries;
    return a;
  }
};

/// Spreads what may be small numbers over all bits.
inline std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return (value ^ (value >> 31)) + 0x632be59bd9b4e019ULL;
}

/// What mixed() makes `value` of: its steps back, with the factors' inverses modulo 2^64.
inline std::uint64_t unmixed(std::uint64_t value) noexcept {
  value -= 0x632be59bd9b4e019ULL;
  value = (value ^ (value >> 31) ^ (value >> 62)) * 0x319642b2d24d8ec3ULL;
  value = (value ^ (value >> 27) ^ (value >> 54)) * 0x96de1b173f119089ULL;
  return value ^ (value >> 30) ^ (value >> 60);
}

/// Which of a token's two hashes is compared.
enum class Track : std::uint8_t { exact, shape };
inline constexpr int track_count = 2;

/// The last tokens of a sequence, with prefix hashes: whether two stretches are equal is one
/// comparison. Positions count from the job's first token and are never reused.
class History {
 public:
  static constexpr std::uint64_t capacity = 1 << 16;
  /// Three periods must fit.
  static constexpr std::uint64_t longest_period = capacity / 3 - 1;

  History();

  /// `before`: what the job had done before this token.
  void append(const Token& token, const CallCounts& before) noexcept;
  /// `count` tokens take their positions and leave nothing else. What begins before the next token
  /// that is appended is neither to be hashed nor to be read, but for its ticks.
  void pass_over(std::uint64_t count) noexcept;

  std::uint64_t size() const noexcept { return size_; }
  /// The first position that is still held.
  std::uint64_t oldest() const noexcept { return size_ < capacity ? 0 : size_ - capacity + 1; }
  /// Of a token that was passed over: those of the last one before it that was not.
  std::uint64_t ticks(std::uint64_t position) const noexcept {
    while (position > oldest() && at(position).number != position + 1) --position;
    return at(position).ticks;
  }
  const CallCounts& counts(std::uint64_t position) const noexcept { return at(position).before; }

  std::uint64_t symbol(Track track, std::uint64_t position) const noexcept {
    return at(position).symbol[static_cast<int>(track)];
  }

  /// Hash of the tokens [begin, end); at most longest_period × 2 long.
  std::uint64_t hash(Track track, std::uint64_t begin, std::uint64_t end) const noexcept {
    return prefix(track, end) - prefix(track, begin) * power(end - begin);
  }

  /// Whether the last `length` tokens (≥ period) have that period. False where the history does
  /// not reach back that far.
  bool repeats(Track track, std::uint64_t period, std::uint64_t length) const noexcept;

 private:
  static constexpr std::uint64_t power_step = 256;

  /// Of the hash's base. Two small tables: one large one would be the most of the start-up.
  std::uint64_t power(std::uint64_t exponent) const noexcept {
    return low_powers_[exponent % power_step] * high_powers_[exponent / power_step];
  }

  struct Entry {
    std::uint64_t symbol[track_count];
    std::uint64_t prefix[track_count];  ///< of all tokens up to and with this one
    std::uint64_t ticks;
    std::uint64_t number;  ///< 1 + the position whose entry this is; 0: none
    CallCounts before;
  };

  const Entry& at(std::uint64_t position) const noexcept { return entries_[position % capacity]; }
  std::uint64_t prefix(Track track, std::uint64_t length) const noexcept {
    return length == 0 ? 0 : at(length - 1).prefix[static_cast<int>(track)];
  }

  std::unique_ptr<Entry[], event::HeldFree> entries_;
  std::array<std::uint64_t, power_step> low_powers_;
  std::array<std::uint64_t, capacity / power_step> high_powers_;
  std::uint64_t size_ = 0;
};

}  // namespace traceagent::step
