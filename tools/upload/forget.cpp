#include "tools/upload/forget.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "agent/trace/index_file.hpp"
#include "config/remote_target.hpp"
#include "tools/upload/journal.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

bool is_for(const Upload& upload, const config::RemoteTarget& wanted) {
  const auto& words = wanted.words;
  if (!words.empty()) {
    return words.size() <= upload.words.size() &&
           std::equal(words.begin(), words.end(), upload.words.begin());
  }
  if (!upload.words.empty()) return false;
  return upload.target == wanted.place ||
         (wanted.place.ends_with('/') && upload.target.starts_with(wanted.place));
}

// Where the run's index tells of the file. One node's, and the one that is joined of all.
void note_in_index(const std::string& folder, const Upload& upload) {
  const char* how = upload.kind == "node" ? "merged" : "saved";
  const std::string entry = "{" + trace::JsonObject().add(how, upload.file).members() + ",";
  std::error_code error;
  for (const fs::directory_entry& index : fs::directory_iterator(folder + "/index", error)) {
    const std::string path = index.path().string();
    if (!path.ends_with(".json") || !trace::index_holds(path, entry)) continue;
    std::string head;
    std::ifstream file(path);
    std::getline(file, head);
    trace::JsonObject left_out;
    left_out.add("left_out", upload.file).add("why", "--forget").add("target", upload.where());
    const std::string problem = trace::add_to_index(path, head, left_out.text(), false);
    if (!problem.empty()) throw std::runtime_error("upload: " + problem);
  }
}

}  // namespace

// Without the uploader's lock: one that is at work reads it, as it reads what ranks leave out.
std::size_t forget_uploads(const std::string& folder, const std::string& target, const Tell& tell) {
  const config::RemoteTarget wanted = config::remote_target(target, {}, "");
  if (!wanted.problem.empty()) {
    throw std::runtime_error("--forget: " + target + ": " + wanted.problem);
  }
  std::size_t count = 0;
  for (const std::string& path : journals_in(folder)) {
    Journal journal(folder, path);
    for (const Upload& upload : journal.uploads()) {
      if (!upload.is_pending() || upload.is_replaced || !is_for(upload, wanted)) continue;
      trace::JsonObject record;
      record.add("gone", upload.id).add("left_out", true).add("why", "--forget");
      journal.append(record, true);
      note_in_index(folder, upload);
      tell(upload.file + " -> " + upload.where() + ": left out: the file stays");
      ++count;
    }
  }
  return count;
}

}  // namespace traceagent::tools
