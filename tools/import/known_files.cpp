#include "tools/import/known_files.hpp"

#include <algorithm>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/json_scan.hpp"
#include "tools/import/content_mark.hpp"

namespace traceagent::tools {

KnownFiles::KnownFiles(const OwnFiles& own) {
  for (const auto& [source, rank] : own.imported) {
    const auto& [name, content] = source;
    const bool is_run = content.find('#') != std::string::npos;
    const std::string file = trace::unescaped(is_run ? name.substr(0, name.rfind('#')) : name);
    const std::string mark = content.substr(0, content.find('#'));
    by_mark_[mark].push_back({file, mark, rank});
    sizes_.insert(bytes_of_mark(mark));
  }
}

std::optional<KnownFile> KnownFiles::find(ForeignFile& file) const {
  if (by_mark_.empty()) return std::nullopt;
  const std::string name = trace::without_gz(file.trace_name());
  const std::vector<std::int64_t>& ranks = file.report().ranks;
  std::optional<KnownFile> of_rank;
  for (const std::string& mark : file.marks(sizes_)) {
    const auto found = by_mark_.find(mark);
    if (found == by_mark_.end()) continue;
    for (const KnownFile& known : found->second) {
      if (trace::without_gz(known.name) == name) return known;
      const bool is_of_rank = !file.rank() || (!ranks.empty() && known.rank == ranks.front());
      if (!of_rank && is_of_rank) of_rank = known;
    }
  }
  return of_rank;
}

}  // namespace traceagent::tools
