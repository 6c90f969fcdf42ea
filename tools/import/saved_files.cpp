#include "tools/import/saved_files.hpp"

#include <algorithm>

#include "agent/trace/cut_files.hpp"
#include "tools/import/source_keys.hpp"

namespace traceagent::tools {

namespace {

using Keys = std::vector<std::string>;
using KeySet = std::set<std::string>;

bool are_shared(const KeySet& keys, const Keys& others) {
  return std::ranges::any_of(others, [&](const auto& key) { return keys.contains(key); });
}

bool has_no_fault(ForeignFile& file) {
  return file.report().problem.empty() && file.report().dropped.empty();
}

}  // namespace

void SavedFiles::leave_out_doubles() {
  note_own_sources();
  for (const auto& file : files_) {
    if (file->report().is_trace) imported_.insert(content_key(file->content()));
  }
  for (ForeignFile* const file : whole_first()) leave_out_double(*file);
  leave_out_parts();
}

void SavedFiles::note_own_sources() {
  for (const auto& [path, keys] : own_.sources) {
    for (const std::string& key : keys) own_by_key_[key].insert(path);
  }
}

const SavedFiles::Saved& SavedFiles::saved(const ForeignFile& file) {
  const auto [found, is_new] = saved_.try_emplace(&file);
  if (is_new) {
    const Keys keys = file.source_keys();
    found->second = {keys, KeySet(keys.begin(), keys.end()), file.is_all_there()};
  }
  return found->second;
}

bool SavedFiles::is_whole(const std::string& own_path) {
  const auto [found, is_new] = whole_.try_emplace(own_path);
  if (is_new) found->second = trace::holds_all_of_its_sources(own_path);
  return found->second;
}

// Of two that hold the same, the one that is known to be whole is taken.
std::vector<ForeignFile*> SavedFiles::whole_first() {
  std::vector<ForeignFile*> files;
  for (const auto& file : files_) {
    if (!file->is_part() && !saved(*file).keys.empty()) files.push_back(file.get());
  }
  // Not of std::ranges: what that returns does not compile by clang 14, which builds the fuzzers.
  std::stable_partition(files.begin(), files.end(),
                        [&](const auto* file) { return saved(*file).is_all_there; });
  return files;
}

void SavedFiles::leave_out_double(ForeignFile& file) {
  const Saved& known = saved(file);
  const bool is_replacing = replace_damaged(file);
  if (!is_replacing) {
    const auto is_held = [&](const auto& key) { return this->is_held(key); };
    const auto is_held_whole = [&](const auto& key) { return this->is_held_whole(key); };
    const auto is_double = [&](const auto& key) {
      return own_by_key_.contains(key) || taken_.contains(key);
    };
    if (std::ranges::all_of(known.keys, is_held)) {
      // Beside a cut or damaged one it may hold more.
      return file.leave_out(std::ranges::all_of(known.keys, is_held_whole) ||
                            is_copy_of_taken(file));
    }
    if (std::ranges::any_of(known.keys, is_double)) return file.leave_out(false);
    if (const std::string part = own_part_beside(known); !part.empty()) {
      return file.leave_out_beside(part);
    }
  }
  taken_.insert(known.keys.begin(), known.keys.end());
  if (known.is_all_there) taken_whole_.insert(known.keys.begin(), known.keys.end());
}

bool SavedFiles::is_held(const std::string& key) const {
  return own_by_key_.contains(key) || taken_.contains(key) || imported_.contains(key);
}

bool SavedFiles::is_held_whole(const std::string& key) {
  if (taken_whole_.contains(key) || imported_.contains(key)) return true;
  const auto own = own_by_key_.find(key);
  return own != own_by_key_.end() &&
         std::ranges::any_of(own->second, [&](const auto& path) { return is_whole(path); });
}

bool SavedFiles::is_copy_of_taken(const ForeignFile& file) const {
  return std::ranges::any_of(files_, [&](const auto& other) {
    return other.get() != &file && other->is_taken() && file.is_copy_of(*other);
  });
}

// The merge leaves out a part of ours of which a whole file that another program has saved holds
// all. Where that may not be so it would hold both.
std::string SavedFiles::own_part_beside(const Saved& saved) const {
  if (saved.is_all_there) return "";
  const auto found = std::ranges::find_if(
      own_.parts, [&](const auto& part) { return are_shared(saved.key_set, part.second); });
  return found == own_.parts.end() ? std::string() : found->first;
}

// Who holds any of what the part holds. One into which it was imported before is left to the
// merge: its lines were written alike.
std::vector<SavedFiles::Holder> SavedFiles::holders_of(ForeignFile& part) {
  const KeySet& keys = saved(part).key_set;
  const std::string own_key = content_key(part.content());
  std::vector<Holder> holders;
  const auto add = [&](const std::string& path, const Keys& held, const auto& is_all_there) {
    const bool has_part = std::find(held.begin(), held.end(), own_key) != held.end();
    if (!has_part && are_shared(keys, held)) holders.push_back({path, held, is_all_there()});
  };
  for (const auto& [path, held] : own_.sources) {
    const std::string& file = path;  // clang 14 takes no parts of a pair along
    if (!replaced_.contains(path)) add(path, held, [&] { return is_whole(file); });
  }
  for (const auto& [path, held] : own_.parts) add(path, held, [] { return false; });
  bool is_behind = false;
  for (const auto& file : files_) {
    is_behind = is_behind || file.get() == &part;
    // Of two parts the first stays.
    const bool is_other = file.get() != &part && !(is_behind && file->is_part());
    if (!is_other || !file->is_taken() || part.is_copy_of(*file)) continue;
    const Saved& other = saved(*file);
    const bool is_saved = !other.keys.empty();
    add(file->report().path, is_saved ? other.keys : Keys{content_key(file->content())},
        [&] { return !file->is_part() && (is_saved ? other.is_all_there : has_no_fault(*file)); });
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
    const bool is_all_held = std::ranges::all_of(
        saved(*file).keys, [&](const auto& key) { return whole.contains(key); });
    if (is_all_held) {
      file->leave_out(true);
    } else {
      file->leave_out_beside(holders.front().path);
    }
  }
}

// Where what is damaged of ours is in a whole file that another program has saved: all of ours
// that this one holds gives way, and where it does not hold all of such a one, nothing does.
bool SavedFiles::replace_damaged(ForeignFile& file) {
  const Saved& known = saved(file);
  if (!known.is_all_there) return false;
  std::set<std::string> held;
  for (const std::string& key : known.keys) {
    if (const auto own = own_by_key_.find(key); own != own_by_key_.end()) {
      held.insert(own->second.begin(), own->second.end());
    }
  }
  for (const std::string& path : held) {
    const bool is_in_file = std::ranges::all_of(
        own_.sources.at(path), [&](const auto& key) { return known.key_set.contains(key); });
    if (!is_in_file || replaced_.contains(path)) return false;
  }
  if (hold_what_is_damaged_whole(held)) return false;
  for (const std::string& path : held) replaced_.emplace(path, file.report().path);
  return true;
}

// What is damaged of ours is whole in others of ours.
bool SavedFiles::hold_what_is_damaged_whole(const std::set<std::string>& own_files) {
  KeySet damaged;
  KeySet whole;
  for (const std::string& path : own_files) {
    const Keys& own_keys = own_.sources.at(path);
    (is_whole(path) ? whole : damaged).insert(own_keys.begin(), own_keys.end());
  }
  return std::includes(whole.begin(), whole.end(), damaged.begin(), damaged.end());
}

}  // namespace traceagent::tools
