// What a document says before its events and behind them.
#include <algorithm>

#include "tools/import/document_scan.hpp"
#include "tools/import/member_place.hpp"
#include "tools/import/member_value.hpp"

namespace traceagent::tools {

namespace {

using trace::InputFile;

// As far behind damage the events are looked for; and so much may be looked at for it.
constexpr std::uint64_t most_head_bytes = std::uint64_t{16} << 20;

}  // namespace

bool DocumentScan::pass_member() {
  char c = 0;
  if (!peek(c)) return false;
  const bool is_in_damaged_head = head_damage_ && !is_trace_;
  if (c == '}' && !is_in_damaged_head) {
    window_.drop(1);
    place_ = Place::behind;
    return true;
  }
  // A quote that is missing makes a key of what is up to the next one.
  if (c == '"' && !is_trace_ && !begins_with_key(window_)) {
    return pass_head_damage(window_.offset());
  }
  MemberValue key(window_);
  if (c == '"' && !key.pass()) return false;
  if (!peek(c)) return false;
  if (key.text().empty() || c != ':') return pass_head_damage(window_.offset());
  window_.drop(1);
  if (!peek(c)) return false;
  const bool is_list =
      key.text() == R"("traceEvents")" && (c == '[' || (c == '{' && begins_with_event()));
  return is_list ? begin_events() : pass_member_value(key.text());
}

// Their bracket may be missing.
bool DocumentScan::begin_events() {
  const bool has_bracket = *window_.begin() == '[';
  if (!has_bracket && !head_damage_) head_damage_ = window_.offset();
  if (head_damage_ && !is_trace_) remember("text that is not JSON", *head_damage_, rest_is_used);
  window_.drop(has_bracket ? 1 : 0);
  is_trace_ = true;
  place_ = Place::events;
  return true;
}

bool DocumentScan::pass_member_value(const std::string& key) {
  const char c = *window_.begin();
  if (c == '{' || c == '[') last_value_ = window_.offset();
  if (const auto fault = fault_in_head()) return pass_head_damage(*fault);
  MemberValue value(window_);
  const bool is_distributed_info = key == R"("distributedInfo")" && c == '{';
  if (!(is_distributed_info ? value.pass_leaving_nested_out() : value.pass())) return false;
  members_(std::string_view(key).substr(1, key.size() - 2), value.text());
  return true;
}

// Where the value that the window begins with cannot go on; before the events alone: those would be
// passed over with it. Of what is larger than a window nobody knows, but behind damage it is taken
// for broken: what closes it may be another's.
std::optional<std::uint64_t> DocumentScan::fault_in_head() {
  if (is_trace_) return std::nullopt;
  Scan scan = Scan::more;
  const char* at = nullptr;
  do {
    at = window_.begin();
    scan = scan_member_value(at, window_.end());
  } while (scan == Scan::more && window_.size() < TextWindow::first_bytes && window_.fill());
  const auto passed = static_cast<std::size_t>(at - window_.begin());
  if (head_damage_) search_.spend(passed);
  const bool is_fault = scan == Scan::broken ? *at != '\0' : scan == Scan::more && head_damage_;
  return is_fault ? std::optional(window_.offset() + passed) : std::nullopt;
}

// On to the next member. Those behind the events are less than that is worth.
bool DocumentScan::pass_head_damage(std::uint64_t offset) {
  if (is_trace_) {
    if (has_events_behind_damage()) return true;
    remember("text that is not JSON", offset, rest_is_used);
    place_ = Place::end;
    return true;
  }
  if (!head_damage_) head_damage_ = offset;
  if (search_.work_bytes() <= most_head_bytes &&
      find_member(window_, *head_damage_ + most_head_bytes)) {
    return true;
  }
  if (is_at_zero() || window_.size() == 0) return false;
  remember("text that is not JSON", *head_damage_, give_a_trace);
  place_ = Place::end;
  return true;
}

// The text ends before any event: a bracket may be missing in the last value that has some, and the
// events were passed over with it. False: there is none, or this was done.
bool DocumentScan::read_head_again() {
  const bool is_whole_text = window_.status() == InputFile::Status::end && window_.size() == 0;
  if (is_trace_ || head_damage_ || last_value_ == 0 || !is_whole_text) return false;
  if (!window_.open_again(path_)) return false;
  while (window_.offset() < last_value_ && (window_.size() > 0 || window_.fill())) {
    window_.drop(std::min<std::uint64_t>(window_.size(), last_value_ - window_.offset()));
  }
  has_read_head_again_ = true;
  return pass_head_damage(last_value_);
}

}  // namespace traceagent::tools
