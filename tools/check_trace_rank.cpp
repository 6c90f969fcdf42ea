#include "agent/trace/json_scan.hpp"
#include "config/units.hpp"
#include "tools/check_trace.hpp"
#include "tools/check_trace_remedies.hpp"
#include "tools/losses.hpp"

namespace traceagent::tools {

using trace::for_each_element;
using trace::integer_member;
using trace::member;
using trace::string_member;

namespace {

template <std::size_t size>
const Remedy* find(const Remedy (&table)[size], std::string_view cause) {
  for (const Remedy& row : table) {
    if (row.cause == cause) return &row;
  }
  return nullptr;
}

std::string text_of(std::string_view object, std::string_view key) {
  return std::string(string_member(object, key).value_or(""));
}

std::int64_t number_of(std::string_view object, std::string_view key) {
  return integer_member(object, key).value_or(0);
}

bool is_recovered(std::string_view metadata) {
  return member(metadata, "recovered").value_or("") == "true";
}

bool is_of_dead(std::string_view metadata) {
  return is_recovered(metadata) &&
         member(metadata, "process_finished").value_or("false") == "false";
}

// Each cause of the table with what it counted; `what` is counted.
template <std::size_t size>
void check_causes(std::string_view metadata, std::string_view counts, const Remedy (&table)[size],
                  const char* title, const char* what, CheckReport& report) {
  for (const Remedy& each : table) {
    const std::int64_t count = number_of(counts, each.cause);
    if (count == 0) continue;
    const Remedy* of_dead = is_of_dead(metadata) ? find(lost_with_process, each.cause) : nullptr;
    const Remedy& row = of_dead != nullptr ? *of_dead : each;
    report.no(title, std::to_string(count) + what + row.meaning, row.remedy);
  }
}

bool is_asked_for(std::string_view metadata, const std::string& option) {
  const auto options = member(metadata, "options");
  return !options || member(*options, option).value_or("true") != "false";
}

void check_doors(std::string_view metadata, CheckReport& report) {
  trace::for_each_member(
      member(metadata, "doors").value_or(""), [&](std::string_view name, std::string_view door) {
        const std::string title = "door " + std::string(name);
        const bool has_count = member(door, "calls").has_value();
        const std::string calls = std::to_string(number_of(door, "calls")) + " records";
        if (member(door, "open").value_or("false") == "true" || number_of(door, "calls") > 0) {
          report.yes(title, has_count ? calls : "open");
        } else if (!is_asked_for(metadata, "doors." + std::string(name))) {
          report.missing_help(title, "shut", "set doors." + std::string(name) + " to true");
        } else {
          report.missing_help(title, "not open",
                              "nothing asked for it yet, or its library is not here");
        }
      });
}

bool has_cupti(std::string_view metadata) {
  return text_of(member(metadata, "device").value_or(""), "source") == "cupti";
}

// With CUPTI on, their calls and work are in the trace all the same.
void check_way_round(std::string_view way, bool is_seen, CheckReport& report) {
  const std::string why = text_of(way, "why");
  const Remedy* row = find(ways_round, why);
  const std::string detail =
      text_of(way, "path") + " " + (row == nullptr ? why : std::string(row->meaning));
  const char* const remedy = row == nullptr ? "use a newer TraceAgent" : row->remedy;
  if (is_seen) {
    report.missing_help("went round", detail + ", its calls come from CUPTI", remedy);
  } else {
    report.no("went round", detail, remedy);
  }
}

// Of functions, not of libraries. The count does not tell for which of the reasons.
void check_look_ups(std::string_view metadata, std::string_view coverage, CheckReport& report) {
  const std::uint64_t count = number_of(coverage, "driver_went_round");
  if (count == 0) return;
  const std::string names = text_of(coverage, "driver_went_round_first");
  const std::string detail = std::to_string(count) + (count == 1 ? " look-up" : " look-ups") +
                             " of driver functions gave what this agent cannot stand for" +
                             (names.empty() ? "" : " (" + names + ")");
  const char* const remedy =
      "is the CUDA newer than it? Then use a newer TraceAgent; let all use one libcuda";
  if (has_cupti(metadata)) {
    report.missing_help("went round", detail + ", its calls come from CUPTI", remedy);
  } else {
    report.no("went round", detail, remedy);
  }
}

void check_libraries(std::string_view metadata, CheckReport& report) {
  const std::string_view coverage = member(metadata, "coverage").value_or("");
  for_each_element(member(coverage, "libraries").value_or(""), [&](std::string_view library) {
    report.yes(text_of(library, "name"), std::to_string(number_of(library, "functions")) +
                                             " functions in use: " + text_of(library, "path"));
  });
  std::string own_runtimes;
  for_each_element(member(coverage, "went_round").value_or(""), [&](std::string_view way) {
    const std::string path = text_of(way, "path");
    if (text_of(way, "why") != "own_runtime") {
      check_way_round(way, has_cupti(metadata), report);
      return;
    }
    own_runtimes += (own_runtimes.empty() ? "" : ", ") + path.substr(path.rfind('/') + 1);
  });
  check_look_ups(metadata, coverage, report);
  if (own_runtimes.empty()) return;
  const std::string_view doors = member(metadata, "doors").value_or("");
  const bool driver =
      member(member(doors, "driver").value_or(""), "open").value_or("false") == "true";
  const std::string detail = own_runtimes + ": each has a CUDA runtime of its own";
  if (driver || has_cupti(metadata)) {
    report.yes("own runtimes", detail + ", seen through the driver and CUPTI");
  } else {
    report.no("own runtimes", detail + ", and neither the driver's door nor CUPTI was open",
              "set doors.driver and doors.cupti to true");
  }
}

// Where CUPTI could not be had.
void check_event_times(std::string_view metadata, std::string_view device, CheckReport& report) {
  std::string untimed;
  trace::for_each_member(member(metadata, "coverage").value_or(""),
                         [&](std::string_view name, std::string_view count) {
                           if (!name.starts_with("untimed_")) return;
                           untimed += (untimed.empty() ? "" : ", ") + std::string(name.substr(8)) +
                                      " " + std::string(count);
                         });
  report.no("device times",
            "of " + std::to_string(number_of(device, "timed_by_events")) +
                " calls alone, from CUDA events" +
                (untimed.empty() ? "" : " (not timed: " + untimed + ")"),
            text_of(device, "problem"));
}

// For the sake of budget.overhead and the like.
bool leaves_something_out(std::string_view metadata) {
  const std::string_view governor = member(metadata, "governor").value_or("");
  return member(governor, "left_out").value_or("[]") != "[]";
}

// Without a call there is nothing that a device could have done.
bool has_calls(std::string_view metadata) {
  const std::string_view doors = member(metadata, "doors").value_or("");
  std::int64_t calls = 0;
  for (const char* door : {"cudart", "nccl", "driver"}) {
    calls += number_of(member(doors, door).value_or(""), "calls");
  }
  return calls != 0;
}

// What a program did before its first step, where the schedule wanted later ones.
bool is_before_schedule(std::string_view metadata) {
  const std::string_view options = member(metadata, "options").value_or("");
  return text_of(member(metadata, "window").value_or(""), "kind").starts_with("startup") &&
         number_of(options, "schedule.skip_first") + number_of(options, "schedule.wait") != 0;
}

void check_device_source(std::string_view metadata, std::string_view device, CheckReport& report) {
  const std::string source = text_of(device, "source"), problem = text_of(device, "problem");
  if (source == "cupti") {
    report.yes("device times", "from CUPTI: " + std::to_string(number_of(device, "launches")) +
                                   " launches, " + std::to_string(number_of(device, "work")) +
                                   " pieces of work");
  } else if (!is_asked_for(metadata, "doors.cupti")) {
    report.missing_help("device times", "not asked for", "set doors.cupti to true");
  } else if (source == "cuda_events") {
    check_event_times(metadata, device, report);
  } else if (!has_calls(metadata) && problem.empty()) {
    report.yes("device times", "none, nor any call that could have asked for work");
  } else if (problem.empty() && is_before_schedule(metadata)) {
    report.no("device times", "none: CUPTI is on from the schedule's first warm-up step",
              "set schedule.skip_first and schedule.wait to 0 to have it from the beginning");
  } else {
    report.no("device times", problem.empty() ? "none: CUPTI was not on in this window" : problem,
              problem.empty() ? "see traceagent check, and add steps to schedule.warmup" : "");
  }
}

void check_device(std::string_view metadata, CheckReport& report) {
  const auto device = member(metadata, "device");
  if (!device) {
    report.no("device times", "the file is of a version that had none", "trace again");
    return;
  }
  check_device_source(metadata, *device, report);
  check_causes(metadata, member(*device, "launches_without_work").value_or(""), lost_work,
               "device work", " launches ", report);
  check_causes(metadata, member(*device, "work_without_launch").value_or(""), lost_launches,
               "launches", " kernels, copies or sets ", report);
  check_causes(metadata, member(*device, "nccl_kernels_without_call").value_or(""), lost_calls,
               "collectives", " kernels of NCCL's ", report);
  std::string calls;
  trace::for_each_member(member(*device, "calls_only_cupti_saw").value_or(""),
                         [&](std::string_view name, std::string_view count) {
                           calls += (calls.empty() ? "" : ", ") + std::string(name) + " " +
                                    std::string(count);
                         });
  if (calls.empty()) return;
  // Where our own records found no room, CUPTI's stand for them.
  const std::string_view dropped = member(metadata, "dropped").value_or("");
  const bool had_room = number_of(dropped, "ring_full") == 0 &&
                        number_of(dropped, "overwritten") == 0 && !leaves_something_out(metadata);
  report.yes(had_room ? "went round" : "from CUPTI alone",
             "in the trace all the same, through CUPTI: " + calls);
}

std::string list_of_texts(std::string_view array) {
  std::string list(array.size() < 2 ? std::string_view() : array.substr(1, array.size() - 2));
  std::erase(list, '"');
  for (std::size_t comma = 0; (comma = list.find(',', comma)) != std::string::npos; comma += 2) {
    if (list.compare(comma, 2, ", ") != 0) list.insert(comma + 1, " ");
  }
  return list;
}

// "at 0.412 s of the window: launches, copies (busiest thread, 3.1 %)"
std::string change_in_words(std::string_view change, std::int64_t begin_ns) {
  const std::int64_t ms = (number_of(change, "at_ns") - begin_ns) / 1'000'000;
  const std::string names = list_of_texts(member(change, "left_out").value_or("[]"));
  std::string when = "from its begin";
  if (ms > 0) {
    when = "from its " + std::to_string(ms / 1000) + "." +
           std::to_string(ms % 1000 + 1000).substr(1) + " s on";
  }
  const auto measured = member(change, "measured_percent");
  return when + ": " + (names.empty() ? "nothing" : names) + " (" + text_of(change, "because") +
         (measured ? ", " + std::string(*measured) + " %" : std::string()) + ")";
}

void check_governor(std::string_view metadata, CheckReport& report) {
  const std::string_view governor = member(metadata, "governor").value_or("");
  const char* const remedy = "raise the budget, or record fewer steps";
  if (const std::int64_t windows = number_of(governor, "windows_left_out"); windows != 0) {
    report.no("left out", std::to_string(windows) + " whole windows before this one", remedy);
  }
  if (!leaves_something_out(metadata)) return;
  const std::int64_t begin_ns = number_of(member(metadata, "window").value_or(""), "begin_ns");
  for_each_element(member(governor, "changes").value_or(""), [&](std::string_view change) {
    report.no("left out", change_in_words(change, begin_ns), remedy);
  });
}

void check_losses(std::string_view metadata, CheckReport& report) {
  const std::string_view dropped = member(metadata, "dropped").value_or("");
  const auto problems_before = report.problems();
  check_causes(metadata, dropped, drops, "losses", ": ", report);
  const std::string_view coverage = member(metadata, "coverage").value_or("");
  if (const std::int64_t cycles = number_of(coverage, "cycles_lost"); cycles != 0) {
    report.no("losses", std::to_string(cycles) + " cycles before this one were not recorded",
              "they came faster than their files were written, or the agent's thread had no CPU: "
              "add steps to schedule.wait");
  }
  if (const std::int64_t cycles = number_of(coverage, "cycles_begun_late"); cycles != 0) {
    report.no("losses", std::to_string(cycles) + " cycles until here lack their first steps",
              "they came faster than their files were written, or the agent's thread had no CPU: "
              "add steps to schedule.wait");
  }
  const std::string_view window = member(metadata, "window").value_or("");
  if (const std::string cut = text_of(window, "cut"); !cut.empty()) {
    report.no("losses", "the window lacks " + cut, "raise ring.size, or set step.mark");
  }
  if (is_of_dead(metadata)) {
    report.no("losses", "recovered after the process died: its last calls may be missing", "");
  } else if (is_recovered(metadata)) {
    report.yes("recovered", "from memory, when the process had ended: it could not write it");
  }
  const bool has_dropped = dropped.find_first_of("123456789") != std::string_view::npos;
  if (!has_dropped && report.problems() == problems_before) report.yes("losses", "none");
}

// To three digits.
std::string duration_in_words(std::uint64_t duration_ns) {
  std::uint64_t digit_ns = 1;
  while (duration_ns / digit_ns >= 1000) digit_ns *= 10;
  return config::show_duration((duration_ns + digit_ns / 2) / digit_ns * digit_ns);
}

// A wrong guess looks like any other trace: how they were found, and how long one is, tells.
void check_steps(std::string_view metadata, CheckReport& report) {
  const std::string_view window = member(metadata, "window").value_or("");
  const std::string found_by = text_of(metadata, "step_detection");
  if (!member(window, "first_step")) {
    report.missing_help("steps", "none was found: the window holds the program's beginning",
                        "name them: step.mark nvtx:NAME or call:FUNCTION; or run for longer");
    return;
  }
  const std::int64_t steps = number_of(window, "last_step") - number_of(window, "first_step") + 1;
  const std::int64_t window_ns = number_of(window, "end_ns") - number_of(window, "begin_ns");
  // Told with the first file that is written.
  std::string detail =
      found_by.empty() ? "how they were found is not known: the process died before its first file"
                       : found_by;
  if (steps > 0 && window_ns > 0) {
    const auto each_ns = static_cast<std::uint64_t>(window_ns / steps);
    detail += "; " + in_words(static_cast<std::uint64_t>(steps), "step") + " of " +
              duration_in_words(each_ns) + " here";
  }
  const std::int64_t shift =
      number_of(member(metadata, "coverage").value_or(""), "schedule_shift_steps");
  if (shift != 0) {
    detail += "; the schedule began " + in_words(static_cast<std::uint64_t>(shift), "step") +
              " late, when they were found";
  }
  report.yes("steps", detail);
  if (const std::int64_t hidden = number_of(window, "steps_not_shown"); hidden > 0) {
    report.no("steps not shown",
              in_words(static_cast<std::uint64_t>(hidden), "step") + " of " +
                  std::to_string(steps) + ", whose calls are there: 4096 are remembered at most",
              "lower schedule.active");
  }
}

void check_counters(std::string_view metadata, CheckReport& report) {
  const std::string_view counters = member(metadata, "counters").value_or("");
  for_each_element(member(counters, "not_covered").value_or(""), [&](std::string_view quoted) {
    const std::string what(quoted.substr(1, quoted.size() - 2));
    const bool is_short = what.starts_with("counters: none was read");
    report.missing_help("counters", is_short ? "none was read in this window" : what,
                        is_short ? "record a longer one" : "");
  });
}

std::string rank_title(std::string_view metadata) {
  const std::string_view identity = member(metadata, "identity").value_or("");
  const std::string_view window = member(metadata, "window").value_or("");
  std::string title = "Rank " + std::to_string(number_of(identity, "rank")) + " on " +
                      text_of(identity, "host") + ", pid " +
                      std::to_string(number_of(identity, "pid")) + ", cycle " +
                      std::to_string(number_of(window, "cycle"));
  if (member(window, "first_step")) {
    title += ", steps " + std::to_string(number_of(window, "first_step")) + " to " +
             std::to_string(number_of(window, "last_step"));
  }
  return title + ": " + std::to_string(number_of(metadata, "events")) + " events";
}

void check_all_causes(std::string_view metadata, CheckReport& report) {
  trace::for_each_member(member(metadata, "dropped").value_or(""),
                         [&](std::string_view cause, std::string_view count) {
                           report.no("losses", std::string(count) + ": " + std::string(cause), "");
                         });
}

// What whoever merged it saw of a file of ours; its writer's own account stands by itself, where
// that was there to be read.
void check_damage(std::string_view metadata, CheckReport& report) {
  report.section("Damaged: " + text_of(metadata, "damaged"));
  check_all_causes(metadata, report);
  if (member(metadata, "end_is_lost").value_or("") == "true") {
    report.no("account", "what its writer said at its end is lost", "copy the file again");
  }
}

// Of another program's file: what was read of it. What that program missed is not known.
void check_import(std::string_view metadata, std::string_view imported, CheckReport& report) {
  const std::string_view identity = member(metadata, "identity").value_or("");
  report.section("Rank " + std::to_string(number_of(identity, "rank")) + ", imported from " +
                 text_of(imported, "file") + " (" + text_of(imported, "kind") +
                 "): " + std::to_string(number_of(imported, "events")) + " events");
  const std::string problem = text_of(imported, "problem");
  if (problem.empty()) {
    report.yes("file", "read whole");
  } else {
    report.no("file", problem, "");
  }
  if (member(imported, "has_clock").value_or("") == "false" && number_of(imported, "events") != 0) {
    report.missing_help("clock", "it has none, and begins where the first other file does",
                        "its times tell nothing beside others'");
  }
  check_all_causes(metadata, report);
  if (const std::int64_t crowded = number_of(imported, "crowded"); crowded != 0) {
    report.no("lanes", std::to_string(crowded) + " events are in lanes that they share", "");
  }
}

}  // namespace

void check_rank(std::string_view metadata, CheckReport& report) {
  if (const auto imported = member(metadata, "imported")) {
    return check_import(metadata, *imported, report);
  }
  if (member(metadata, "damaged")) return check_damage(metadata, report);
  report.section(rank_title(metadata));
  check_steps(metadata, report);
  check_doors(metadata, report);
  check_libraries(metadata, report);
  check_device(metadata, report);
  check_losses(metadata, report);
  check_governor(metadata, report);
  check_counters(metadata, report);
}

}  // namespace traceagent::tools
