#pragma once
// What a window's file says of its own gaps: what came through each door, which launches have no
// device work and which device work has no launch. `traceagent check FILE` reads it.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/drain/window_events.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::drain {

// Records of the window by the door that they came through, in the order of ring::DoorId. The dlsym
// door's calls are counted with the library's that it leads to.
using DoorCalls = std::array<std::uint64_t, ring::door_count>;
void count_calls(const std::vector<ThreadEvents>& threads, DoorCalls& calls) noexcept;
void count_call(const event::Record& record, DoorCalls& calls) noexcept;

using Counts = std::map<std::string, std::uint64_t>;

// How host calls and device work of one window came together. The causes are the names below: what
// the reader of the file makes of them depends on it.
struct DeviceMatch {
  std::uint64_t launches = 0;  // calls that ask the device for work, returned without an error and
                               // were not captured into a graph
  std::uint64_t work = 0;      // kernels, copies and sets of this file
  std::uint64_t timed_by_events = 0;  // calls, where CUPTI could not be had
  Counts launches_without_work;       // by cause
  Counts work_without_launch;         // by cause
  Counts calls_only_cupti_saw;        // by function: they went round every door of ours
  Counts nccl_kernels_without_call;   // by cause

  // CUPTI may have come on after the window, before its file was written.
  bool is_by_events() const noexcept { return timed_by_events != 0 && work == 0; }
};

struct WindowCoverage {
  DoorCalls calls{};
  DeviceMatch match;
  ring::DropCounts dropped{};       // ring::dropped_in()
  std::uint64_t steps_missing = 0;  // of the window: the ring knows of their edges no more
};

// Causes of a launch without device work.
inline constexpr char cause_before_recording[] = "before_recording";  // CUPTI came on later
inline constexpr char cause_after_recording[] = "after_recording";    // CUPTI was off again by then
inline constexpr char cause_late[] = "late";  // not there when the file was written
inline constexpr char cause_lost[] = "lost";  // CUPTI or the ring had no room: see "dropped"
// As many were lost as are explained by now, but the process lost others, perhaps of this window.
inline constexpr char cause_perhaps_lost[] = "perhaps_lost";
inline constexpr char cause_no_work[] = "no_work";  // such as a copy of 0 bytes: nothing is missing
inline constexpr char cause_unknown[] = "unknown";
// Causes of device work without a launch (and cause_unknown).
inline constexpr char cause_before_window[] = "launched_before_window";
inline constexpr char cause_call_lost[] = "call_lost";  // the call's own record was lost
// Of both: CUPTI named a call for a graph's work that launches none.
inline constexpr char cause_wrong_call[] = "wrong_call";
// Causes of an NCCL kernel without the collective it carries out (and cause_call_lost).
inline constexpr char cause_several_calls[] = "several_calls";  // may be of either
inline constexpr char cause_no_call[] = "no_call";              // that is seen to have asked for it
inline constexpr char cause_in_graph[] = "in_graph";            // its call was captured, once
// Of a group that the window shows in part.
inline constexpr char cause_group_before_window[] = "group_before_window";

// "doors": {"cudart": {"open": true, "calls": 812}, …}
trace::JsonObject doors_object(const ring::Ring& ring, const DoorCalls& calls);
// "device": {"source": "cupti", "cupti_version": 26, "launches": 400, "work": 400, …}
trace::JsonObject device_object(const ring::Ring& ring, const DeviceMatch& match);

}  // namespace traceagent::drain
