#include "tools/check_trace.hpp"

#include <cstdint>
#include <vector>

#include "agent/trace/job_ranks.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tools/check_node_steps.hpp"

namespace traceagent::tools {

using trace::for_each_element;
using trace::JobRanks;
using trace::member;

namespace {

std::string text_in(std::string_view object, std::string_view key) {
  return std::string(trace::string_member(object, key).value_or(""));
}

std::string of_job_in_words(const JobRanks& job) {
  return job.world_size() > 0 ? " of the job's " + std::to_string(job.world_size()) : "";
}

// What is no fault: files of one node are mostly meant to be, and ranks may have been chosen.
std::string ranks_in_words(const JobRanks& job) {
  if (job.world_size() == 0) return "all are here that were waited for";
  const std::vector<std::int64_t> absent = job.absent();
  if (absent.empty()) return "all" + of_job_in_words(job) + " are here";
  const bool is_whole_node =
      job.is_of_one_node() && job.is_node_size_known() && job.missing_of_node_in_words().empty();
  if (is_whole_node) {
    return "all " + std::to_string(job.ranks_of_node()) + " of node " +
           std::to_string(job.node_rank()) + " are here," + of_job_in_words(job) +
           ": the others are of other nodes";
  }
  return "not here: " + trace::ranks_in_words(absent) + of_job_in_words(job);
}

void check_ranks(std::string_view metadata, const JobRanks& job, CheckReport& report) {
  std::vector<std::int64_t> missing;
  for_each_element(member(metadata, "missing_ranks").value_or(""), [&](std::string_view rank) {
    if (const auto number = trace::parse_integer(rank)) missing.push_back(*number);
  });
  if (missing.empty()) {
    report.yes("ranks", ranks_in_words(job));
  } else {
    report.no("ranks", "missing: " + trace::ranks_in_words(missing) + of_job_in_words(job),
              "traceagent recover, if they were killed, then traceagent merge with their files");
  }
}

void check_node(std::string_view metadata, CheckReport& report) {
  JobRanks job;
  for_each_element(member(metadata, "merged").value_or(""), [&](std::string_view rank) {
    check_rank(rank, report);
    job.add_metadata(rank);
  });
  report.section("The node's file");
  check_ranks(metadata, job, report);
  check_node_steps(member(metadata, "merged").value_or(""), report);
  for_each_element(member(metadata, "incomplete").value_or(""), [&](std::string_view fault) {
    report.no("incomplete", text_in(fault, "file"), text_in(fault, "problem"));
  });
}

std::string counts_in_words(std::string_view counts) {
  std::string words;
  trace::for_each_member(counts, [&](std::string_view why, std::string_view events) {
    words += (words.empty() ? "" : ", ") + std::string(why) + " " + std::string(events);
  });
  return words.empty() ? "none" : words;
}

std::string left_out_in_words(std::string_view metadata) {
  const auto exact = member(metadata, "left_out");
  const auto at_most = member(metadata, "left_out_at_most");
  std::string words = exact ? counts_in_words(*exact) : "";
  const auto add = [&words](const std::string& more) {
    words += (words.empty() ? "" : "; ") + more;
  };
  if (at_most && *at_most != "null") {
    add("of parts that were merged again, at most: " + counts_in_words(*at_most));
  } else if (at_most || !exact) {
    add("of parts that were merged again: not known");
  }
  const auto clipped = member(metadata, "clipped");
  const auto at_most_clipped = member(metadata, "clipped_at_most");
  if (clipped) add(std::string(*clipped) + " more are there, cut at the edges");
  if (at_most_clipped) {
    add("at most " + std::string(*at_most_clipped) + " more are there, cut at the edges");
  }
  return words;
}

void add_to(FoundJobs& jobs, std::string_view rank_metadata, bool is_rank_file) {
  const std::string_view identity = member(rank_metadata, "identity").value_or("");
  const std::string run_key = text_in(identity, "run_key");
  if (run_key.empty()) return;
  FoundJob& job = jobs[run_key];
  job.ranks.add_metadata(rank_metadata);
  job.has_rank_file |= is_rank_file;
}

// Of one that cannot be read to its end.
void add_to(FoundJobs& jobs, const trace::TraceHeader& header) {
  const std::string run_key = text_in(header.distributed_info, "run_key");
  if (!run_key.empty()) jobs[run_key].ranks.add_cut(header.distributed_info);
}

// What each rank says of itself is of all that it wrote.
void check_choice(const trace::TraceReader& reader, CheckReport& report) {
  if (reader.header().selections.empty()) return;
  report.section("A part of a trace");
  report.yes("chosen",
             "events left out by who merged: " + left_out_in_words(reader.footer().metadata) +
                 "; what ranks say above is of all that they wrote");
}

}  // namespace

bool check_trace(const std::string& path, CheckReport& report, std::string& problem,
                 FoundJobs* jobs) {
  trace::TraceReader reader;
  std::int64_t events = 0;
  bool is_read = reader.open(path);
  while (is_read) {
    const trace::TraceLine::Kind kind = reader.next().kind;
    if (kind == trace::TraceLine::Kind::end) break;
    events += kind == trace::TraceLine::Kind::event ? 1 : 0;
  }
  // Else all that it says can be read, and that lines are gone is one more thing to say.
  problem = reader.is_whole_but_for_lines() ? "" : reader.problem();
  if (!problem.empty()) {
    if (jobs != nullptr) add_to(*jobs, reader.header());
    report.section("The file");
    if (events == 0) {
      report.no("whole", "nothing could be read of it", "");
    } else {
      report.no("whole", std::to_string(events) + " events could be read",
                "traceagent merge " + path + " -o NEW makes a trace of them");
    }
    return false;
  }
  const std::string& metadata = reader.footer().metadata;
  if (const auto merged = member(metadata, "merged")) {
    check_node(metadata, report);
    for_each_element(*merged, [&](std::string_view rank) {
      if (jobs != nullptr) add_to(*jobs, rank, false);
    });
  } else {
    check_rank(metadata, report);
    if (jobs != nullptr) add_to(*jobs, metadata, true);
  }
  const std::int64_t written = trace::integer_member(metadata, "events").value_or(0);
  if (events != written) {
    report.no("events",
              std::to_string(events) + " in the file, " + std::to_string(written) + " were written",
              "the file was changed: trace again");
  }
  check_choice(reader, report);
  if (!reader.footer().complete && report.problems() == 0) {
    report.no("complete", "its writer does not say that it is", "trace again");
  }
  return true;
}

}  // namespace traceagent::tools
