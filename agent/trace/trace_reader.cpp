#include "agent/trace/trace_reader.hpp"

#include <algorithm>
#include <cstring>

#include "agent/trace/file_problem.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_syntax.hpp"
#include "agent/trace/judged_folder.hpp"

namespace traceagent::trace {

namespace {

constexpr std::string_view foreign_remedy = "give files that TraceAgent wrote";
constexpr char copy_remedy[] = "copy the file again";
constexpr char too_long[] = "too_long";
constexpr char damaged_gzip[] = "damaged_gzip";
constexpr char damaged_gzip_places[] = "damaged_gzip_places";
constexpr char gzip_remedy[] =
    "what is whole before and behind it is used, and what it let through may be wrong; ";
constexpr std::string_view metadata_key = "\"traceagent\": ";
constexpr std::string_view completeness = "\"complete\": true";
// Some 4 KiB for each cycle of each rank: a node's run of weeks has tens of MiB.
constexpr std::size_t max_metadata_bytes = std::size_t{256} << 20;

// Also where the line that ends the events is damaged.
bool is_behind_events(std::string_view line) {
  return line == "]," || line == "}" || line == completeness || line.starts_with(metadata_key);
}

// What a merged file says of itself may take many lines, of which the first may be lost.
bool is_of_metadata(std::string_view line) {
  return !line.starts_with(ts_prefix) &&
         (line.starts_with("], \"") || is_whole_object(without_comma(line), deepest_metadata));
}

// A damaged newline makes one line of two events. In a text the quote would be escaped.
std::uint64_t events_in(std::string_view line) {
  std::uint64_t events = 0;
  for (std::size_t at = line.find(ts_prefix); at != std::string_view::npos;
       at = line.find(ts_prefix, at + ts_prefix.size())) {
    ++events;
  }
  return std::max<std::uint64_t>(events, 1);
}

}  // namespace

bool TraceReader::open(const std::string& path) {
  path_ = path;
  header_ = {};
  footer_ = {};
  problem_.clear();
  lost_.clear();
  damaged_lines_ = 0;
  gzip_damage_ = {};
  events_ = line_offset_ = 0;
  has_events_ = has_base_ = ended_ = has_told_missing_ = false;
  judge_ = LineJudge(JudgedFolder::holds(path));
  maker_ = JudgedFolder::events_of(path);
  made_ = {};
  made_at_ = nullptr;
  if (!lines_.open(path)) {
    problem_ = reading_problem(path, lines_.error_number());
    return false;
  }
  std::string_view line;
  LineReader::Status status = lines_.next(line);
  // Nor is an empty file, or somebody's all on one line, one of ours that is cut off.
  const bool has_no_line = status == LineReader::Status::end || status == LineReader::Status::cut;
  if (has_no_line || (status == LineReader::Status::line && line != "{")) {
    fail("not a trace of TraceAgent's");
    return false;
  }
  while (!has_events_ && status == LineReader::Status::line) {
    line_offset_ = lines_.offset();
    status = lines_.next(line);
    if (status == LineReader::Status::line && !read_header_line(line)) {
      fail("not a trace of TraceAgent's");
      return false;
    }
  }
  if (status != LineReader::Status::line) {
    fail_reading(status);
  } else if (!has_base_) {
    fail("not a trace of TraceAgent's");
  }
  return problem_.empty();
}

bool TraceReader::read_header_line(std::string_view line) {
  const std::size_t colon = line.find("\": ");
  if (!line.starts_with('"') || colon == std::string_view::npos) {
    return false;
  }
  const std::string_view key = line.substr(1, colon - 1);
  const std::string_view value = without_comma(line.substr(colon + 3));
  if (key == "sources") {
    return value == "[" && read_sources();
  }
  if (key == "traceEvents") {
    has_events_ = true;
    return value == "[";
  }
  if (!is_whole_value(value, deepest_metadata)) {
    return false;  // it would spoil the file that it is merged into
  }
  if (key == "distributedInfo") {
    header_.distributed_info = value;
    header_.rank = integer_member(value, "rank").value_or(0);
    header_.world_size = integer_member(value, "world_size").value_or(0);
  } else if (key == "baseTimeNanoseconds") {
    const auto base = parse_integer(value);
    has_base_ = base.has_value();
    header_.base_ns = base.value_or(0);
  } else if (key == "traceName" && value.starts_with('"')) {
    header_.trace_name = value.substr(1, value.size() - 2);
  } else if (key == "deviceProperties") {
    header_.device_properties = value;
  } else if (key == "selections") {
    header_.selections = value;
  }
  return true;  // a later version may say more
}

bool TraceReader::read_sources() {
  std::string_view line;
  while (lines_.next(line) == LineReader::Status::line) {
    if (line == "],") {
      return true;
    }
    if (!is_whole_object(without_comma(line), deepest_metadata)) {
      return false;
    }
    header_.sources.emplace_back(without_comma(line));
  }
  return false;
}

void TraceReader::read_beside(SideReads& reads) {
  if (maker_) {
    maker_->make_beside(reads);
  } else {
    lines_.read_beside(reads, judge_.trusts());
  }
}

TraceLine TraceReader::next_made() {
  const MadeEvents::Line& line = *made_at_++;
  const std::string_view text(made_.text + line.offset, line.bytes);
  return {TraceLine::Kind::event, text, text.substr(line.after_ts), line.ts_ns};
}

// False: the last was made, or the reading has failed.
bool TraceReader::make_more() {
  if (!maker_ || ended_) {
    return false;
  }
  made_ = maker_->next();
  made_at_ = made_.begin;
  if (is_void()) {
    ended_ = true;
    problem_ = maker_->problem();
  }
  return made_at_ != made_.end;
}

// False: what comes next was not judged yet.
bool TraceReader::take_judged() {
  made_ = lines_.take_judged();
  made_at_ = made_.begin;
  events_ += static_cast<std::uint64_t>(made_.end - made_.begin);
  return made_at_ != made_.end;
}

TraceLine TraceReader::next_read() {
  if (make_more()) {
    return next_made();
  }
  while (!ended_) {
    if (take_judged()) {
      return next_made();
    }
    line_offset_ = lines_.offset();
    std::string_view line;
    const LineReader::Status status = lines_.next(line);
    if (status == LineReader::Status::too_long) {
      leave_out_long_line();
      continue;
    }
    if (status == LineReader::Status::gap) {
      note_gap();
      continue;
    }
    if (status != LineReader::Status::line) {
      return fail_reading(status);
    }
    TraceLine result;
    const char* const damage = judge_.damage_of(line, result);
    if (damage == nullptr) [[likely]] {
      events_ += result.kind == TraceLine::Kind::event ? 1 : 0;
      return result;
    }
    if (is_behind_events(line)) {
      return end_of_events(line);
    }
    if (gzip_damage_.places == 0 || !is_of_metadata(line)) leave_out(damage, events_in(line));
  }
  return {};
}

void TraceReader::leave_out(const char* cause, std::uint64_t events) {
  lost_[cause] += events;
  first_damage_ = damaged_lines_++ == 0 ? line_offset_ : first_damage_;
  tell_damage();
}

void TraceReader::tell_damage() {
  if (gzip_damage_.places > 0) {
    problem_ =
        damage_in_words(gzip_damage_, path_) + (has_events_ ? gzip_remedy : "") + copy_remedy;
    if (damaged_lines_ > 0) {
      problem_ += "; damaged lines, left out: " + std::to_string(damaged_lines_);
    }
    return;
  }
  const bool is_one = damaged_lines_ == 1;
  problem_ = (is_one ? "a damaged line: " : std::to_string(damaged_lines_) + " damaged lines: ") +
             path_ + (is_one ? ": at byte " : ": the first at byte ") +
             std::to_string(first_damage_) + ": left out, and counted; " + copy_remedy;
}

void TraceReader::leave_out_long_line() {
  leave_out(too_long, 1);
  std::string_view rest;
  LineReader::Status status = LineReader::Status::too_long;
  while (status == LineReader::Status::too_long) {
    status = lines_.next(rest);
  }
  if (status == LineReader::Status::gap) note_gap();
}

void TraceReader::note_gap() {
  gzip_damage_ = lines_.damage();
  tell_damage();
}

// What stood in damaged text is not to be seen there, but the file says how many events it has.
void TraceReader::count_missing() {
  const bool is_undamaged = damaged_lines_ == 0 && gzip_damage_.places == 0;
  const auto said = integer_member(footer_.metadata, "events");
  if (!said) {
    if (!is_undamaged) count_places();
    return;
  }
  const auto written = static_cast<std::uint64_t>(std::max<std::int64_t>(*said, 0));
  if (is_undamaged) {
    if (written != events_) tell_other_number(written);
    return;
  }
  if (gzip_damage_.places > 0) lost_.clear();
  std::uint64_t known = events_;
  for (const auto& [cause, count] : lost_) known += count;
  if (written > known) lost_[gzip_damage_.places > 0 ? damaged_gzip : not_json] += written - known;
}

// Whole lines that somebody took out, or put in.
void TraceReader::tell_other_number(std::uint64_t written) {
  has_told_missing_ = true;
  const bool is_less = events_ < written;
  if (is_less) lost_[missing_lines] = written - events_;
  footer_.complete = false;
  problem_ = (is_less ? "events are missing: " : "more events than were written: ") + path_ +
             ": it says that " + std::to_string(written) + " were written, and has " +
             std::to_string(events_) + ": what is there is used; " + copy_remedy;
}

// Lines that damaged gzip data let through are not as many as were written there.
void TraceReader::count_places() {
  if (gzip_damage_.places == 0) return;
  lost_.clear();
  lost_[damaged_gzip_places] = gzip_damage_.places;
}

// From `line` on, most often "],": `"traceagent": {...},` (over several lines in a merged file),
// perhaps
// `"complete": true`, and `}`.
TraceLine TraceReader::end_of_events(std::string_view line) {
  ended_ = true;
  LineReader::Status status = LineReader::Status::line;
  if (line == "],") {
    status = lines_.next(line);
  }
  for (; status == LineReader::Status::line && line != "}"; status = lines_.next(line)) {
    if (line == completeness) {
      footer_.complete = damaged_lines_ == 0 && gzip_damage_.places == 0;
      continue;
    }
    if (line.starts_with(metadata_key)) {
      line.remove_prefix(metadata_key.size());
    }
    if (footer_.metadata.size() + line.size() > max_metadata_bytes) {
      footer_ = {};  // what was read so far is cut
      return fail("metadata of more than 256 MiB");
    }
    footer_.metadata.append(line);
  }
  footer_.metadata.resize(without_comma(footer_.metadata).size());
  if (!footer_.metadata.empty() && !is_whole_object(footer_.metadata, deepest_metadata)) {
    footer_.metadata.clear();  // cut within: spliced into a merged file it would spoil that one
    if (status == LineReader::Status::line) {
      footer_.complete = false;
      set_problem("metadata that is not JSON", line_offset_, copy_remedy);
      look_for_damage();
      return {};
    }
  }
  if (status != LineReader::Status::line) {
    footer_.complete = false;
    return fail_reading(status);
  }
  footer_.closed = true;
  look_behind();
  return {};
}

// Gzip data that is damaged shows it only behind what it has let through.
void TraceReader::look_for_damage() {
  std::string_view line;
  LineReader::Status status = LineReader::Status::line;
  while (status == LineReader::Status::line || status == LineReader::Status::too_long) {
    status = lines_.next(line);
  }
  if (status == LineReader::Status::gap || status == LineReader::Status::damaged) note_gap();
  count_places();
}

// Nothing is there, unless files were joined (cat), or a longer one was written over.
void TraceReader::look_behind() {
  line_offset_ = lines_.offset();
  std::string_view line;
  LineReader::Status status = lines_.next(line);
  while (status == LineReader::Status::line && line.empty()) {
    status = lines_.next(line);
  }
  const bool is_damaged =
      status == LineReader::Status::gap || status == LineReader::Status::damaged;
  if (is_damaged && lines_.damage().has_text) {  // then what the file says of itself may be wrong
    footer_.complete = false;
    note_gap();
    count_places();
    return;
  }
  count_missing();
  if (status == LineReader::Status::end) {
    return;
  }
  footer_.complete = false;
  set_problem("text behind the end of a trace", line_offset_,
              "what is before it is used; give each trace as a file of its own");
}

TraceLine TraceReader::fail(const char* what) {
  set_problem(what, line_offset_, foreign_remedy.data());
  return {};
}

TraceLine TraceReader::fail_reading(LineReader::Status status) {
  switch (status) {
    case LineReader::Status::failed:
      ended_ = true;
      problem_ = reading_problem(path_, lines_.error_number());
      break;
    case LineReader::Status::too_long:
      set_problem("a line of more than 1 MiB", line_offset_, foreign_remedy.data());
      break;
    case LineReader::Status::gap:
    case LineReader::Status::damaged:
      ended_ = true;
      note_gap();
      break;
    default:
      set_problem("a trace that is cut off", lines_.offset(),
                  "its writer was stopped; what stands before is used");
  }
  count_places();
  return {};
}

void TraceReader::set_problem(const std::string& what, std::uint64_t offset, const char* remedy) {
  ended_ = true;
  has_told_missing_ = false;
  problem_ = what + ": " + path_ + ": at byte " + std::to_string(offset) + ": " + remedy;
  if (damaged_lines_ > 0) {
    problem_ += "; damaged lines before it, left out: " + std::to_string(damaged_lines_);
  }
  if (gzip_damage_.places > 0) {
    problem_ += "; damaged places of gzip data before it: " + std::to_string(gzip_damage_.places);
  }
}

}  // namespace traceagent::trace
