#include "tools/upload/kept_files.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace traceagent::tools {

namespace {

// No later file of its process is here, or waits.
bool is_newest(const Upload* file, const std::vector<Upload>& uploads) {
  const Upload* const end = uploads.data() + uploads.size();
  return std::none_of(file + 1, end, [&](const Upload& later) {
    return later.process == file->process && later.is_kept_here() && later.run == file->run;
  });
}

}  // namespace

// Asked for after each upload, of thousands that wait: what is made for each is for those few that
// are uploaded.
std::vector<Upload*> files_to_remove(Journal& journal) {
  // In the journal's order, which is that of the cycles.
  std::map<std::pair<std::string_view, std::int64_t>, std::vector<Upload*>> uploaded_of;
  for (Upload& upload : journal.uploads()) {
    if (upload.is_done && upload.is_kept_here()) {
      uploaded_of[{upload.run, upload.process}].push_back(&upload);
    }
  }
  std::vector<Upload*> removable;
  for (const auto& [process, files] : uploaded_of) {
    std::size_t left = files.size();
    for (Upload* const file : files) {
      if (left <= static_cast<std::size_t>(file->keep)) break;
      // It waits for the node's file.
      if (file->merge && !file->has_ended && is_newest(file, journal.uploads())) continue;
      removable.push_back(file);
      --left;
    }
  }
  return removable;
}

}  // namespace traceagent::tools
