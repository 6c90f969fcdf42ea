#include "tools/upload/index_notes.hpp"

#include <filesystem>
#include <fstream>

#include "agent/trace/index_file.hpp"
#include "agent/trace/index_name.hpp"
#include "agent/trace/joined_index.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* joined_stem = "index";

std::string add_where_it_is_told(const std::string& folder, const Upload& upload,
                                 const trace::JsonObject& entry) {
  const char* how = upload.kind == "node" ? "merged" : "saved";
  const std::string told = "{" + trace::JsonObject().add(how, upload.file).members() + ",";
  std::error_code error;
  for (const fs::directory_entry& index : fs::directory_iterator(folder + "/index", error)) {
    const std::string path = index.path().string();
    if (!path.ends_with(".json") || !trace::index_holds(path, told)) continue;
    std::string head;
    std::ifstream file(path);
    std::getline(file, head);
    const std::string problem = trace::add_to_index(path, head, entry.text(), false);
    if (!problem.empty()) return problem;
  }
  return {};
}

}  // namespace

std::string note_in_index(const std::string& folder, const Upload& upload,
                          const trace::JsonObject& entry) {
  if (upload.index.empty()) return add_where_it_is_told(folder, upload, entry);
  return trace::add_to_index(trace::index_path(folder, upload.index, upload.run, false),
                             trace::index_head(upload.run), entry.text(), false);
}

std::string join_index(const std::string& folder, const Upload& upload) {
  if (upload.index.empty() || upload.index == joined_stem) return {};
  constexpr std::uint64_t most_bytes = 4 << 20;  // as its ranks join it while they run
  return trace::join_indexes(folder + "/index", "index-node", trace::index_head(upload.run),
                             trace::index_path(folder, joined_stem, upload.run, false), most_bytes);
}

}  // namespace traceagent::tools
