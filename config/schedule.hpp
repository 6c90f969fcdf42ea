#pragma once

#include <cstdint>
#include <string>

namespace traceagent::config {

// A cycle of steps: `wait` idle ones, `warmup` that are switched on but not kept, `active` that are
// recorded. It begins after `skip_first` steps and runs `repeat` times (0: without end).
struct Schedule {
  std::uint64_t skip_first = 0;
  std::uint64_t wait = 0;
  std::uint64_t warmup = 1;
  std::uint64_t active = 4;
  std::uint64_t repeat = 1;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

enum class Action : std::uint8_t { skip, warmup, active, active_and_save };

// What to do in a batch, counted from 0. active_and_save: record it, and write the cycle at its
// end. `last_batch_of_epoch` ends a cycle early where the length of an epoch is known. A schedule
// that refusal() names gives skip.
Action action_at(const Schedule& schedule, std::uint64_t batch,
                 bool last_batch_of_epoch = false) noexcept;

// Why this schedule cannot be used, in words; empty: it can.
std::string refusal(const Schedule& schedule);

// Whether any batch is recorded where the schedule begins anew with each epoch of so many.
bool records_in_epoch(const Schedule& schedule, std::uint64_t batches_of_epoch) noexcept;

// How many cycles are complete before `batch`: batches below it in which action_at saves, where
// epochs have no known length.
std::uint64_t cycles_before(const Schedule& schedule, std::uint64_t batch) noexcept;

// How many batches from `batch` on are skipped, one after the other.
std::uint64_t skipped_from(const Schedule& schedule, std::uint64_t batch) noexcept;

// The first batch that is not skipped.
std::uint64_t first_non_skip(const Schedule& schedule) noexcept;

// True when every batch after `batch` is skipped because all repetitions are used up.
bool never_again(const Schedule& schedule, std::uint64_t batch) noexcept;

// The compact form: skip_first=0,wait=0,warmup=1,active=4,repeat=1
std::string show(const Schedule& schedule);

}  // namespace traceagent::config
