#include "agent/trace/json_scan.hpp"
#include "tools/check_trace.hpp"

namespace traceagent::tools {

using trace::for_each_element;
using trace::integer_member;
using trace::member;
using trace::string_member;

namespace {

struct Remedy {
  std::string_view cause;
  const char* meaning;
  const char* remedy;
};

// Of "dropped": ring::drop_cause_names.
constexpr Remedy drops[] = {
    {"ring_full", "events found no room in the ring", "raise ring.size, or record fewer steps"},
    {"overwritten", "events were overwritten, as ring.full says", "raise ring.size"},
    {"during_start", "calls came while another thread started the agent", "begin with a warm-up"},
    {"names_full", "names found no room", "raise ring.size"},
    {"ranges_too_deep", "NVTX ranges were nested too deeply", "close ranges"},
    {"range_unmatched", "NVTX ranges ended that had not begun in the trace", "close ranges"},
    {"communicators_full", "communicators found no room", "destroy those not in use"},
    {"step_tokens_full", "step detection missed calls, no event is lost", "set step.mark"},
    {"device_ring_full", "device records found no room in the ring", "raise ring.size"},
    {"device_dropped", "CUPTI had no buffer for device records", "raise device.buffers"},
    {"device_late", "device work had not been told when the file was written",
     "raise device.settle"},
    {"plan_ring_full", "NCCL's own records found no room in the ring", "raise ring.size"},
};

// Of "launches_without_work"; "no_work" (a copy of 0 bytes) lacks nothing.
constexpr Remedy lost_work[] = {
    {"before_recording", "came before CUPTI was on", "add steps to schedule.warmup"},
    {"late", "had not ended when the file was written", "raise device.settle"},
    {"lost", "lost their record: see the losses", "raise device.buffers and ring.size"},
    {"unknown", "have no device record and no known cause", "report this as a bug"},
};

// Of "work_without_launch"; "launched_before_window" lacks nothing.
constexpr Remedy lost_launches[] = {
    {"call_lost", "lost the record of their call: see the losses", "raise ring.size"},
    {"unknown", "were launched by no call that was seen", "report this as a bug"},
};

// Of "went_round", what process::WayRound names.
constexpr Remedy ways_round[] = {
    {"other_copy", "is a second copy of a library that is wrapped already", "let all use one copy"},
    {"namespace", "was loaded by dlmopen", "load it with dlopen"},
    {"unknown_major", "is newer than this agent knows", "use a newer TraceAgent"},
};

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

// Each cause of the table with what it counted; `what` is counted.
template <std::size_t size>
void check_causes(std::string_view counts, const Remedy (&table)[size], const char* title,
                  const char* what, CheckReport& report) {
  for (const Remedy& row : table) {
    const std::int64_t count = number_of(counts, row.cause);
    if (count == 0) continue;
    report.no(title, std::to_string(count) + what + row.meaning, row.remedy);
  }
}

bool is_asked_for(std::string_view metadata, const std::string& option) {
  const auto options = member(metadata, "options");
  return !options || member(*options, option).value_or("true") != "false";
}

void check_doors(std::string_view metadata, CheckReport& report) {
  trace::for_each_member(member(metadata, "doors").value_or(""), [&](std::string_view name,
                                                                     std::string_view door) {
    const std::string title = "door " + std::string(name);
    const bool has_count = member(door, "calls").has_value();
    const std::string calls = std::to_string(number_of(door, "calls")) + " records";
    if (member(door, "open").value_or("false") == "true" || number_of(door, "calls") > 0) {
      report.yes(title, has_count ? calls : "open");
    } else if (!is_asked_for(metadata, "doors." + std::string(name))) {
      report.missing_help(title, "shut", "set doors." + std::string(name) + " to true");
    } else {
      report.missing_help(title, "not open", "nothing asked for it, or its library is not here");
    }
  });
}

void check_libraries(std::string_view metadata, CheckReport& report) {
  const std::string_view coverage = member(metadata, "coverage").value_or("");
  for_each_element(member(coverage, "libraries").value_or(""), [&](std::string_view library) {
    report.yes(text_of(library, "name"), std::to_string(number_of(library, "functions")) +
                                             " functions in use: " + text_of(library, "path"));
  });
  std::string own_runtimes;
  for_each_element(member(coverage, "went_round").value_or(""), [&](std::string_view way) {
    const std::string path = text_of(way, "path"), why = text_of(way, "why");
    const Remedy* row = find(ways_round, why);
    if (why == "own_runtime") {
      own_runtimes += (own_runtimes.empty() ? "" : ", ") + path.substr(path.rfind('/') + 1);
    } else {
      report.no("went round", path + " " + (row == nullptr ? why : row->meaning),
                row == nullptr ? "use a newer TraceAgent" : row->remedy);
    }
  });
  if (own_runtimes.empty()) return;
  const std::string_view doors = member(metadata, "doors").value_or("");
  const bool driver =
      member(member(doors, "driver").value_or(""), "open").value_or("false") == "true";
  const std::string detail = own_runtimes + ": each has a CUDA runtime of its own";
  if (driver || text_of(member(metadata, "device").value_or(""), "source") == "cupti") {
    report.yes("own runtimes", detail + ", seen through the driver and CUPTI");
  } else {
    report.no("own runtimes", detail + ", and neither the driver's door nor CUPTI was open",
              "set doors.driver and doors.cupti to true");
  }
}

void check_device_source(std::string_view metadata, std::string_view device, CheckReport& report) {
  const std::string source = text_of(device, "source"), problem = text_of(device, "problem");
  const std::string numbers = std::to_string(number_of(device, "launches")) + " launches, " +
                              std::to_string(number_of(device, "work")) + " pieces of work";
  if (source == "cupti") {
    report.yes("device times", "from CUPTI: " + numbers);
  } else if (!is_asked_for(metadata, "doors.cupti")) {
    report.missing_help("device times", "not asked for", "set doors.cupti to true");
  } else if (source == "cuda_events") {
    report.no("device times", "of NCCL alone, from CUDA events", problem);
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
  check_causes(member(*device, "launches_without_work").value_or(""), lost_work, "device work",
               " launches ", report);
  check_causes(member(*device, "work_without_launch").value_or(""), lost_launches, "launches",
               " kernels, copies or sets ", report);
  std::string calls;
  trace::for_each_member(member(*device, "calls_only_cupti_saw").value_or(""),
                         [&](std::string_view name, std::string_view count) {
                           calls += (calls.empty() ? "" : ", ") + std::string(name) + " " +
                                    std::string(count);
                         });
  if (!calls.empty()) {
    report.yes("went round", "in the trace all the same, through CUPTI: " + calls);
  }
}

void check_losses(std::string_view metadata, CheckReport& report) {
  const std::string_view dropped = member(metadata, "dropped").value_or("");
  if (dropped.find_first_of("123456789") == std::string_view::npos) {
    report.yes("losses", "none");
  }
  check_causes(dropped, drops, "losses", ": ", report);
  const std::string_view window = member(metadata, "window").value_or("");
  if (const std::string cut = text_of(window, "cut"); !cut.empty()) {
    report.no("losses", "the window lacks " + cut, "raise ring.size, or set step.mark");
  }
  if (member(metadata, "recovered").value_or("") == "true") {
    report.no("losses", "recovered after the process died: its last calls may be missing", "");
  }
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

}  // namespace

void check_rank(std::string_view metadata, CheckReport& report) {
  report.section(rank_title(metadata));
  check_doors(metadata, report);
  check_libraries(metadata, report);
  check_device(metadata, report);
  check_losses(metadata, report);
}

}  // namespace traceagent::tools
