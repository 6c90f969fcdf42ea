#include "agent/trace/shared_events.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "agent/trace/corrected_sources.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

// What is left to share: parts that were chosen of the same sources, or such a part and a source.
void mark_sharing(std::vector<MergeInput>& inputs) {
  std::map<std::string, std::vector<MergeInput*>> holders;
  for (MergeInput& input : inputs) {
    input.shares_events = false;
    if (!input.is_used()) continue;
    for (const std::string& source : sources_of(input)) {
      holders[identity_of(source)].push_back(&input);
    }
  }
  for (const auto& [source, sharing] : holders) {
    for (MergeInput* const input : sharing) {
      input->shares_events = input->shares_events || sharing.size() > 1;
    }
  }
}

std::string mark_of(std::string_view content) {
  return std::string(content.substr(0, content.find('#')));
}

// Of a file of others with real times: an input that is it, or holds it.
struct Holding {
  MergeInput* input;
  std::string mark;
  std::string begins;
  std::string correction;  // correction_mark(); of a saved file nothing: it moves none

  [[nodiscard]] bool is_state_of(const Holding& other) const {
    return input != other.input && mark != other.mark && begin_alike(begins, other.begins);
  }
};

using Beginning =
    std::pair<std::int64_t, std::string>;  // of a rank, what all of begins_member have
using Holdings = std::map<Beginning, std::vector<Holding>>;

std::string correction_of(const MergeInput& input, const std::string& source) {
  const std::string mark = correction_mark(input, source);
  return mark.starts_with(saved_mark) ? std::string() : mark;
}

Holdings holdings_in(std::vector<MergeInput>& inputs) {
  Holdings holdings;
  for (MergeInput& input : inputs) {
    const bool is_own_rank_file = input.header.sources.empty() && input.imported_mark.empty();
    if (!input.is_used() || is_own_rank_file) continue;
    for (const std::string& source : sources_of(input)) {
      const auto begins = string_member(source, begins_member);
      const auto content = string_member(source, content_member);
      if (!begins || !content || member(source, has_clock_member) == "false") continue;
      const std::int64_t rank = integer_member(source, "rank").value_or(0);
      holdings[{rank, std::string(begins->substr(0, begins->find(' ')))}].push_back(
          {&input, mark_of(*content), std::string(*begins), correction_of(input, source)});
    }
  }
  return holdings;
}

// Of each that has another state of its file, the first such one.
template <typename Visit>
void for_each_state(const Holdings& holdings, const Visit& visit) {
  for (const auto& [beginning, file] : holdings) {
    for (const Holding& each : file) {
      const auto other = std::find_if(file.begin(), file.end(),
                                      [&](const Holding& one) { return each.is_state_of(one); });
      if (other != file.end()) visit(beginning.first, each, *other);
    }
  }
}

// What an imported file has become is one file: it may have an event twice, in two of its runs.
void mark_files(std::vector<MergeInput>& inputs) {
  std::map<std::string, std::size_t> files;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& mark = inputs[i].imported_mark;
    inputs[i].of_file = mark.empty() ? i : files.try_emplace(mark, i).first->second;
  }
  // Of very many runs some were merged before.
  for (MergeInput& input : inputs) {
    if (!input.imported_mark.empty() || files.empty()) continue;
    std::set<std::string> marks;
    for (const std::string& source : sources_of(input)) {
      marks.insert(mark_of(string_member(source, content_member).value_or("")));
    }
    const auto file = files.find(*marks.begin());
    if (marks.size() == 1 && file != files.end()) input.of_file = file->second;
  }
}

// The events of a file may be in any of its runs, and of one that another program has saved the
// head alone tells what it was made of.
void spread_over_files(std::vector<MergeInput>& inputs) {
  std::map<std::size_t, std::set<std::int64_t>> ranks;
  for (const MergeInput& input : inputs) {
    ranks[input.of_file].insert(input.may_share_ranks.begin(), input.may_share_ranks.end());
  }
  for (MergeInput& input : inputs) input.may_share_ranks = ranks[input.of_file];
}

}  // namespace

// Copied before it was written to its end, or cut, the text of a file is another one, and so it is
// another file for all that goes by texts.
void mark_shared(std::vector<MergeInput>& inputs) {
  mark_sharing(inputs);
  mark_files(inputs);
  for (MergeInput& input : inputs) input.may_share_ranks.clear();
  for_each_state(holdings_in(inputs), [](std::int64_t rank, const Holding& each, const Holding&) {
    each.input->may_share_ranks.insert(rank);
  });
  spread_over_files(inputs);
}

// Where the times of the one were moved and those of the other not, no event of the one is equal to
// the other's.
void tell_states_moved_apart(std::vector<MergeInput>& inputs) {
  const auto tell = [](std::int64_t, const Holding& each, const Holding& other) {
    MergedInput& report = each.input->report;
    const bool is_told = !other.input->report.problem.empty() || !report.problem.empty();
    if (is_told || each.correction == other.correction) return;
    report.problem = "states of one file: " + report.given +
                     ": it holds one that begins as one in " + other.input->report.given +
                     " does, whose clock was corrected otherwise: events may be there twice: give "
                     "the rank files instead";
  };
  for_each_state(holdings_in(inputs), tell);
}

}  // namespace traceagent::trace
