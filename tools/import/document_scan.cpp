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

// Few events have more; and few that are smaller have swallowed others.
constexpr std::size_t most_usual_bytes = std::size_t{2} << 10;
// A repair costs as much as looking at so many times its bytes.
constexpr std::size_t repair_work = 16;

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
  const std::size_t room =
      std::min(static_cast<std::size_t>(window_.end() - at), search_.usual_room());
  const std::size_t size = shapes_.whole_object_at({at, room}, object_.members);
  is_unusual_ = size == 0;
  if (size == 0 || size > most_event_bytes) return false;
  object_.text = {at, size};
  if (size > most_usual_bytes && has_swallowed_events()) [[unlikely]]
    return false;
  was_repaired_ = false;
  is_trace_ = is_trace_ || (is_array_form_ && !object_.members.empty());
  window_.drop_until(at + size);
  return true;
}

DocumentScan::Item DocumentScan::next_of_any_kind() {
  const Item item = read_on();
  if (item == Item::end && is_trace_ && first_array_) {
    remember("arrays among the events", *first_array_, "what is in them is used");
  }
  return item;
}

DocumentScan::Item DocumentScan::read_on() {
  while (true) {
    switch (place_) {
      case Place::start:
        if (!pass_start()) return at_end_of_text();
        break;
      case Place::members:
        if (!pass_member() && !read_head_again()) return at_end_of_text();
        break;
      case Place::events:
        if (const std::optional<Item> item = next_event()) return *item;
        break;
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
  has_passed_comma_ = false;
  do {
    const char* at = window_.begin();
    for (; is_space_or_comma(*at); ++at) has_passed_comma_ = has_passed_comma_ || *at == ',';
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
  if (!is_trace_ && !is_array_form_) {  // a bracket too many before the events
    if (!head_damage_) head_damage_ = window_.offset();
    place_ = Place::members;
    return true;
  }
  if ((has_passed_comma_ || c == '}' || c == ']') && !is_array_form_) {
    if (has_events_behind_damage()) return true;
    if (c == '{' && begins_with_event()) {
      remember("text that is not JSON", window_.offset(), rest_is_used);  // it did not end there
      place_ = Place::events;
      return true;
    }
  }
  remember("text behind the end of a trace", window_.offset(), "what is before it is used");
  place_ = Place::end;
  return true;
}

std::optional<DocumentScan::Item> DocumentScan::next_event() {
  char c = 0;
  if (!peek(c)) return at_end_of_text();
  switch (c) {
    case '{':
      return pass_object();
    case '[':
      open_array();
      return std::nullopt;
    case ']':
      close_array();
      return std::nullopt;
    default:
      return pass_other_value();
  }
}

// What is in it is counted one by one: it may be a bracket too many, with all events behind it.
void DocumentScan::open_array() {
  if (!first_array_) first_array_ = window_.offset();
  has_others_ = true;
  ++open_arrays_;
  window_.drop(1);
}

void DocumentScan::close_array() {
  const std::uint64_t offset = window_.offset();
  window_.drop(1);
  if (!is_end_of_events()) {
    if (open_arrays_ == 0) remember("text that is not JSON", offset, rest_is_used);
    open_arrays_ -= open_arrays_ > 0 ? 1 : 0;
    return;
  }
  open_arrays_ = 0;
  is_trace_ = is_trace_ || !has_others_;
  place_ = is_array_form_ ? Place::behind : Place::members;
}

// Behind a bracket that closes: events may follow one that is too many or an array's among them,
// and members one that closes the events, whatever was opened there.
bool DocumentScan::is_end_of_events() {
  if (is_array_form_ && open_arrays_ > 0) return false;
  char c = 0;
  if (!peek(c)) return open_arrays_ == 0;
  if (is_array_form_) return c != '{' || !has_passed_comma_ || !begins_with_event();
  return open_arrays_ > 0 ? c == '}' || c == '"' : c != '{' && c != '[';
}

DocumentScan::Item DocumentScan::pass_object() {
  const std::uint64_t offset = window_.offset();
  while (true) {
    if (search_.within() == Within::no_events) {
      is_unusual_ = false;  // not all of it was judged
      if (scan_object(window_.begin(), window_.end(), object_, search_.within()) == Scan::broken) {
        return leave_broken_object();
      }
    }
    if (!std::exchange(is_unusual_, false) && take_whole_object()) {
      if (has_swallowed_events()) return leave_damage(Item::broken, offset);
      return accept_object(object_.text.data() + object_.text.size(), false);
    }
    const Scan scan = scan_object(window_.begin(), window_.end(), object_, search_.within());
    if (scan == Scan::whole) {
      return accept_repaired();
    }
    if (scan == Scan::broken) return leave_broken_object();
    if (window_.size() > most_event_bytes) {
      search_.spend(window_.size());
      return leave_damage(Item::too_long, offset);
    }
    if (window_.fill()) {
      continue;
    }
    // Cut, or a quote is missing here and events follow.
    search_.spend(window_.size());
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
  search_.spend(repair_work * object_.text.size());
  if (!is_followed_well(end)) return leave_damage(Item::broken, window_.offset());
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
  const std::uint64_t offset = window_.offset();
  const bool is_value =
      c == '"' || c == '-' || (c >= '0' && c <= '9') || c == 't' || c == 'f' || c == 'n';
  if (!is_value) return leave_damage(Item::broken, offset);
  has_others_ = true;
  if (!MemberValue(window_).pass()) return at_end_of_text();
  char next = 0;
  const bool is_member = peek(next) && !has_passed_comma_ && (next == ':' || next == '}');
  return is_member ? leave_damage(Item::broken, offset) : Item::not_an_object;
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
      if (inside && !is_trace_ && head_damage_ && !has_read_head_again_) {
        remember("text that is not JSON", *head_damage_, give_a_trace);
      } else if (inside && !is_trace_) {
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
  if (!is_trace_ || !window_.is_gzip() || search_.has_given_up()) return Item::end;
  do {
    window_.drop(window_.size());
  } while (window_.fill());
  return window_.status() == InputFile::Status::gap ? pass_gap() : Item::end;
}

void DocumentScan::remember(const char* what, std::uint64_t offset, const std::string& remedy) {
  if (problem_.empty()) {
    problem_ =
        std::string(what) + ": " + path_ + ": at byte " + std::to_string(offset) + ": " + remedy;
  }
}

}  // namespace traceagent::tools
