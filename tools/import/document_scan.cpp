#include "tools/import/document_scan.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/trace/file_problem.hpp"
#include "agent/trace/json_syntax.hpp"
#include "tools/import/json_repair.hpp"
#include "tools/import/member_value.hpp"

namespace traceagent::tools {

namespace {

using trace::InputFile;

constexpr char give_a_trace[] = "give a trace in Chrome's JSON form";
constexpr char rest_is_used[] = "what is whole is used";
constexpr char gzip_remedy[] =
    "what is whole before and behind it is used, and what it let through may be wrong; ";
// Looking for the next event in damaged text may look at much of it many times: at so much more
// than once.
constexpr std::size_t most_work_bytes = std::size_t{256} << 20;
// A repair costs as much as looking at so many times its bytes.
constexpr std::size_t repair_work = 16;

bool has_member(const ScannedObject& object, std::string_view key) {
  for (const JsonMember& member : object.members) {
    if (member.key == key) return true;
  }
  return false;
}

// Of text whose brackets and quotes are right.
bool is_too_deep(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < json.size() && depth <= trace::deepest_json; ++at) {
    const char c = json[at];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      at += c == '\\' ? 1 : 0;
    } else {
      depth += c == '{' || c == '[' ? 1 : 0;
      depth -= c == '}' || c == ']' ? 1 : 0;
    }
  }
  return depth > trace::deepest_json;
}

bool is_space_or_comma(char c) { return is_json_space(c) || c == ','; }

}  // namespace

bool DocumentScan::open(const std::string& path, Members members, std::uint64_t most_file_bytes) {
  path_ = path;
  members_ = std::move(members);
  if (!window_.open(path, most_file_bytes)) {
    problem_ = trace::reading_problem(path, window_.error_number());
    place_ = Place::end;
  }
  return problem_.empty();
}

// What nearly all events are: whole in the window, without anything but spaces and commas in front.
// False: nothing was passed.
bool DocumentScan::take_usual_event() {
  const char* at = window_.begin();
  while (is_space_or_comma(*at)) ++at;
  if (*at != '{' || at >= window_.end()) return false;
  const auto room = static_cast<std::size_t>(window_.end() - at);
  const std::size_t size = shapes_.whole_object_at({at, room}, object_.members);
  is_unusual_ = size == 0;
  if (size == 0 || size > most_event_bytes) return false;
  object_.text = {at, size};
  was_repaired_ = false;
  is_trace_ = is_trace_ || (is_array_form_ && !object_.members.empty());
  window_.drop_until(at + size);
  return true;
}

DocumentScan::Item DocumentScan::next_of_any_kind() {
  while (true) {
    switch (place_) {
      case Place::start:
        if (!pass_start()) return at_end_of_text();
        break;
      case Place::members:
        if (!pass_member()) return at_end_of_text();
        break;
      case Place::events:
        return next_event();
      case Place::behind:
        if (!pass_behind()) return at_end_of_text();
        break;
      case Place::end:
        return at_end_of_trace();
    }
  }
}

// The next character that is neither space nor comma; false at the end of the text, and at zeros.
bool DocumentScan::peek(char& c) {
  do {
    const char* at = window_.begin();
    while (is_space_or_comma(*at)) ++at;
    window_.drop_until(std::min(at, window_.end()));
  } while (window_.size() == 0 && window_.fill());
  c = *window_.begin();
  return window_.size() > 0 && c != '\0';
}

bool DocumentScan::pass_start() {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  while (window_.size() < byte_order_mark.size() && window_.fill()) {
  }
  if (std::string_view(window_.begin(), window_.size()).starts_with(byte_order_mark)) {
    window_.drop(byte_order_mark.size());
  }
  char c = 0;
  if (!peek(c) && !is_at_zero()) {
    if (window_.file_bytes_read() == 0) remember("an empty file", 0, give_a_trace);
    return false;
  }
  if (c != '[' && c != '{') {
    remember("not a trace", window_.offset(), give_a_trace);
    place_ = Place::end;
    return true;
  }
  has_brackets_ = c == '[' || !begins_with_event();
  is_array_form_ = c == '[' || !has_brackets_;
  if (has_brackets_) window_.drop(1);
  place_ = is_array_form_ ? Place::events : Place::members;
  return true;
}

// An event a line, without an array around them.
bool DocumentScan::begins_with_event() {
  Scan scan;
  do {
    scan = scan_object(window_.begin(), window_.end(), object_);
  } while (scan == Scan::more && window_.size() < TextWindow::first_bytes && window_.fill());
  return scan == Scan::whole && has_member(object_, "ph") && !has_member(object_, "traceEvents");
}

bool DocumentScan::pass_member() {
  char c = 0;
  if (!peek(c)) return false;
  if (c == '}') {
    window_.drop(1);
    place_ = Place::behind;
    return true;
  }
  MemberValue key(window_);
  if (c == '"' && !key.pass()) return false;
  if (!peek(c)) return false;
  if (key.text().empty() || c != ':') {
    remember("text that is not JSON", window_.offset(), is_trace_ ? rest_is_used : give_a_trace);
    place_ = Place::end;
    return true;
  }
  window_.drop(1);
  if (!peek(c)) return false;
  if (key.text() == "\"traceEvents\"" && c == '[') {
    window_.drop(1);
    is_trace_ = true;
    place_ = Place::events;
    return true;
  }
  MemberValue value(window_);
  const bool is_distributed_info = key.text() == "\"distributedInfo\"" && c == '{';
  if (!(is_distributed_info ? value.pass_leaving_nested_out() : value.pass())) return false;
  members_(std::string_view(key.text()).substr(1, key.text().size() - 2), value.text());
  return true;
}

// Documents behind each other: arrays of events are read on, and what comes behind one that is no
// trace. Members would speak of the events before them, too: they are not.
bool DocumentScan::pass_behind() {
  char c = 0;
  if (!peek(c) && !is_at_zero()) return false;
  const bool is_array = c == '[';
  if ((!is_trace_ && c == '{') || (is_array && (!is_trace_ || is_array_form_))) {
    window_.drop(1);
    is_array_form_ = is_array;
    place_ = is_array ? Place::events : Place::members;
    return true;
  }
  remember("text behind the end of a trace", window_.offset(), "what is before it is used");
  place_ = Place::end;
  return true;
}

DocumentScan::Item DocumentScan::next_event() {
  char c = 0;
  if (!peek(c)) return at_end_of_text();
  if (c == '{') [[likely]] {
    return pass_object();
  }
  if (c == ']') {
    window_.drop(1);
    is_trace_ = is_trace_ || !has_others_;
    place_ = is_array_form_ ? Place::behind : Place::members;
    return next();
  }
  return pass_other_value();
}

DocumentScan::Item DocumentScan::pass_object() {
  const std::uint64_t offset = window_.offset();
  while (true) {
    if (!std::exchange(is_unusual_, false) && take_whole_object()) {
      return accept_object(object_.text.data() + object_.text.size(), false);
    }
    const Scan scan = scan_object(window_.begin(), window_.end(), object_);
    if (scan == Scan::whole) {
      return accept_repaired();
    }
    if (scan == Scan::broken) {
      work_ += object_.text.size();
      const bool is_hole = object_.text.data()[object_.text.size()] == '\0';
      return is_hole ? leave_hole(offset + object_.text.size()) : leave_damage(Item::broken);
    }
    if (window_.size() > most_event_bytes) {
      work_ += window_.size();
      return leave_damage(Item::too_long);
    }
    if (window_.fill()) {
      continue;
    }
    // Cut, or a quote is missing here and events follow.
    work_ += window_.size();
    window_.drop(1);
    if (find_event()) {
      remember("text that is not JSON", offset, rest_is_used);
      return Item::broken;
    }
    has_cut_event_ =
        window_.status() == InputFile::Status::end || window_.status() == InputFile::Status::cut;
    if (window_.status() == InputFile::Status::end) {
      remember("a trace that is cut off within an event", offset, rest_is_used);
    }
    return at_end_of_text();
  }
}

// What nearly all events are: judged and taken apart in one pass.
bool DocumentScan::take_whole_object() {
  const std::size_t size =
      shapes_.whole_object_at({window_.begin(), window_.size()}, object_.members);
  object_.text = {window_.begin(), size};
  return size > 0;
}

DocumentScan::Item DocumentScan::accept_repaired() {
  const char* const end = object_.text.data() + object_.text.size();
  if (repair()) return accept_object(end, true);
  work_ += repair_work * object_.text.size();
  if (!is_followed_well(end)) return leave_damage(Item::broken);
  return skip_whole(end, is_too_deep(object_.text) ? Item::too_deep : Item::broken);
}

// `end`: its own, in the window.
DocumentScan::Item DocumentScan::accept_object(const char* end, bool was_repaired) {
  was_repaired_ = was_repaired;
  if (object_.text.size() > most_event_bytes) [[unlikely]] {
    return skip_whole(end, Item::too_long);
  }
  is_trace_ = is_trace_ || (is_array_form_ && !object_.members.empty());
  window_.drop_until(end);
  return Item::event;
}

bool DocumentScan::repair() {
  if (!repair_json(object_.text, repaired_)) return false;
  const std::size_t size = repaired_.size();
  repaired_.append(TextWindow::padding_bytes, '\0');
  return scan_object(repaired_.data(), repaired_.data() + size, object_) == Scan::whole;
}

// Then its brackets were right, whatever is wrong within.
bool DocumentScan::is_followed_well(const char* end) const {
  while (is_json_space(*end)) ++end;
  return end >= window_.end() || *end == ',' || *end == ']';
}

DocumentScan::Item DocumentScan::skip_whole(const char* end, Item item) {
  if (item == Item::broken) {
    remember("text that is not JSON", window_.offset(), rest_is_used);
  }
  window_.drop_until(end);
  return item;
}

DocumentScan::Item DocumentScan::pass_other_value() {
  const char c = *window_.begin();
  const bool is_value = c == '"' || c == '[' || c == '-' || (c >= '0' && c <= '9') || c == 't' ||
                        c == 'f' || c == 'n';
  if (!is_value) return leave_damage(Item::broken);
  has_others_ = true;
  return MemberValue(window_).pass() ? Item::not_an_object : at_end_of_text();
}

// On to the next event, wherever it is.
DocumentScan::Item DocumentScan::leave_damage(Item item) {
  if (item == Item::broken) {
    remember("text that is not JSON", window_.offset(), rest_is_used);
  }
  const std::uint64_t offset = window_.offset();
  window_.drop(1);
  const bool is_found = find_event();
  if (item == Item::too_long && !is_found) unpassed_ = offset;
  return item;
}

// The same, where zeros begin at `begin` of the text. An event that they cut is not to be mended:
// they may stand for any number of others.
DocumentScan::Item DocumentScan::leave_hole(std::uint64_t begin) {
  zeros_end_ = begin + 1;
  place_ = Place::events;
  window_.drop(1);
  is_trace_ = find_event() || is_trace_;
  if (problem_.empty()) {
    problem_ = "zeros in the place of text: " + path_ + ": at byte " + std::to_string(begin) +
               " to " + std::to_string(zeros_end_) + ": " + rest_is_used;
  }
  return Item::hole;
}

void DocumentScan::note_zeros(const char* end) {
  const std::string_view passed(window_.begin(), static_cast<std::size_t>(end - window_.begin()));
  const std::size_t last = passed.rfind('\0');
  if (last != std::string_view::npos) zeros_end_ = window_.offset() + last + 1;
}

bool DocumentScan::is_at_zero() const { return window_.size() > 0 && *window_.begin() == '\0'; }

bool DocumentScan::find_event() {
  while (true) {
    if (work_ > most_work_bytes + window_.offset()) {
      problem_.clear();  // of damage before this, which says that the rest is used
      remember("text that is not JSON", window_.offset(), "the rest was left out");
      window_.drop(window_.size());
      place_ = Place::end;
      has_given_up_ = true;
      return false;
    }
    const void* const brace = std::memchr(window_.begin(), '{', window_.size());
    if (brace == nullptr) {
      note_zeros(window_.end());
      window_.drop(window_.size());
      if (!window_.fill()) return false;
      continue;
    }
    note_zeros(static_cast<const char*>(brace));
    window_.drop_until(static_cast<const char*>(brace));
    ScannedObject candidate;
    const Scan scan = scan_object(window_.begin(), window_.end(), candidate);
    if (scan == Scan::whole && has_member(candidate, "ph")) return true;
    work_ += scan == Scan::more ? window_.size() : candidate.text.size();
    const bool may_go_on = scan == Scan::more && window_.size() < most_event_bytes;
    if (!may_go_on || !window_.fill()) window_.drop(1);
  }
}

// Or what cannot be read on at this place.
DocumentScan::Item DocumentScan::at_end_of_text() {
  if (is_at_zero()) return leave_hole(window_.offset());
  return window_.status() == InputFile::Status::gap ? pass_gap() : at_end_of_file();
}

DocumentScan::Item DocumentScan::at_end_of_file() {
  const bool inside = place_ != Place::behind && place_ != Place::end;
  const bool is_among_events = place_ == Place::events;
  place_ = Place::end;
  switch (window_.status()) {
    case InputFile::Status::failed:
      problem_ = trace::reading_problem(path_, window_.error_number());
      break;
    case InputFile::Status::damaged:
      tell_gzip_damage();
      return is_among_events ? Item::damaged_gzip : Item::end;
    case InputFile::Status::cut:
      remember("a trace that is cut off within its gzip data", window_.file_bytes_read(),
               "what is whole of the " + std::to_string(window_.offset()) +
                   " bytes of text in it is used");
      break;
    default:
      if (inside && !is_trace_) {
        remember("not a trace", window_.offset(), give_a_trace);
      } else if (inside && unpassed_) {
        remember("an event of more than 1 MiB, and none behind it", *unpassed_, rest_is_used);
      } else if (inside && !is_array_form_) {
        remember("a trace that is cut off", window_.offset(), rest_is_used);
      } else if (inside && has_brackets_ && problem_.empty()) {
        open_end_ = window_.offset();
      }
  }
  return Item::end;
}

// Of gzip data damage may look like that.
DocumentScan::Item DocumentScan::at_end_of_trace() {
  if (!is_trace_ || !window_.is_gzip() || has_given_up_) return Item::end;
  do {
    window_.drop(window_.size());
  } while (window_.fill());
  return window_.status() == InputFile::Status::gap ? pass_gap() : Item::end;
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

void DocumentScan::remember(const char* what, std::uint64_t offset, const std::string& remedy) {
  if (problem_.empty()) {
    problem_ =
        std::string(what) + ": " + path_ + ": at byte " + std::to_string(offset) + ": " + remedy;
  }
}

}  // namespace traceagent::tools
