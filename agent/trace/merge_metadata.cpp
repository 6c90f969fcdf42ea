#include "agent/trace/merge_metadata.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/left_out_counts.hpp"
#include "agent/trace/process_ids.hpp"

namespace traceagent::trace {

namespace {

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What a damaged file has lost beside what its writer says: a merge of the merged file knows it
// too.
std::string losses_of(const MergeInput& input) {
  JsonObject losses;
  losses.add("damaged", name_of(input.report.given));
  if (input.header.sources.empty()) losses.add("rank", input.header.rank);
  JsonObject dropped;
  for (const auto& [cause, count] : input.lost) dropped.add(cause, count);
  losses.add("dropped", dropped);
  if (input.footer.metadata.empty()) losses.add("end_is_lost", true);
  return losses.text();
}

// The sources that are given as whole files.
std::set<std::string> whole_rank_files(const std::vector<MergeInput>& inputs) {
  std::set<std::string> whole;
  for (const MergeInput& input : inputs) {
    const bool is_whole = input.is_used() && input.header.sources.empty() &&
                          input.report.problem.empty() && input.footer.closed;
    if (is_whole) whole.merge(identities_of(input));
  }
  return whole;
}

// The files of which a merged one holds what was left of them, and which are given whole now: what
// it lacks of them is here.
std::set<std::string> files_settled(const MergeInput& merged, const std::set<std::string>& whole) {
  std::set<std::string> settled;
  for (const auto& [file, sources] : merged.cut_sources) {
    if (std::ranges::includes(whole, sources)) settled.insert(file);
  }
  return settled;
}

bool is_ranks_of_node(std::string_view file) {
  constexpr std::string_view mark = ranks_of_node_mark;
  return file.starts_with(mark) && parse_integer(file.substr(mark.size())).has_value();
}

// Of ours there is one that is used, and it is a merged one.
bool is_one_merged(const std::vector<MergeInput>& inputs) {
  const auto is_used = [](const MergeInput& input) {
    return input.is_used() && input.imported_mark.empty();
  };
  const auto first = std::ranges::find_if(inputs, is_used);
  return std::ranges::count_if(inputs, is_used) == 1 &&
         member(first->footer.metadata, "merged").has_value();
}

class Collector {
 public:
  Collector(MergeReport& report, const MergeOptions& options, RanksWanted wanted)
      : report_(report),
        selection_(options.selection),
        is_settled_(options.is_settled),
        wanted_(wanted) {
    if (wanted == RanksWanted::of_node) report_.job_ranks.take_for_one_nodes();
  }

  void add(const MergeInput& input, const std::set<std::string>& whole) {
    const std::string_view metadata = input.footer.metadata;
    settled_ = files_settled(input, whole);
    const auto merged = member(metadata, "merged");
    is_shared_ = input.shares_events;
    if (merged) {
      for_each_element(*merged, [this](std::string_view rank) { add_rank(rank); });
      add_faults_of_merged(metadata);
    } else if (!metadata.empty()) {
      add_rank(metadata);
    } else if (input.imported_mark.empty()) {
      add_ranks_of_cut(input.header);
    }
    if (!input.lost.empty()) add_rank(losses_of(input));
    if (!input.report.problem.empty()) {
      add_incomplete(input.report.given, input.report.problem);
    } else if (const auto imported = member(metadata, "imported"); imported) {
      add_fault_of_import(*imported);
    } else if (!merged && !input.report.complete) {
      add_incomplete(input.report.given, writer_lost_something);
    }
  }

  // Once: an input that was merged before may say the same.
  void add_unfinished(const Unfinished& process) { add_once(process.who, process.why); }

  // After all inputs.
  void look_for_all_ranks() {
    JobRanks& job = report_.job_ranks;
    if (wanted_ == RanksWanted::of_told_node) {
      if (!job.is_node_rank_known()) return;
      job.take_for_one_nodes();
    }
    const bool wants_some = wanted_ != RanksWanted::none;
    if (!has_all_ranks()) {  // those that are asked for are, by their numbers: see finish()
      if (wants_some) insert_missing(job.absent());
      return;
    }
    if (wants_some) insert_missing(job.missing());
    // Else as the one that was merged says.
    if (wants_some || is_node_told_) report_.missing_of_node = job.missing_of_node_in_words();
    if (report_.missing_of_node.empty() || !wants_some) return;
    add_once(ranks_of_node_mark + std::to_string(job.node_rank()),
             "no file of " + report_.missing_of_node + ": give it too");
  }

  void finish() {
    for (const std::int64_t rank : report_.job_ranks.ranks()) missing_.erase(rank);
    std::erase_if(missing_, [this](std::int64_t rank) { return !has_rank(rank); });
    report_.missing_ranks.assign(missing_.begin(), missing_.end());
  }

  [[nodiscard]] const std::string& ranks_text() const { return ranks_text_; }
  // Whose numbers several processes of one run key have.
  [[nodiscard]] const std::set<std::int64_t>& ranks_shared() const { return ranks_shared_; }
  // Of the files that are not complete.
  [[nodiscard]] const std::string& faults_text() const { return faults_text_; }

 private:
  bool has_all_ranks() const { return selection_ == nullptr || selection_->has_all_ranks(); }
  void insert_missing(const std::vector<std::int64_t>& ranks) {
    missing_.insert(ranks.begin(), ranks.end());
  }

  bool has_rank(std::int64_t rank) const {
    return selection_ == nullptr || selection_->has_rank(rank);
  }

  void add_rank(std::string_view metadata) {
    const std::string_view identity = member(metadata, "identity").value_or(metadata);
    const auto rank = integer_member(identity, "rank");
    if (rank && !has_rank(*rank)) {
      return;
    }
    if (is_settled(string_member(metadata, "damaged").value_or(""))) return;
    if (is_shared_ && !shared_.emplace(metadata).second) {
      return;
    }
    ranks_text_.append(ranks_text_.empty() ? "\n" : ",\n").append(metadata);
    report_.job_ranks.add_metadata(metadata);
    note_process(identity);
    const std::string process(member(metadata, "identity").value_or(""));
    for_each_member(member(metadata, "dropped").value_or(""), [&](std::string_view cause,
                                                                  std::string_view count) {
      const std::int64_t number = parse_integer(count).value_or(0);
      if (number > 0) {
        add_dropped(process, std::string(cause), static_cast<std::uint64_t>(number));
      }
    });
  }

  void add_ranks_of_cut(const TraceHeader& header) {
    if (header.sources.empty()) report_.job_ranks.add_cut(header.distributed_info);
    for (const std::string& source : header.sources) {
      if (const auto rank = integer_member(source, "rank")) report_.job_ranks.add_rank(*rank);
    }
  }

  // Of another run key the headers tell (ranks_of_several_runs()).
  void note_process(std::string_view identity) {
    const auto trace_pid = integer_member(identity, "trace_pid");
    const auto pid = integer_member(identity, "pid");
    if (!trace_pid || !pid) return;
    const Lanes lanes(string_member(identity, "run_key").value_or(""), *trace_pid);
    const Process process(string_member(identity, "host").value_or(""), *pid);
    const bool is_same = process_of_.try_emplace(lanes, process).first->second == process;
    if (!is_same) ranks_shared_.insert(rank_of_pid(*trace_pid));
  }

  // A name that was lost is missing in all later windows: each file of a process counts all so far.
  void add_dropped(const std::string& process, const std::string& cause, std::uint64_t count) {
    std::uint64_t& sum = report_.dropped[cause];
    if (process.empty() || (cause != "names_full" && cause != "communicators_full")) {
      sum += count;
      return;
    }
    std::uint64_t& known = so_far_[{process, cause}];
    sum += count - std::min(count, known);
    known = std::max(known, count);
  }

  void add_faults_of_merged(std::string_view metadata) {
    for_each_element(member(metadata, "missing_ranks").value_or(""), [this](std::string_view rank) {
      missing_.insert(parse_integer(rank).value_or(0));
    });
    for_each_element(member(metadata, "incomplete").value_or(""), [this](std::string_view fault) {
      const std::string_view file = string_member(fault, "file").value_or("");
      const bool is_included = is_settled_ && is_settled_(unescaped(file));
      const bool is_of_node = is_ranks_of_node(file);
      is_node_told_ |= is_of_node;
      // It is looked for anew, or ranks were chosen.
      const bool is_old = is_of_node && (wanted_ != RanksWanted::none || !has_all_ranks());
      const bool is_told = (is_shared_ && !shared_.emplace(fault).second) || is_old;
      if (!is_included && !is_settled(file) && !is_told) add_fault(fault);
    });
  }

  // The file that it was imported from: the input's own name is the import's.
  void add_fault_of_import(std::string_view imported) {
    const auto problem = member(imported, "problem");
    if (!problem) {
      return;
    }
    add_fault(
        JsonObject()
            .add("file", JsonValue::raw(std::string(member(imported, "file").value_or("null"))))
            .add("problem", JsonValue::raw(std::string(*problem)))
            .text());
  }

  void add_incomplete(const std::string& path, const std::string& problem) {
    add_once(name_of(path), problem);
  }

  // All that an imported file has become is of one name.
  void add_once(const std::string& file, const std::string& problem) {
    const std::string fault = JsonObject().add("file", file).add("problem", problem).text();
    if (faults_text_.find(fault) == std::string::npos) add_fault(fault);
  }

  // One a line: those of a long job's files must not outgrow the longest line that a reader takes.
  void add_fault(std::string_view fault) {
    faults_text_.append(faults_text_.empty() ? "" : ",\n").append(fault);
  }

  [[nodiscard]] bool is_settled(std::string_view file) const {
    return !settled_.empty() && settled_.contains(unescaped(file));
  }

  MergeReport& report_;
  const Selection* const selection_;
  const std::function<bool(std::string_view)>& is_settled_;
  const RanksWanted wanted_;
  bool is_node_told_ = false;
  std::string ranks_text_;
  std::set<std::int64_t> missing_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> so_far_;  // by process and cause
  std::string faults_text_;
  bool is_shared_ = false;         // the input that is added, with others
  std::set<std::string> shared_;   // what such inputs say of their ranks and faults: each once
  std::set<std::string> settled_;  // of the input that is added: files_settled()
  using Lanes = std::pair<std::string, std::int64_t>;    // run key, pid in the trace
  using Process = std::pair<std::string, std::int64_t>;  // host, pid
  std::map<Lanes, Process> process_of_;
  std::set<std::int64_t> ranks_shared_;
};

}  // namespace

std::string merged_metadata(const std::vector<MergeInput>& inputs, const MergeOptions& options,
                            MergeReport& report) {
  Collector collector(report, options,
                      is_one_merged(inputs) ? RanksWanted::none : options.ranks_wanted);
  LeftOutCounts left_out;
  if (options.selection != nullptr) {
    left_out.add_own(options.selection->left_out(), options.selection->clipped());
  }
  const std::set<std::string> whole = whole_rank_files(inputs);
  for (const MergeInput& input : inputs) {
    if (input.report.left_out.empty() || !input.report.problem.empty()) {
      collector.add(input, whole);
    }
    if (input.is_used()) left_out.add(input, input.footer.metadata);
  }
  for (const std::int64_t rank : collector.ranks_shared()) {
    report.mixed.push_back({"rank " + std::to_string(rank), of_several_processes});
  }
  for (const Unfinished& process : options.unfinished) {
    collector.add_unfinished(process);
  }
  for (const Unfinished& rank : report.mixed) {
    collector.add_unfinished(rank);
  }
  collector.look_for_all_ranks();
  collector.finish();
  report.complete = collector.faults_text().empty() && report.missing_ranks.empty();

  JsonObject dropped;
  for (const auto& [cause, count] : report.dropped) {
    dropped.add(cause, count);
  }
  JsonObject rest;
  rest.add("events", report.events).add("dropped", dropped);
  rest.add("missing_ranks", report.missing_ranks)
      .add("incomplete", JsonValue::raw("[" + collector.faults_text() + "]"));
  rest.add_all(left_out.members()).add_all(options.metadata);
  return "{\"merged\": [" + collector.ranks_text() + "\n], " + rest.members() + "}";
}

}  // namespace traceagent::trace
