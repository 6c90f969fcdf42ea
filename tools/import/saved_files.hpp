#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/import/foreign_file.hpp"
#include "tools/import/own_files.hpp"

namespace traceagent::tools {

// Files of ours that another program has saved, beside those that they were made of: who gives way.
class SavedFiles {
 public:
  SavedFiles(ForeignFiles& files, const OwnFiles& own) : files_(files), own_(own) {}

  // Of others' files that such a one holds, but not all of it, the merge leaves out those.
  void leave_out_doubles();
  // Of our own files, those that are cut or damaged, with the one of these that holds all of each.
  [[nodiscard]] const std::map<std::string, std::string>& replaced() const { return replaced_; }

 private:
  using Keys = std::vector<std::string>;
  using KeySet = std::set<std::string>;

  struct Saved {
    Keys keys;
    KeySet key_set;
    bool is_all_there = false;
  };
  struct Holder {
    std::string path;
    Keys keys;
    bool is_all_there;  // of its sources
  };

  void note_own_sources();
  const Saved& saved(const ForeignFile& file);
  bool is_whole(const std::string& own_path);
  [[nodiscard]] std::vector<ForeignFile*> whole_first();
  void leave_out_double(ForeignFile& file);
  [[nodiscard]] bool is_held(const std::string& key) const;
  [[nodiscard]] bool is_held_whole(const std::string& key);
  [[nodiscard]] bool is_copy_of_taken(const ForeignFile& file) const;
  [[nodiscard]] std::string own_part_beside(const Saved& saved) const;
  bool replace_damaged(ForeignFile& file);
  [[nodiscard]] bool hold_what_is_damaged_whole(const std::set<std::string>& own_files);
  void leave_out_parts();
  [[nodiscard]] std::vector<Holder> holders_of(ForeignFile& part);

  ForeignFiles& files_;
  const OwnFiles& own_;
  std::map<std::string, std::string> replaced_;
  std::map<std::string, std::set<std::string>> own_by_key_;  // paths
  KeySet imported_;  // of others' files that are given themselves
  KeySet taken_;     // of saved files
  KeySet taken_whole_;
  std::map<const ForeignFile*, Saved> saved_;
  std::map<std::string, bool> whole_;  // by path of ours; each was read to its end for it, once
};

}  // namespace traceagent::tools
