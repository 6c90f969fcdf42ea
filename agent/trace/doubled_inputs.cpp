#include "agent/trace/doubled_inputs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/whole_sources.hpp"

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

bool is_merged(const MergeInput& input) { return !input.header.sources.empty(); }

bool is_imported(const MergeInput& input) { return !input.imported_mark.empty(); }

// Which files are as they were written: each is looked at, and read, once.
class Wholeness {
 public:
  // By its end.
  bool ends_whole(const MergeInput& input) {
    const auto [found, is_new] = whole_.try_emplace(&input);
    if (is_new) found->second = trace::ends_whole(input.report.path);
    return found->second;
  }
  // Nor is any of it damaged. What is imported was read already, and is as it was made.
  bool is_undamaged(const MergeInput& input) {
    if (is_imported(input)) return true;
    if (!ends_whole(input)) return false;
    const auto [found, is_new] = undamaged_.try_emplace(&input);
    if (is_new) found->second = trace::is_undamaged(input.report.path);
    return found->second;
  }
  const WholeSources& sources_of(const MergeInput& merged) {
    const auto [found, is_new] = sources_.try_emplace(&merged);
    if (is_new) found->second = whole_sources_of(merged);
    return found->second;
  }
  // All that the source had.
  bool holds(const MergeInput& input, const std::string& identity) {
    if (!is_merged(input)) return is_undamaged(input);
    return ends_whole(input) && sources_of(input).whole.contains(identity);
  }

 private:
  std::map<const MergeInput*, bool> whole_;
  std::map<const MergeInput*, bool> undamaged_;
  std::map<const MergeInput*, WholeSources> sources_;
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

// `is_held`: by that one, of that identity.
template <typename IsHeld>
bool is_all_held(const MergeInput& input, const Holders& holders, const IsHeld& is_held) {
  const std::set<std::string> identities = identities_of(input);
  return std::all_of(identities.begin(), identities.end(), [&](const std::string& identity) {
    const auto found = holders.find(identity);
    return found != holders.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [&](const MergeInput* other) { return is_held(*other, identity); });
  });
}

// A copy that was broken off, or damaged, gives way to files that hold all of it whole.
void leave_out_cut(std::vector<MergeInput>& inputs, Wholeness& known) {
  const Holders holders = holders_among(inputs);
  for (MergeInput& input : inputs) {
    const auto is_another = [&](const MergeInput& other, const std::string& /*identity*/) {
      return &other != &input;
    };
    const auto is_better = [&](const MergeInput& other, const std::string& identity) {
      return &other != &input && other.is_used() && known.holds(other, identity);
    };
    const auto is_rank_file = [&](const MergeInput& other, const std::string& /*identity*/) {
      return &other != &input && !is_merged(other);
    };
    const bool is_double =
        input.is_used() && !is_imported(input) && is_all_held(input, holders, is_another);
    if (!is_double) continue;
    // Beside its rank files, where they are whole, a merged one is not taken (leave_out_covered).
    const bool is_covered = is_merged(input) && is_all_held(input, holders, is_rank_file);
    const bool is_good = is_covered ? known.ends_whole(input) : known.is_undamaged(input);
    if (!is_good && is_all_held(input, holders, is_better)) {
      input.report.left_out = "it is cut or damaged, and whole files that are given hold all of it";
    }
  }
}

// The first of them that can be read furthest.
const MergeInput* of_most_events(const std::vector<MergeInput*>& copies) {
  const MergeInput* best = copies.front();
  std::uint64_t most = 0;
  for (const MergeInput* const copy : copies) {
    const std::uint64_t events = readable_events(copy->report.path);
    if (events > most) best = copy;
    most = std::max(most, events);
  }
  return best;
}

// Of our own rank files: they are the same where name, rank and base are. Of damaged ones that of
// which the most events can be read is taken.
void leave_out_copies(std::vector<MergeInput>& inputs, Wholeness& known) {
  std::map<std::string, std::vector<MergeInput*>> copies;  // by source
  for (MergeInput& input : inputs) {
    if (!input.is_used() || is_merged(input) || is_imported(input)) continue;
    copies[sources_of(input).front()].push_back(&input);
  }
  for (const auto& [source, same] : copies) {
    if (same.size() == 1) continue;
    const auto whole = std::find_if(same.begin(), same.end(), [&](const MergeInput* input) {
      return known.is_undamaged(*input);
    });
    const bool is_any_whole = whole != same.end();
    const MergeInput* const taken = is_any_whole ? *whole : of_most_events(same);
    for (MergeInput* const input : same) {
      if (input == taken) continue;
      input->report.left_out = (is_any_whole ? "a copy of " : "a damaged copy of ") +
                               taken->report.given + ", which is given too" +
                               (is_any_whole ? "" : " and holds as much of it or more");
    }
  }
}

// What others hold of it as it was when it was imported before, and shorter.
template <typename Visit>
void for_each_older_state(const MergeInput& input, const Visit& visit) {
  if (!is_imported(input)) return;
  const auto states = member(input.header.distributed_info, "older_states");
  for_each_element(states.value_or(""),
                   [&](std::string_view state) { visit(identity_of(std::string(state))); });
}

using RankFiles = std::map<std::string, const MergeInput*>;  // in use, by identity_of

RankFiles rank_files_among(const std::vector<MergeInput>& inputs) {
  RankFiles files;
  for (const MergeInput& input : inputs) {
    if (!input.is_used() || is_merged(input)) continue;
    for (const std::string& identity : identities_of(input)) files[identity] = &input;
  }
  return files;
}

// Smaller sets win: the rank files are the originals, and a stale merged file may lack events.
// Where one of them is damaged the merged file may hold more of it (leave_out_contained).
void leave_out_covered(std::vector<MergeInput>& inputs, Wholeness& known) {
  RankFiles rank_files = rank_files_among(inputs);
  for (const MergeInput& input : inputs) {
    if (!input.is_used() || is_merged(input)) continue;
    for_each_older_state(input, [&](std::string state) { rank_files[std::move(state)] = &input; });
  }
  for (MergeInput& input : inputs) {
    if (!input.is_used() || !is_merged(input)) continue;
    const std::set<std::string> identities = identities_of(input);
    const bool is_covered =
        std::all_of(identities.begin(), identities.end(),
                    [&](const auto& each) { return rank_files.contains(each); }) &&
        std::all_of(identities.begin(), identities.end(),
                    [&](const auto& each) { return known.is_undamaged(*rank_files.at(each)); });
    if (is_covered) {
      input.report.left_out = "the rank files that it was made of are given too";
    }
  }
}

using Merged = std::map<const MergeInput*, WholeSources>;

// Of merged files that are not chosen parts, in what others have too: they are read. What such a
// one holds not whole is in it as in a chosen part: it replaces nothing.
Merged merged_files(std::vector<MergeInput>& inputs, Wholeness& known) {
  std::map<std::string, int> holders;
  for (const MergeInput& input : inputs) {
    if (!input.is_used()) continue;
    for (const std::string& identity : identities_of(input)) ++holders[identity];
  }
  Merged merged;
  for (MergeInput& input : inputs) {
    const bool is_one = input.is_used() && is_merged(input) && input.header.selections.empty();
    if (!is_one) continue;
    std::set<std::string> identities = identities_of(input);
    const bool is_shared = std::any_of(identities.begin(), identities.end(),
                                       [&](const auto& each) { return holders.at(each) > 1; });
    WholeSources& sources = merged[&input];
    // Another program has saved it: its lines are as no others, and nothing can be joined with it.
    if (is_shared && !is_imported(input)) {
      sources = known.sources_of(input);
      input.cut_sources = sources.cut;
    } else {
      sources.whole = std::move(identities);
    }
  }
  return merged;
}

// Those that merged files hold, chosen parts too.
std::set<std::string> merged_sources(const std::vector<MergeInput>& inputs) {
  std::set<std::string> sources;
  for (const MergeInput& input : inputs) {
    if (input.is_used() && is_merged(input)) sources.merge(identities_of(input));
  }
  return sources;
}

// Merged files that hold of one of their sources only what was there: they may be joined with
// others that have it.
std::set<const MergeInput*> parts_of(const Merged& merged) {
  std::set<const MergeInput*> parts;
  for (const auto& [input, sources] : merged) {
    if (sources.whole.size() < identities_of(*input).size()) parts.insert(input);
  }
  return parts;
}

// Larger files first, and those that hold only a part of their sources last.
std::vector<MergeInput*> larger_first(std::vector<MergeInput>& inputs, const Merged& merged) {
  const auto place = [&](const MergeInput* input) {
    const auto found = merged.find(input);
    return std::pair(input->header.selections.empty(),
                     found == merged.end() ? 0 : found->second.whole.size());
  };
  std::vector<MergeInput*> order;
  for (MergeInput& input : inputs) {
    if (input.is_used()) order.push_back(&input);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](const MergeInput* a, const MergeInput* b) { return place(a) > place(b); });
  return order;
}

bool is_older_state_in(const std::set<std::string>& sources, const MergeInput& input) {
  bool is_there = false;
  for_each_older_state(
      input, [&](const std::string& state) { is_there = is_there || sources.contains(state); });
  return is_there;
}

void leave_out_grown(MergeInput& input) {
  input.report.left_out = "a merged file that is given holds it as it was before";
  input.report.problem = "a trace that has grown since it was merged: " + input.report.given +
                         ": give all that the merged file was made of instead";
}

void leave_out_overlapping(MergeInput& input, const std::string& holder, bool is_rest_held) {
  if (is_rest_held) {
    input.report.left_out = "other files that are given hold it";
    return;
  }
  input.report.left_out = "it shares some ranks with " + holder;
  input.report.problem = "merged files overlap: " + input.report.given +
                         ": nothing of it is in the merge, since " + holder +
                         " holds some of its ranks: give the rank files instead";
}

// What is whole in a merged file that is still used need not come from elsewhere.
void leave_out_contained(std::vector<MergeInput>& inputs, Wholeness& known) {
  const Merged merged = merged_files(inputs, known);
  const std::set<const MergeInput*> parts = parts_of(merged);
  const std::set<std::string> in_merged = merged_sources(inputs);
  const RankFiles rank_files = rank_files_among(inputs);
  const auto is_in_whole_rank_file = [&](const std::string& identity) {
    const auto found = rank_files.find(identity);
    return found != rank_files.end() && known.is_undamaged(*found->second);
  };
  std::map<std::string, const MergeInput*> holders;
  for (MergeInput* const input : larger_first(inputs, merged)) {
    std::size_t held = 0;
    const MergeInput* whole_holder = nullptr;
    const std::set<std::string> identities = identities_of(*input);
    for (const std::string& identity : identities) {
      const auto found = holders.find(identity);
      if (found == holders.end()) continue;
      ++held;
      if (whole_holder == nullptr && !parts.contains(found->second)) whole_holder = found->second;
    }
    if (is_older_state_in(in_merged, *input)) {
      leave_out_grown(*input);
    } else if (held != 0 && held == identities.size()) {
      input->report.left_out = "a merged file that is given holds it";
    } else if (whole_holder != nullptr && !parts.contains(input)) {
      const bool is_rest_held =
          std::all_of(identities.begin(), identities.end(), [&](const std::string& identity) {
            return holders.contains(identity) || is_in_whole_rank_file(identity);
          });
      leave_out_overlapping(*input, whole_holder->report.given, is_rest_held);
    } else if (const auto own = merged.find(input); own != merged.end()) {
      for (const std::string& identity : own->second.whole) holders.emplace(identity, input);
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
        "it was cut at its edges, and shares ranks with " + holder->report.given;
    input->report.problem = "cut at its edges: " + input->report.given + ": what it shares with " +
                            holder->report.given +
                            " would be there twice: select again without --clip, or give the rank "
                            "files instead";
  }
}

}  // namespace

void leave_out_doubled(std::vector<MergeInput>& inputs, const Selection* selection) {
  leave_out_same_files(inputs);
  Wholeness known;
  leave_out_cut(inputs, known);
  leave_out_copies(inputs, known);
  leave_out_covered(inputs, known);
  leave_out_contained(inputs, known);
  leave_out_clipped(inputs, selection);
}

}  // namespace traceagent::trace
