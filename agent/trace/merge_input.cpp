#include "agent/trace/merge_input.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

std::string in_quotes(std::string_view escaped) { return "\"" + std::string(escaped) + "\""; }

std::string source_json(const TraceHeader& header) {
  JsonObject source;
  source.add("name", JsonValue::raw(in_quotes(header.trace_name)))
      .add("rank", header.rank)
      .add("baseTimeNanoseconds", header.base_ns);
  const auto content = string_member(header.distributed_info, "content");
  if (content) source.add("content", JsonValue::raw(in_quotes(*content)));
  return source.text();
}

}  // namespace

// What makes it the same file in two merges. An imported file is told by its content: many have one
// name, and a rank or a base that it has not itself may differ from one merge to the next.
std::string identity_of(const std::string& source) {
  const auto content = string_member(source, "content");
  if (!content) return source;
  return std::string(string_member(source, "name").value_or("")) + "\n" + std::string(*content);
}

std::vector<std::string> sources_of(const MergeInput& input, const Selection* selection) {
  if (input.header.sources.empty()) {
    return {source_json(input.header)};
  }
  std::vector<std::string> sources = input.header.sources;
  std::erase_if(sources, [&](const std::string& source) {
    return selection != nullptr &&
           !selection->has_rank(integer_member(source, "rank").value_or(input.header.rank));
  });
  return sources;
}

std::set<std::string> identities_of(const MergeInput& input) {
  std::set<std::string> identities;
  for (const std::string& source : sources_of(input)) identities.insert(identity_of(source));
  return identities;
}

namespace {

MergeInput scan(const std::string& path) {
  MergeInput input;
  input.report.path = path;
  TraceReader reader;
  input.usable = reader.open(path);
  input.report.problem = reader.problem();
  input.header = reader.header();
  input.report.rank = input.header.rank;
  input.file_bytes = reader.file_bytes();
  return input;
}

void leave_out_same_files(std::vector<MergeInput>& inputs) {
  std::set<std::pair<dev_t, ino_t>> seen;
  for (MergeInput& input : inputs) {
    struct stat status {};
    if (stat(input.report.path.c_str(), &status) == 0 &&
        !seen.emplace(status.st_dev, status.st_ino).second) {
      input.report.left_out = "given twice";
    }
  }
}

// Which files are as they were written: their ends are looked at, each once.
class Wholeness {
 public:
  bool is_whole(const MergeInput& input) {
    const auto [found, is_new] = whole_.try_emplace(&input);
    if (is_new) found->second = ends_whole(input.report.path);
    return found->second;
  }
  // Nor is any of it damaged: it is read.
  bool is_undamaged(const MergeInput& input) {
    if (!is_whole(input)) return false;
    const auto [found, is_new] = undamaged_.try_emplace(&input);
    if (is_new) found->second = trace::is_undamaged(input.report.path);
    return found->second;
  }
  // Nothing is missing from it that its sources had.
  bool holds_all(const MergeInput& input) {
    if (input.header.sources.empty()) return is_undamaged(input);
    if (!is_whole(input)) return false;
    const auto [found, is_new] = holds_all_.try_emplace(&input);
    if (is_new) found->second = holds_all_of_its_sources(input.report.path);
    return found->second;
  }

 private:
  std::map<const MergeInput*, bool> whole_;
  std::map<const MergeInput*, bool> undamaged_;
  std::map<const MergeInput*, bool> holds_all_;
};

using Holders = std::map<std::string, std::vector<const MergeInput*>>;  // by identity_of

Holders holders_among(const std::vector<MergeInput>& inputs) {
  Holders holders;
  for (const MergeInput& input : inputs) {
    if (!input.is_used() || !input.header.selections.empty()) continue;
    for (const std::string& source : sources_of(input)) {
      holders[identity_of(source)].push_back(&input);
    }
  }
  return holders;
}

template <typename IsHeld>
bool is_all_held(const MergeInput& input, const Holders& holders, const IsHeld& is_held) {
  const std::vector<std::string> sources = sources_of(input);
  return std::all_of(sources.begin(), sources.end(), [&](const std::string& source) {
    const auto found = holders.find(identity_of(source));
    return found != holders.end() &&
           std::any_of(found->second.begin(), found->second.end(), is_held);
  });
}

bool is_imported(const MergeInput& input) {
  return string_member(input.header.distributed_info, "content").has_value();
}

// A copy that was broken off, or damaged, gives way to whole files that hold all of it.
void leave_out_cut(std::vector<MergeInput>& inputs) {
  const Holders holders = holders_among(inputs);
  Wholeness known;
  for (MergeInput& input : inputs) {
    const auto is_another = [&](const MergeInput* other) { return other != &input; };
    const auto is_better = [&](const MergeInput* other) {
      return is_another(other) && other->is_used() && known.holds_all(*other);
    };
    const auto is_rank_file = [&](const MergeInput* other) {
      return is_another(other) && other->header.sources.empty();
    };
    const bool is_double =
        input.is_used() && !is_imported(input) && is_all_held(input, holders, is_another);
    if (!is_double) continue;
    // Beside its rank files a merged one is not taken in any case (leave_out_covered).
    const bool is_good = is_all_held(input, holders, is_rank_file) ? known.is_whole(input)
                                                                   : known.is_undamaged(input);
    if (!is_good && is_all_held(input, holders, is_better)) {
      input.report.left_out = "it is cut or damaged, and whole files that are given hold all of it";
    }
  }
}

// Of our own rank files: they are the same where name, rank and base are. One that is damaged gives
// way to one that is not.
void leave_out_copies(std::vector<MergeInput>& inputs) {
  std::map<std::string, std::vector<MergeInput*>> copies;  // by source
  for (MergeInput& input : inputs) {
    if (!input.is_used() || !input.header.sources.empty() || is_imported(input)) continue;
    copies[source_json(input.header)].push_back(&input);
  }
  for (const auto& [source, same] : copies) {
    if (same.size() == 1) continue;
    const auto whole = std::find_if(same.begin(), same.end(), [](const MergeInput* input) {
      return holds_all_of_its_sources(input->report.path);
    });
    const MergeInput* const taken = whole == same.end() ? same.front() : *whole;
    for (MergeInput* const input : same) {
      if (input == taken) continue;
      input->report.left_out = "a copy of " + taken->report.path + ", which is given too";
    }
  }
}

// What others hold of it as it was when it was imported before, and shorter.
template <typename Visit>
void for_each_older_state(const MergeInput& input, const Visit& visit) {
  const auto states = member(input.header.distributed_info, "older_states");
  for_each_element(states.value_or(""),
                   [&](std::string_view state) { visit(identity_of(std::string(state))); });
}

// Smaller sets win: the rank files are the originals, and a stale merged file may lack events.
void leave_out_covered(std::vector<MergeInput>& inputs) {
  std::set<std::string> held;
  for (MergeInput& input : inputs) {
    if (input.is_used() && input.header.sources.empty()) {
      for (const std::string& source : sources_of(input)) {
        held.insert(identity_of(source));
      }
      for_each_older_state(input, [&](std::string state) { held.insert(std::move(state)); });
    }
  }
  for (MergeInput& input : inputs) {
    const auto& sources = input.header.sources;
    if (input.is_used() && !sources.empty() &&
        std::all_of(sources.begin(), sources.end(), [&](const std::string& source) {
          return held.contains(identity_of(source));
        })) {
      input.report.left_out = "the rank files that it was made of are given too";
    }
  }
}

// Rank files that were cut or damaged when they were merged, and are whole now.
class HeldInPart {
 public:
  bool is_one(const MergeInput& merged, const MergeInput& input) {
    const auto [known, is_new] = cut_.try_emplace(&merged);
    if (is_new) known->second = cut_files_of(merged.report.path);
    return std::any_of(known->second.begin(), known->second.end(),
                       [&](const CutFile& cut) { return is_copy(cut, merged, input); }) &&
           ends_whole(input.report.path) && is_undamaged(input.report.path);
  }

 private:
  // By its name; where several of the sources have that (rank0/trace.json, rank1/trace.json), by
  // the folder too.
  static bool is_copy(const CutFile& cut, const MergeInput& merged, const MergeInput& input) {
    const std::string name = without_gz(unescaped(input.header.trace_name));
    if (cut.name != name) return false;
    const auto has_name = [&](const std::string& source) {
      return without_gz(unescaped(string_member(source, "name").value_or(""))) == name;
    };
    const auto& sources = merged.header.sources;
    if (std::count_if(sources.begin(), sources.end(), has_name) < 2) return true;
    const std::string& path = input.report.path;
    const std::size_t folder_end = path.rfind('/');
    if (folder_end == std::string::npos || folder_end == 0) return true;
    const std::size_t folder = path.rfind('/', folder_end - 1) + 1;  // npos + 1 is 0
    return cut.problem.find(path.substr(folder)) != std::string::npos;
  }

  std::map<const MergeInput*, std::vector<CutFile>> cut_;
};

// What is in a merged file that is still used need not come from elsewhere; larger files first, and
// those that hold only a part of their sources last: they replace nothing.
void leave_out_contained(std::vector<MergeInput>& inputs) {
  std::vector<MergeInput*> order;
  for (MergeInput& input : inputs) {
    if (input.is_used()) {
      order.push_back(&input);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const MergeInput* a, const MergeInput* b) {
    return std::pair(a->header.selections.empty(), a->header.sources.size()) >
           std::pair(b->header.selections.empty(), b->header.sources.size());
  });
  std::map<std::string, const MergeInput*> held;
  HeldInPart held_in_part;
  for (MergeInput* input : order) {
    const std::vector<std::string> sources = sources_of(*input);
    const auto known = std::count_if(
        sources.begin(), sources.end(),
        [&](const std::string& source) { return held.contains(identity_of(source)); });
    bool is_older_held = false;
    for_each_older_state(*input, [&](const std::string& state) {
      is_older_held = is_older_held || held.contains(state);
    });
    if (is_older_held) {
      input->report.left_out = "a merged file that is given holds it as it was before";
      input->report.problem = "a trace that has grown since it was merged: " + input->report.path +
                              ": give all that the merged file was made of instead";
    } else if (known > 0 && std::cmp_equal(known, sources.size())) {
      input->report.left_out = "a merged file that is given holds it";
      const MergeInput& holder = *held.at(identity_of(sources.front()));
      if (input->header.sources.empty() && held_in_part.is_one(holder, *input)) {
        input->report.problem =
            "a trace of which a merged file holds a cut or damaged copy: " + input->report.path +
            ": give all that " + holder.report.path + " was made of instead";
      }
    } else if (known > 0) {
      const auto shared = std::find_if(sources.begin(), sources.end(), [&](const auto& source) {
        return held.contains(identity_of(source));
      });
      const std::string& holder = held.at(identity_of(*shared))->report.path;
      input->report.left_out = "it shares some ranks with " + holder;
      input->report.problem = "merged files overlap: " + input->report.path +
                              ": nothing of it is in the merge, since " + holder +
                              " holds some of its ranks: give the rank files instead";
    } else if (!input->header.sources.empty() && input->header.selections.empty()) {
      for (const std::string& source : sources) held.emplace(identity_of(source), input);
    }
  }
}

bool is_clipped(const MergeInput& input) {
  bool is_any = false;
  for_each_element(input.header.selections, [&](std::string_view selection) {
    is_any = is_any || member(selection, "clip") == "true";
  });
  return is_any;
}

// What was cut is no more equal to what it is cut from, nor to what another window has of it. Of
// several such parts the first is taken.
void leave_out_clipped(std::vector<MergeInput>& inputs, const Selection* selection) {
  std::map<std::string, const MergeInput*> held;
  const auto hold = [&](const MergeInput& input) {
    for (const std::string& source : sources_of(input, selection)) {
      held.emplace(identity_of(source), &input);
    }
  };
  std::vector<MergeInput*> clipped;
  for (MergeInput& input : inputs) {
    if (!input.is_used()) continue;
    if (is_clipped(input)) {
      clipped.push_back(&input);
    } else {
      hold(input);
    }
  }
  for (MergeInput* const input : clipped) {
    const MergeInput* holder = nullptr;
    for (const std::string& source : sources_of(*input, selection)) {
      const auto found = held.find(identity_of(source));
      if (found != held.end()) holder = found->second;
    }
    if (holder == nullptr) {
      hold(*input);
      continue;
    }
    input->report.left_out =
        "it was cut at its edges, and shares ranks with " + holder->report.path;
    input->report.problem = "cut at its edges: " + input->report.path + ": what it shares with " +
                            holder->report.path +
                            " would be there twice: select again without --clip, or give the rank "
                            "files instead";
  }
}

void add_ranks(const TraceHeader& header, const Selection* selection,
               std::set<std::int64_t>& ranks) {
  const auto add = [&](std::int64_t rank) {
    if (selection == nullptr || selection->has_rank(rank)) {
      ranks.insert(rank);
    }
  };
  const auto listed = member(header.distributed_info, "ranks");
  if (!listed) {
    add(header.rank);
    return;
  }
  for_each_element(*listed, [&](std::string_view element) {
    add(parse_integer(element).value_or(header.rank));
  });
}

void leave_out_unwanted(std::vector<MergeInput>& inputs, const Selection& selection) {
  for (MergeInput& input : inputs) {
    std::set<std::int64_t> ranks;
    add_ranks(input.header, &selection, ranks);
    if (input.is_used() && ranks.empty()) {
      input.report.left_out = "none of its ranks was asked for";
      input.report.unwanted = true;
    }
  }
}

}  // namespace

// What is left to share: parts that were chosen of the same sources, or such a part and a source.
void mark_shared(std::vector<MergeInput>& inputs) {
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

std::set<std::int64_t> ranks_of(const MergeInput& input, const Selection* selection) {
  std::set<std::int64_t> ranks;
  add_ranks(input.header, selection, ranks);
  return ranks;
}

std::vector<MergeInput> scan_inputs(const std::vector<std::string>& paths,
                                    const Selection* selection) {
  std::vector<MergeInput> inputs;
  for (const std::string& path : paths) {
    inputs.push_back(scan(path));
  }
  std::sort(inputs.begin(), inputs.end(), [](const MergeInput& a, const MergeInput& b) {
    return std::tie(a.header.rank, a.header.base_ns, a.report.path) <
           std::tie(b.header.rank, b.header.base_ns, b.report.path);
  });
  leave_out_same_files(inputs);
  leave_out_cut(inputs);
  leave_out_copies(inputs);
  leave_out_covered(inputs);
  leave_out_contained(inputs);
  leave_out_clipped(inputs, selection);
  mark_shared(inputs);
  if (selection != nullptr) {
    leave_out_unwanted(inputs, *selection);
  }
  return inputs;
}

namespace {

struct RunOfFile {
  const std::string* path;
  std::string key;
  std::int64_t node_rank;
  std::set<std::int64_t> ranks;
};

std::optional<RunOfFile> run_of(const MergeInput& input) {
  const auto key = string_member(input.header.distributed_info, "run_key");
  if (!input.is_used() || !key || key->empty()) {
    return std::nullopt;
  }
  RunOfFile run{&input.report.path, std::string(*key), 0, {}};
  run.node_rank = integer_member(input.header.distributed_info, "node_rank").value_or(0);
  add_ranks(input.header, nullptr, run.ranks);
  return run;
}

bool may_be_one_run(const RunOfFile& a, const RunOfFile& b) {
  const bool share_a_rank = std::any_of(a.ranks.begin(), a.ranks.end(),
                                        [&](std::int64_t rank) { return b.ranks.contains(rank); });
  return a.key == b.key || (a.node_rank != b.node_rank && !share_a_rank);
}

}  // namespace

std::string different_runs(const std::vector<MergeInput>& inputs) {
  // One file of each run and node stands for the others, with all their ranks.
  std::vector<RunOfFile> runs;
  for (const MergeInput& input : inputs) {
    const std::optional<RunOfFile> run = run_of(input);
    if (!run) {
      continue;
    }
    for (const RunOfFile& other : runs) {
      if (!may_be_one_run(*run, other)) {
        return *other.path + " is of " + other.key + ", " + *run->path + " of " + run->key;
      }
    }
    const auto known = std::find_if(runs.begin(), runs.end(), [&](const RunOfFile& each) {
      return each.key == run->key && each.node_rank == run->node_rank;
    });
    if (known != runs.end()) {
      known->ranks.insert(run->ranks.begin(), run->ranks.end());
    } else {
      runs.push_back(*run);
    }
  }
  return {};
}

std::string different_runs_problem(const std::string& runs) {
  return "files of different runs: " + runs +
         ": give those of one run (or all the same: traceagent merge --mix-runs)";
}

std::vector<std::int64_t> ranks_of_several_runs(const std::vector<MergeInput>& inputs) {
  std::map<std::int64_t, std::string> run_of_rank;
  std::set<std::int64_t> mixed;
  for (const MergeInput& input : inputs) {
    const std::optional<RunOfFile> run = run_of(input);
    if (!run) continue;
    for (const std::int64_t rank : run->ranks) {
      if (run_of_rank.try_emplace(rank, run->key).first->second != run->key) mixed.insert(rank);
    }
  }
  return {mixed.begin(), mixed.end()};
}

std::set<std::int64_t> ranks_in(const std::vector<MergeInput>& inputs, const Selection* selection) {
  std::set<std::int64_t> ranks;
  for (const MergeInput& input : inputs) {
    if (input.is_used()) add_ranks(input.header, selection, ranks);
  }
  return ranks;
}

}  // namespace traceagent::trace
