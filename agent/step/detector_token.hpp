#pragma once

#include <cstdint>

namespace traceagent::step {

/// One call of the job, as the detector sees it.
struct Token {
  enum class Kind : std::uint8_t {
    collective,
    point_to_point,
    launch,
    synchronise,    ///< the host waited for the device
    copy_to_device  ///< the host handed data to the device
  };

  std::uint64_t exact = 0;  ///< collectives: with the count; launches: the kernel
  std::uint64_t shape = 0;  ///< collectives: without the count
  std::uint64_t ticks = 0;
  std::uint32_t thread = 0;  ///< small number of the calling thread
  Kind kind = Kind::collective;
};

/// Told about the job's steps, in order, by one thread at a time: whichever thread of the job (or
/// the drain thread, in poll) happened to consume the calls. Must be as quick as a door: no lock,
/// no allocation, no system call.
///
/// Numbers count from 0 and are authoritative: a retracted step did not happen, and the next
/// begin carries its number again. The first begin carries the number of the steps that passed
/// while the sequence was learned. A begin may come late, with the ticks of its true first call,
/// when a whole step had to pass before it could be told from an evaluation phase.
struct StepListener {
  virtual void on_step_begin(std::uint64_t step, std::uint64_t ticks) noexcept = 0;
  virtual void on_step_end(std::uint64_t step, std::uint64_t ticks) noexcept = 0;
  virtual void on_step_retracted(std::uint64_t step) noexcept = 0;
  /// How many of the steps to come are of no interest but for their number, if the job goes on as
  /// it did: then on_steps_passed() may stand for their begins and ends.
  virtual std::uint64_t steps_to_pass() const noexcept { return 0; }
  /// All steps until `latest` have begun, which is open now: nobody asked when.
  virtual void on_steps_passed(std::uint64_t /*latest*/) noexcept {}
  /// The search is over without any: the steps that follow are slices of time.
  virtual void on_no_step_found(std::uint64_t /*ticks*/) noexcept {}

 protected:
  ~StepListener() = default;
};

/// What a detector locked on to.
struct LockReport {
  enum class Kind : std::uint8_t { collectives, collective_shapes, launches };

  Kind kind = Kind::collectives;
  std::uint32_t period = 0;           ///< tokens of the sequence in one block
  std::uint32_t blocks_per_step = 1;  ///< more than 1: gradient accumulation
  std::uint64_t tokens_seen = 0;      ///< of the sequence, since the job began
  std::uint64_t step = 0;             ///< the number of the step that begins next
  std::uint64_t ticks = 0;
};

struct DetectorListener : StepListener {
  virtual void on_locked(const LockReport& report) noexcept = 0;

 protected:
  ~DetectorListener() = default;
};

}  // namespace traceagent::step
