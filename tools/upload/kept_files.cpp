#include "tools/upload/kept_files.hpp"

#include <map>
#include <utility>

namespace traceagent::tools {

std::vector<Upload*> files_to_remove(Journal& journal) {
  // In the journal's order, which is that of the cycles.
  std::map<std::pair<std::string, std::int64_t>, std::vector<Upload*>> files_of;
  for (Upload& upload : journal.uploads()) {
    const bool is_there = !upload.is_gone && !upload.is_removed && !upload.is_replaced;
    if (upload.kind == "rank" && upload.keep >= 0 && is_there) {
      files_of[{upload.run, upload.process}].push_back(&upload);
    }
  }
  std::vector<Upload*> removable;
  for (auto& [process, files] : files_of) {
    std::size_t uploaded = 0;
    for (const Upload* file : files) uploaded += file->is_done ? 1 : 0;
    for (Upload* file : files) {
      if (uploaded <= static_cast<std::size_t>(file->keep)) break;
      const bool is_awaited = file == files.back() && file->merge && !journal.has_ended(file->run);
      if (!file->is_done || is_awaited) continue;
      removable.push_back(file);
      --uploaded;
    }
  }
  return removable;
}

}  // namespace traceagent::tools
