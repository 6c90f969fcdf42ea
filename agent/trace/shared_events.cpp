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

// The marks of the imported files that are inputs, or what those have become.
std::set<std::string> marks_of_given(const std::vector<MergeInput>& inputs) {
  std::set<std::string> marks;
  for (const MergeInput& input : inputs) {
    const auto content = string_member(input.header.distributed_info, "content");
    if (input.is_used() && content) marks.insert(mark_of(*content));
  }
  return marks;
}

// Of a file of others with real times: an input that is it, or holds it.
struct Holding {
  MergeInput* input;
  std::string mark;
  std::string correction;  // correction_mark()

  [[nodiscard]] bool is_another_file(const Holding& other) const {
    return input != other.input && mark != other.mark;
  }
};

using Beginning = std::pair<std::int64_t, std::string>;  // of a rank, begins_member

std::map<Beginning, std::vector<Holding>> holdings_in(std::vector<MergeInput>& inputs) {
  std::map<Beginning, std::vector<Holding>> holdings;
  for (MergeInput& input : inputs) {
    const bool is_own_rank_file =
        input.header.sources.empty() && !string_member(input.header.distributed_info, "content");
    if (!input.is_used() || is_own_rank_file) continue;
    for (const std::string& source : sources_of(input)) {
      const auto begins = string_member(source, begins_member);
      const auto content = string_member(source, "content");
      if (!begins || !content || member(source, has_clock_member) == "false") continue;
      holdings[{integer_member(source, "rank").value_or(0), std::string(*begins)}].push_back(
          {&input, mark_of(*content), correction_mark(input, source)});
    }
  }
  return holdings;
}

// Where the times of the one were moved and those of the other not, no event of the one is equal
// to the other's.
void tell_moved_apart(const std::vector<Holding>& file) {
  for (const Holding& each : file) {
    if (!each.is_another_file(file.front()) || each.correction == file.front().correction) continue;
    MergeInput& input = *each.input;
    if (!input.report.problem.empty()) continue;
    input.report.problem = "states of one file: " + input.report.given +
                           ": it holds one that begins as one in " +
                           file.front().input->report.given +
                           " does, whose clock was corrected otherwise: events may be there twice: "
                           "give the rank files instead";
  }
}

// Copied before it was written to its end, or cut: its text is another one, and so it is another
// file for all that goes by texts.
void mark_states_of_one_file(const std::vector<Holding>& file) {
  const bool are_several = std::any_of(file.begin(), file.end(), [&](const Holding& each) {
    return each.is_another_file(file.front());
  });
  if (!are_several) return;
  for (const Holding& each : file) each.input->may_share_events = true;
}

// What an imported file has become is one file: it may have an event twice, in two of its runs.
void mark_files(std::vector<MergeInput>& inputs, const std::set<std::string>& given) {
  std::map<std::string, std::size_t> files;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].of_file = i;
    if (given.empty()) continue;  // as where a job's own files are merged, perhaps many thousands
    std::set<std::string> marks;
    for (const std::string& source : sources_of(inputs[i])) {
      marks.insert(mark_of(string_member(source, "content").value_or("")));
    }
    const bool is_one = marks.size() == 1 && given.contains(*marks.begin());
    if (is_one) inputs[i].of_file = files.try_emplace(*marks.begin(), i).first->second;
  }
}

}  // namespace

void mark_shared(std::vector<MergeInput>& inputs) {
  mark_sharing(inputs);
  const std::set<std::string> given = marks_of_given(inputs);
  mark_files(inputs, given);
  for (MergeInput& input : inputs) input.may_share_events = false;
  for (const auto& [beginning, file] : holdings_in(inputs)) mark_states_of_one_file(file);
}

void tell_states_moved_apart(std::vector<MergeInput>& inputs) {
  for (const auto& [beginning, file] : holdings_in(inputs)) tell_moved_apart(file);
}

}  // namespace traceagent::trace
