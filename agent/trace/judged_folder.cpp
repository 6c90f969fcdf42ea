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

const JudgedFolder* JudgedFolder::folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  for (const JudgedFolder* each = latest; each != nullptr; each = each->next_) {
    if (slash == each->folder_.size() && path.starts_with(each->folder_)) return each;
  }
  return nullptr;
}

const JudgedFolder::Made* JudgedFolder::made_of(std::string_view path) {
  const JudgedFolder* const folder = folder_of(path);
  if (folder == nullptr) return nullptr;
  const auto found = folder->made_.find(path);
  return found == folder->made_.end() ? nullptr : &found->second;
}

void JudgedFolder::make_events_of(const std::string& path, std::uint64_t bytes, MakeEvents make) {
  made_.insert_or_assign(path, Made{bytes, std::move(make)});
}

bool JudgedFolder::holds(std::string_view path) { return folder_of(path) != nullptr; }

std::unique_ptr<MadeEvents> JudgedFolder::events_of(std::string_view path) {
  const Made* const made = made_of(path);
  return made == nullptr ? nullptr : made->make();
}

std::uint64_t JudgedFolder::bytes_of_events(std::string_view path) {
  const Made* const made = made_of(path);
  return made == nullptr ? 0 : made->bytes;
}

}  // namespace traceagent::trace
