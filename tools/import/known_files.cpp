#include "tools/import/known_files.hpp"

#include "agent/trace/cut_files.hpp"
#include "tools/import/content_mark.hpp"

namespace traceagent::tools {

KnownFiles::KnownFiles(const OwnFiles& own) {
  for (const auto& [identity, source] : own.imported) {
    by_mark_[source.mark()].push_back(&source);
    sizes_.insert(bytes_of_mark(source.mark()));
  }
}

const ImportedSource* KnownFiles::find(ForeignFile& file) const {
  if (by_mark_.empty()) return nullptr;
  const std::string name = trace::without_gz(file.trace_name());
  const ImportedSource* other_name = nullptr;
  for (const std::string& mark : file.marks(sizes_)) {
    const auto found = by_mark_.find(mark);
    if (found == by_mark_.end()) continue;
    for (const ImportedSource* const known : found->second) {
      if (!file.may_be(*known)) continue;
      if (trace::without_gz(known->file_name()) == name) return known;
      if (other_name == nullptr) other_name = known;
    }
  }
  return other_name;
}

}  // namespace traceagent::tools
