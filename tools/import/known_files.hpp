#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/import/foreign_file.hpp"
#include "tools/import/own_files.hpp"

namespace traceagent::tools {

// What was imported into our own files before that are merged.
class KnownFiles {
 public:
  // `own` must outlive it.
  explicit KnownFiles(const OwnFiles& own);

  // The same text, plain or compressed, that may be the same file (ForeignFile::may_be()); of
  // several the one of its name. Null: there is none.
  [[nodiscard]] const ImportedSource* find(ForeignFile& file) const;

 private:
  std::map<std::string, std::vector<const ImportedSource*>> by_mark_;
  std::set<std::uint64_t> sizes_;  // that the marks tell
};

}  // namespace traceagent::tools
