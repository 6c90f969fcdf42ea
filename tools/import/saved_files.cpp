#include "tools/import/saved_files.hpp"

#include <algorithm>

#include "agent/trace/cut_files.hpp"
#include "tools/import/source_keys.hpp"

namespace traceagent::tools {

namespace {

bool are_shared(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

bool has_no_fault(ForeignFile& file) {
  return file.report().problem.empty() && file.report().dropped.empty();
}

}  // namespace

void SavedFiles::leave_out_doubles() {
  std::set<std::string> known;
  for (const auto& [path, keys] : own_.sources) known.insert(keys.begin(), keys.end());
  std::set<std::string> imported;
  for (const auto& file : files_) {
    if (file->report().is_trace) imported.insert(content_key(file->content()));
  }
  for (const auto& file : files_) {
    if (file->is_part()) continue;
    const Keys keys = file->source_keys();
    const auto is_known = [&](const std::string& key) { return known.contains(key); };
    const auto is_held = [&](const std::string& key) {
      return is_known(key) || imported.contains(key);
    };
    if (replace_damaged(*file, keys)) {
      known.insert(keys.begin(), keys.end());
    } else if (!keys.empty() && std::all_of(keys.begin(), keys.end(), is_held)) {
      file->leave_out(!holds_more(*file, keys));
    } else if (std::any_of(keys.begin(), keys.end(), is_known)) {
      file->leave_out(false);
    } else if (const std::string part = own_part_beside(*file); !part.empty()) {
      file->leave_out_beside(part);
    } else {
      known.insert(keys.begin(), keys.end());
    }
  }
  leave_out_parts();
}

// Than ours, of which one was made of cut or damaged files, or is such a one.
bool SavedFiles::holds_more(const ForeignFile& file, const Keys& keys) const {
  if (!file.is_all_there()) return false;
  return std::any_of(own_.sources.begin(), own_.sources.end(), [&](const auto& own) {
    return are_shared(keys, own.second) && !trace::holds_all_of_its_sources(own.first);
  });
}

// The merge leaves out a part of ours of which a whole file that another program has saved holds
// all. Where that may not be so it would hold both.
std::string SavedFiles::own_part_beside(const ForeignFile& file) const {
  const Keys keys = file.source_keys();
  if (keys.empty() || file.is_all_there()) return "";
  const auto is_beside = [&keys](const auto& part) { return are_shared(keys, part.second); };
  const auto found = std::find_if(own_.parts.begin(), own_.parts.end(), is_beside);
  return found == own_.parts.end() ? std::string() : found->first;
}

// Who holds any of what the part holds. One into which it was imported before is left to the
// merge: its lines were written alike.
std::vector<SavedFiles::Holder> SavedFiles::holders_of(ForeignFile& part) const {
  const Keys keys = part.source_keys();
  const std::string own_key = content_key(part.content());
  std::vector<Holder> holders;
  const auto add = [&](const std::string& path, const Keys& held, const auto& is_all_there) {
    const bool has_part = std::find(held.begin(), held.end(), own_key) != held.end();
    if (!has_part && are_shared(keys, held)) holders.push_back({path, held, is_all_there()});
  };
  for (const auto& [path, held] : own_.sources) {
    const std::string& file = path;  // clang 14 takes no parts of a pair along
    if (!replaced_.contains(path))
      add(path, held, [&] { return trace::holds_all_of_its_sources(file); });
  }
  for (const auto& [path, held] : own_.parts) add(path, held, [] { return false; });
  bool is_behind = false;
  for (const auto& file : files_) {
    is_behind = is_behind || file.get() == &part;
    // Of two parts the first stays.
    const bool is_other = file.get() != &part && !(is_behind && file->is_part());
    if (!is_other || !file->is_taken() || part.is_copy_of(*file)) continue;
    const bool is_saved = !file->source_keys().empty();
    add(file->report().path,
        is_saved ? file->source_keys() : std::vector{content_key(file->content())}, [&] {
          return !file->is_part() && (is_saved ? file->is_all_there() : has_no_fault(*file));
        });
  }
  return holders;
}

// Chosen parts that another program has saved: behind all others, of which each event is as it
// was.
void SavedFiles::leave_out_parts() {
  for (const auto& file : files_) {
    if (!file->is_part() || !file->is_taken()) continue;
    const std::vector<Holder> holders = holders_of(*file);
    if (holders.empty()) continue;
    std::set<std::string> whole;
    for (const Holder& holder : holders) {
      if (holder.is_all_there) whole.insert(holder.keys.begin(), holder.keys.end());
    }
    const Keys keys = file->source_keys();
    const bool is_all_held =
        std::all_of(keys.begin(), keys.end(), [&](const auto& key) { return whole.contains(key); });
    if (is_all_held) {
      file->leave_out(true);
    } else {
      file->leave_out_beside(holders.front().path);
    }
  }
}

// Where what is damaged of ours is in a whole file that another program has saved: all of ours
// that this one holds gives way, and where it does not hold all of such a one, nothing does.
bool SavedFiles::replace_damaged(ForeignFile& file, const Keys& keys) {
  if (file.is_part() || !file.is_all_there()) return false;
  const auto is_in_file = [&](const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  std::vector<std::string> held;
  for (const auto& [path, own_keys] : own_.sources) {
    if (std::none_of(own_keys.begin(), own_keys.end(), is_in_file)) continue;
    const bool is_all_there = std::all_of(own_keys.begin(), own_keys.end(), is_in_file);
    if (!is_all_there || replaced_.contains(path)) return false;
    held.push_back(path);
  }
  if (hold_what_is_damaged_whole(held)) return false;
  for (const std::string& path : held) replaced_.emplace(path, file.report().path);
  return true;
}

// What is damaged of ours is whole in others of ours.
bool SavedFiles::hold_what_is_damaged_whole(const std::vector<std::string>& own_files) const {
  std::set<std::string> damaged;
  std::set<std::string> whole;
  for (const std::string& path : own_files) {
    const Keys& own_keys = own_.sources.at(path);
    (trace::holds_all_of_its_sources(path) ? whole : damaged)
        .insert(own_keys.begin(), own_keys.end());
  }
  return std::includes(whole.begin(), whole.end(), damaged.begin(), damaged.end());
}

}  // namespace traceagent::tools
