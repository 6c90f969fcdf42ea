#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/import/foreign_file.hpp"
#include "tools/import/own_files.hpp"

namespace traceagent::tools {

// As "sources" of a merged file have it.
struct KnownFile {
  std::string name;
  std::string mark;
  std::int64_t rank = 0;
};

// What was imported into our own files before that are merged.
class KnownFiles {
 public:
  explicit KnownFiles(const OwnFiles& own);

  // The same text, plain or compressed, by the same name or of the same rank; before the file has a
  // rank by any name: it was copied, and somebody called the copy otherwise.
  [[nodiscard]] std::optional<KnownFile> find(ForeignFile& file) const;

 private:
  std::map<std::string, std::vector<KnownFile>> by_mark_;
  std::set<std::uint64_t> sizes_;  // that the marks tell
};

}  // namespace traceagent::tools
