#pragma once

#include "tests/sim/engine/activity.hpp"

namespace simgpu::cupti {

/// What this library did, in the truth (a scratch place where no truth is wanted).
CuptiRecord& account();

/// A line in the truth that says when an activity kind was enabled; close_period ends it.
CuptiRecord* open_period(std::uint16_t activity);
void close_period(CuptiRecord* period);

/// What became of the record of a piece of work, for the truth.
void set_state(const activity::DeviceWork& work, CuptiState state);

}  // namespace simgpu::cupti
