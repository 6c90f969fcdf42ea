#pragma once
// Why there are no times of the device, in a line for the user.

#include <string>

#include "agent/device/cupti_library.hpp"

namespace traceagent::device {

enum class CuptiState : std::uint32_t {
  off,
  recording,
  absent,       // no library
  taken,        // another subscriber
  refused,      // missing privileges
  failed,       // anything else
  unsafe,       // a version that is known to hang or crash
  other_clock,  // of the job's: our records would lie outside of all windows
};

CuptiState state_of(CuptiResult result) noexcept;

// What, value, remedy; for absent, taken, refused and failed.
std::string problem_line(CuptiState state, CuptiResult result, const CuptiLibrary& library);

}  // namespace traceagent::device
