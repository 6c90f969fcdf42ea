#include "tools/upload/removal.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "agent/trace/json_object.hpp"
#include "tools/upload/index_notes.hpp"
#include "tools/upload/local_file.hpp"

namespace traceagent::tools {

namespace {

std::int64_t now_ns() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
}

}  // namespace

Removal remove_uploaded(const std::string& folder, const Upload& upload) {
  const std::string path = folder + "/" + upload.file;
  if (!is_still(path, upload.modified_ns)) return {};
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return {};
  if (upload.index.empty()) return {true, {}};
  trace::JsonObject entry;
  entry.add("removed", upload.file).add("time_ns", now_ns());
  return {true, note_in_index(folder, upload, entry)};
}

}  // namespace traceagent::tools
