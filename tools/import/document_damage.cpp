// What of a document is damaged or missing, and where it is read on.
#include "agent/trace/file_problem.hpp"
#include "tools/import/document_scan.hpp"

namespace traceagent::tools {

namespace {

using trace::InputFile;

constexpr char gzip_remedy[] =
    "what is whole before and behind it is used, and what it let through may be wrong; ";
// So far behind an event the next one begins.
constexpr std::size_t event_ahead_bytes = std::size_t{64} << 10;

}  // namespace

// To the next event, see EventSearch. Where that is given up the rest is left out.
bool DocumentScan::find_event(std::uint64_t array_end) {
  if (search_.find(array_end)) return true;
  if (search_.has_given_up() && place_ != Place::end) {
    problem_.clear();  // of damage before this, which says that the rest is used
    remember("text that is not JSON", window_.offset(), "the rest was left out");
    window_.drop(window_.size());
    place_ = Place::end;
  }
  return false;
}

// On to the next event, wherever it is. One that begins within what seemed too long tells that this
// was torn: its end was another's.
DocumentScan::Item DocumentScan::leave_damage(Item item, std::uint64_t begin) {
  window_.drop(1);
  const bool is_found = find_event();
  if (item == Item::too_long && is_found && window_.offset() - begin < most_event_bytes) {
    item = Item::broken;
  }
  if (item == Item::broken) remember("text that is not JSON", begin, rest_is_used);
  if (item == Item::too_long && !is_found) unpassed_ = begin;
  return item;
}

// An event that is torn may be the last: then what is broken is the document's own bracket.
DocumentScan::Item DocumentScan::leave_broken_object() {
  const std::uint64_t begin = window_.offset();
  const std::size_t passed = object_.text.size();
  search_.spend(passed);
  if (window_.begin()[passed] == '\0') return leave_hole(begin + passed);
  remember("text that is not JSON", begin, rest_is_used);
  const bool ends_events = is_array_end(passed);
  window_.drop(1);
  find_event(ends_events ? begin + passed : UINT64_MAX);
  return Item::broken;
}

// The list of events ends at that place of the window: members or the document's end are behind it,
// and no event.
bool DocumentScan::is_array_end(std::size_t place) {
  if (is_array_form_ || window_.begin()[place] != ']') return false;
  while (window_.size() - place < event_ahead_bytes && window_.fill()) {
  }
  const char* at = window_.begin() + place + 1;
  while (is_space_or_comma(*at)) ++at;
  if (*at != '}' && *at != '"') return false;
  const std::string_view behind(at, static_cast<std::size_t>(window_.end() - at));
  search_.spend(behind.size());
  return behind.find(R"("ph")") == std::string_view::npos;
}

// What zeros cut is left like that, too. They begin at `begin` of the text. An event that they cut
// is not to be mended: they may stand for any number of others.
DocumentScan::Item DocumentScan::leave_hole(std::uint64_t begin) {
  search_.begin_zeros(begin);
  place_ = Place::events;
  window_.drop(1);
  is_trace_ = find_event() || is_trace_;
  if (problem_.empty()) {
    problem_ = "zeros in the place of text: " + path_ + ": at byte " + std::to_string(begin) +
               " to " + std::to_string(search_.zeros_end()) + ": " + rest_is_used;
  }
  return Item::hole;
}

bool DocumentScan::is_at_zero() const { return window_.size() > 0 && *window_.begin() == '\0'; }

// JSON, but of an event that is torn within an array of its own, which the end of the document has
// closed.
bool DocumentScan::has_swallowed_events() const {
  if (is_array_form_) return false;
  for (const JsonMember& member : object_.members) {
    const char* at = member.value.data();
    const char* const end = at + member.value.size();
    if (*at == '[' && scan_nested(at, end, Within::no_events) == Scan::broken) return true;
  }
  return false;
}

// What seems to end the events may be of one that is torn.
bool DocumentScan::has_events_behind_damage() {
  if (problem_.empty() || !find_event()) return false;
  place_ = Place::events;
  return true;
}

// On to the next event, wherever in the document that is.
DocumentScan::Item DocumentScan::pass_gap() {
  const bool is_among_events = place_ == Place::events;
  tell_gzip_damage();
  window_.cross_gap();
  place_ = Place::events;
  const bool is_found = find_event();
  is_trace_ = is_found || is_trace_;
  return is_found || is_among_events ? Item::damaged_gzip : next();
}

// It is why text is not JSON: what was said of that before goes.
void DocumentScan::tell_gzip_damage() {
  problem_ = trace::damage_in_words(window_.damage(), path_) + gzip_remedy + "copy the file again";
}

}  // namespace traceagent::tools
