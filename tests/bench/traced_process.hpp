#pragma once
// A benchmark whose own process is traced: it starts itself again with the agent preloaded, as a
// user would, and chooses what the agent does by its step marks.

#include <cstdint>
#include <utility>
#include <vector>

namespace traceagent::bench {

// Environment variables of the traced process, beside those that every one has.
using Variables = std::vector<std::pair<const char*, const char*>>;

// In a process without the agent: runs this program again with it, in a scratch folder of tmpfs
// that is removed afterwards, and returns its exit code. In the traced process: -1.
int run_traced(char** arguments, const Variables& variables = {});

// The schedule of the traced process is wait 1, warmup 1, active 1 for ever: each state comes
// round.
enum class Step : unsigned { idle, recording_for_nothing, recording_for_a_file };

// Begins steps until the next one of this kind. The drain thread is left to what it was doing: the
// file of the step before, if that was recorded for one.
void begin(Step step);

// The same, then waits until the drain thread has nothing left to do. While recording for nothing,
// the drain thread frees the ring's chunks as they fill.
void enter(Step step);

// Steps that the traced process has begun so far, by its ring.
std::uint64_t steps_begun();

// Events that the ring of this process had no room for, so far.
std::uint64_t dropped();

// Until the drain has freed so much of the agent's ring, two seconds at most.
void wait_for_room(std::uint64_t records);

}  // namespace traceagent::bench
