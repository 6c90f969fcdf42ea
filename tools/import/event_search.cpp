#include "tools/import/event_search.hpp"

#include <algorithm>
#include <cstring>

namespace traceagent::tools {

namespace {

// At so much more than once.
constexpr std::size_t most_work_bytes = std::size_t{256} << 20;
// From then on arrays within damaged events hold no events: those are the document's. Nor is more
// of the text judged at once than nearly all events have: one that is torn within an array would be
// judged with those behind it, to the end of the window.
constexpr std::size_t patient_work_bytes = std::size_t{32} << 20;
constexpr std::size_t hurried_room_bytes = std::size_t{4} << 10;

}  // namespace

bool has_member(const ScannedObject& object, std::string_view key) {
  for (const JsonMember& member : object.members) {
    if (member.key == key) return true;
  }
  return false;
}

bool EventSearch::find(std::uint64_t array_end) {
  while (true) {
    if (work_bytes_ > most_work_bytes + window_.offset()) {
      has_given_up_ = true;
      return false;
    }
    const std::uint64_t room = array_end - window_.offset();
    const std::size_t searched = std::min<std::uint64_t>(window_.size(), room);
    const void* const brace = std::memchr(window_.begin(), '{', searched);
    if (brace == nullptr) {
      note_zeros(window_.begin() + searched);
      window_.drop(searched);
      if (searched == room) return true;
      if (!window_.fill()) return false;
      continue;
    }
    note_zeros(static_cast<const char*>(brace));
    window_.drop_until(static_cast<const char*>(brace));
    ScannedObject candidate;
    const Scan scan = scan_object(window_.begin(), window_.end(), candidate, within());
    if (scan == Scan::whole && has_member(candidate, "ph")) return true;
    spend(scan == Scan::more ? window_.size() : candidate.text.size());
    const bool may_go_on = scan == Scan::more && window_.size() < most_event_bytes;
    if (!may_go_on || !window_.fill()) window_.drop(1);
  }
}

void EventSearch::spend(std::size_t bytes) {
  work_bytes_ += bytes;
  if (work_bytes_ > patient_work_bytes) usual_room_ = hurried_room_bytes;
}

Within EventSearch::within() const {
  return usual_room_ == hurried_room_bytes ? Within::no_events : Within::anything;
}

void EventSearch::note_zeros(const char* end) {
  const std::string_view passed(window_.begin(), static_cast<std::size_t>(end - window_.begin()));
  const std::size_t last = passed.rfind('\0');
  if (last != std::string_view::npos) zeros_end_ = window_.offset() + last + 1;
}

}  // namespace traceagent::tools
