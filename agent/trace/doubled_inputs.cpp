#include "agent/trace/doubled_inputs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

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
    copies[sources_of(input).front()].push_back(&input);
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

}  // namespace

void leave_out_doubled(std::vector<MergeInput>& inputs, const Selection* selection) {
  leave_out_same_files(inputs);
  leave_out_cut(inputs);
  leave_out_copies(inputs);
  leave_out_covered(inputs);
  leave_out_contained(inputs);
  leave_out_clipped(inputs, selection);
}

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

}  // namespace traceagent::trace
