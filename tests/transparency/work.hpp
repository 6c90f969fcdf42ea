#pragma once
// What the programs of the transparency suite have in common: a bit of tracing to do, words on
// standard output that no stdio buffer can double or lose, and the state of their process.

#include <unistd.h>

#include <cstdlib>

namespace traceagent::transparency {

/// Writes to standard output at once. At most 4 KiB.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// A synchronization, then calls that are refused, which works in a forked child too. Says where a
/// call of the main thread changed errno, as long as no device is used; returns the sum of the
/// results.
int call_often(int calls = 5);

/// Allocates, copies, fills and runs a host function on the device. The first error or 0.
int use_device();

/// Says what a library could change in a process: threads, descriptors, signals, limits, masks.
/// One line each, sorted.
void say_state(const char* when);

/// The environment of a child, one line per variable, sorted.
void say_environment_of_child();

/// What became of a child: its exit code, or 128 and the signal.
int wait_for(pid_t child);

/// Forks; the child runs the body and calls _exit with what it returns.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return wait_for(child);
}

}  // namespace traceagent::transparency
