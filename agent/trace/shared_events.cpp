#include "agent/trace/shared_events.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "agent/trace/cut_files.hpp"
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

// An imported file with real times, in an input that is it, or holds it.
struct Holding {
  MergeInput* input;
  std::string name;  // without ".gz"
  std::string mark;
  bool is_merged;  // before, by the user

  [[nodiscard]] bool is_another_file(const Holding& other) const {
    return input != other.input && mark != other.mark;
  }
};

std::map<std::int64_t, std::vector<Holding>> imported_by_rank(std::vector<MergeInput>& inputs,
                                                              const std::set<std::string>& given) {
  std::map<std::int64_t, std::vector<Holding>> holdings;
  for (MergeInput& input : inputs) {
    if (!input.is_used() || (given.empty() && input.header.sources.empty())) continue;
    for (const std::string& source : sources_of(input)) {
      const auto content = string_member(source, "content");
      if (!content || member(source, has_clock_member) == "false") continue;
      const auto anew = string_member(input.header.distributed_info, written_anew_member);
      const std::string_view name = anew.value_or(string_member(source, "name").value_or(""));
      const std::string mark = mark_of(*content);
      const bool is_run = mark.size() < content->size() && !anew;
      holdings[integer_member(source, "rank").value_or(0)].push_back(
          {&input, without_gz(std::string(name.substr(0, is_run ? name.rfind('#') : name.npos))),
           mark, !input.header.sources.empty() && !given.contains(mark)});
    }
  }
  return holdings;
}

bool are_of_several_files(const std::vector<Holding>& holdings) {
  return std::any_of(holdings.begin(), holdings.end(),
                     [&](const Holding& each) { return each.is_another_file(holdings.front()); });
}

// Copied before it was written to its end, or cut: its text is another one, and so it is another
// file for all that goes by texts. Of one name they are looked at, and of any name beside what was
// merged before, where nothing tells which beginning of a file a merged file has. That costs a look
// at each of their events.
void mark_states_of_one_file(const std::vector<Holding>& of_rank) {
  std::map<std::string, std::vector<Holding>> groups;
  const bool is_any_merged = std::any_of(of_rank.begin(), of_rank.end(),
                                         [](const Holding& each) { return each.is_merged; });
  for (const Holding& each : of_rank) groups[is_any_merged ? "" : each.name].push_back(each);
  for (const auto& [name, group] : groups) {
    if (!are_of_several_files(group)) continue;
    for (const Holding& each : group) each.input->may_share_events = true;
  }
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
  for (const auto& [rank, of_rank] : imported_by_rank(inputs, given)) {
    mark_states_of_one_file(of_rank);
  }
}

}  // namespace traceagent::trace
