#include "tools/upload/removal.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "agent/trace/index_file.hpp"
#include "agent/trace/index_name.hpp"
#include "agent/trace/joined_index.hpp"
#include "agent/trace/json_object.hpp"
#include "tools/upload/local_file.hpp"

namespace traceagent::tools {

namespace {

constexpr const char* joined_stem = "index";

std::int64_t now_ns() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
}

std::string tell_index(const std::string& folder, const Upload& upload) {
  if (upload.index.empty()) return {};
  trace::JsonObject entry;
  entry.add("removed", upload.file).add("time_ns", now_ns());
  return trace::add_to_index(trace::index_path(folder, upload.index, upload.run, false),
                             trace::index_head(upload.run), entry.text(), false);
}

}  // namespace

Removal remove_uploaded(const std::string& folder, const Upload& upload) {
  const std::string path = folder + "/" + upload.file;
  if (!is_still(path, upload.modified_ns)) return {};
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return {};
  return {true, tell_index(folder, upload)};
}

std::string join_index(const std::string& folder, const Upload& upload) {
  if (upload.index.empty() || upload.index == joined_stem) return {};
  constexpr std::uint64_t most_bytes = 4 << 20;  // as its ranks join it while they run
  return trace::join_indexes(folder + "/index", "index-node", trace::index_head(upload.run),
                             trace::index_path(folder, joined_stem, upload.run, false), most_bytes);
}

}  // namespace traceagent::tools
