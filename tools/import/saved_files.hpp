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

  struct Holder {
    std::string path;
    Keys keys;
    bool is_all_there;  // of its sources
  };

  [[nodiscard]] bool holds_more(const ForeignFile& file, const Keys& keys) const;
  [[nodiscard]] std::string own_part_beside(const ForeignFile& file) const;
  bool replace_damaged(ForeignFile& file, const Keys& keys);
  [[nodiscard]] bool hold_what_is_damaged_whole(const std::vector<std::string>& own_files) const;
  void leave_out_parts();
  [[nodiscard]] std::vector<Holder> holders_of(ForeignFile& part) const;

  ForeignFiles& files_;
  const OwnFiles& own_;
  std::map<std::string, std::string> replaced_;
};

}  // namespace traceagent::tools
