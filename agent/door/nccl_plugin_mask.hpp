#pragma once
// Which events NCCL makes: its activation mask, one int of a loaded NCCL, which it reads anew for
// every operation. The schedule sets ours in it and takes it out; a user's own plugin's stays.

namespace traceagent::door::nccl_plugin {

// NCCL's mask, as handed to init(). Remembered for as long as the process lives.
void follow_mask(int* mask) noexcept;

// Where a user's own plugin writes what it wants, now and later, instead of NCCL's mask.
int* mask_of_users_plugin() noexcept;
int wanted_by_users_plugin() noexcept;

// True while the schedule records and events of this type were asked for.
bool is_recorded(unsigned type) noexcept;

}  // namespace traceagent::door::nccl_plugin
