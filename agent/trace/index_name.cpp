#include "agent/trace/index_name.hpp"

#include <algorithm>

#include "agent/trace/index_file.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::trace {

std::string index_head(std::string_view run_key) {
  JsonObject head;
  head.add("run_key", run_key);
  return "{" + head.members() + ", \"entries\": [";
}

std::string index_path(const std::string& output_folder, const std::string& stem,
                       std::string_view run_key, bool may_replace) {
  const std::string path = output_folder + "/index/" + stem + ".json";
  if (may_replace || !is_other_index(path, index_head(run_key))) {
    return path;
  }
  std::string key(run_key);
  std::replace(key.begin(), key.end(), '/', '_');
  return path.substr(0, path.rfind(".json")) + "-" + key + ".json";
}

}  // namespace traceagent::trace
