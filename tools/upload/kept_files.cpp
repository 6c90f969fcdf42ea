#include "tools/upload/kept_files.hpp"

#include <map>
#include <unordered_map>
#include <utility>

namespace traceagent::tools {

std::vector<Upload*> files_to_remove(Journal& journal) {
  // A file that was queued again since is that later one's.
  std::unordered_map<std::string, const Upload*> latest;
  for (const Upload& upload : journal.uploads()) {
    if (upload.kind == "rank") latest[upload.file] = &upload;
  }
  // In the journal's order, which is that of the cycles.
  std::map<std::pair<std::string, std::int64_t>, std::vector<Upload*>> files_of;
  for (Upload& upload : journal.uploads()) {
    const bool is_there = !upload.is_gone && !upload.is_removed && latest[upload.file] == &upload;
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
      const bool is_awaited = file == files.back() && file->merge && !file->has_ended;
      if (!file->is_done || is_awaited) continue;
      removable.push_back(file);
      --uploaded;
    }
  }
  return removable;
}

}  // namespace traceagent::tools
