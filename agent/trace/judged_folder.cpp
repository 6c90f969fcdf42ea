#include "agent/trace/judged_folder.hpp"

#include <utility>

namespace traceagent::trace {

namespace {
JudgedFolder* latest = nullptr;
}

JudgedFolder::JudgedFolder(std::string folder) : folder_(std::move(folder)), next_(latest) {
  latest = this;
}

JudgedFolder::~JudgedFolder() {
  JudgedFolder** at = &latest;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

bool JudgedFolder::holds(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  for (const JudgedFolder* each = latest; each != nullptr; each = each->next_) {
    if (slash == each->folder_.size() && path.starts_with(each->folder_)) return true;
  }
  return false;
}

}  // namespace traceagent::trace
