#include "tools/import/foreign_file.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/file_problem.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_metadata.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tools/import/beginning_marks.hpp"
#include "tools/import/content_mark.hpp"
#include "tools/import/file_reading.hpp"
#include "tools/import/rank_in_name.hpp"
#include "tools/import/run_file.hpp"
#include "tools/import/source_keys.hpp"

namespace traceagent::tools {

namespace {

// Where documents tell whose they are, if they do so in front.
constexpr unsigned peeked_events = 256;
constexpr std::size_t peeked_bytes = std::size_t{64} << 10;

}  // namespace

std::string not_closed(const ImportedFile& file) {
  return file.open_end ? std::string(trace::not_closed) + ": " + file.path + ": at byte " +
                             std::to_string(*file.open_end) +
                             ": what is there is used; if it was cut there, copy the file again"
                       : std::string();
}

ForeignFile::ForeignFile(std::string path, std::string prefix, std::optional<std::int64_t> rank)
    : path_(std::move(path)),
      prefix_(std::move(prefix)),
      process_(sagemaker_name(path_)),
      pytorch_name_(pytorch_name(path_)),
      rank_(rank),
      rank_is_given_(rank.has_value()) {
  if (const auto profile = sagemaker_profile(path_)) {
    process_ = profile->name;
    begin_ns_ = profile->begin_ns;
  }
  report_.path = path_;
  report_.rank_from = rank_is_given_ ? "--rank" : "none";
}

void ForeignFile::peek() {
  DocumentScan scan(peeked_bytes);
  FileFacts facts;
  const auto take = [&facts](std::string_view key, std::string_view value) {
    facts.add_member(key, value);
  };
  bool has_item = false;
  if (scan.open(path_, take)) {
    for (unsigned i = 0; i < peeked_events; ++i) {
      const DocumentScan::Item item = scan.next();
      if (item == DocumentScan::Item::end) break;
      const bool is_event = item == DocumentScan::Item::event;
      if (is_event) facts.add_event(scan.event());
      has_item = has_item || !is_event || !scan.event().members.empty();
    }
  }
  report_.is_trace = scan.is_trace();
  is_empty_ = report_.is_trace && !has_item && scan.is_well_formed();
  report_.problem = report_.is_trace ? "" : scan.problem();
  report_.is_other_json = !report_.is_trace && scan.is_well_formed();
  if (!report_.is_trace && report_.problem.empty()) {
    report_.problem = "not a trace: " + path_ +
                      ": at byte 0: it holds no events: give a trace in Chrome's JSON form";
  }
  facts_ = std::move(facts);
  take_rank(facts_);
}

void ForeignFile::take_rank(const FileFacts& facts) {
  named_rank_ = facts.rank();
  if (!named_rank_ && !has_numbered_process()) {
    named_rank_ = takes_number_alone_ ? rank_in_name(path_) : rank_said_in_name(path_);
  }
  if (rank_is_given_ || !named_rank_) return;
  rank_ = named_rank_;
  report_.rank_from = facts.rank() ? "content" : "name";
}

std::optional<std::int64_t> ForeignFile::told_rank() const {
  // Which of SageMaker Debugger's names tell ranks depends on what other files are there.
  const bool is_told = rank_is_given_ || (report_.rank_from != "none" && process() == nullptr);
  return is_told ? rank_ : std::nullopt;
}

void ForeignFile::set_rank(std::int64_t rank, const char* from) {
  rank_ = rank;
  report_.rank_from = from;
}

const SageMakerName* ForeignFile::process() const {
  const bool is_anothers =
      facts_.kind() == ForeignKind::composer || facts_.kind() == ForeignKind::kineto;
  return process_ && !is_anothers && !facts_.rank() ? &*process_ : nullptr;
}

// A name that only looks like SageMaker's has its rank where others have it.
bool ForeignFile::has_numbered_process() const {
  const SageMakerName* const name = process();
  return name != nullptr && name->number;
}

std::optional<std::int64_t> ForeignFile::base_ns() const {
  return facts_.base_ns() ? facts_.base_ns() : begin_ns_;
}

const std::string& ForeignFile::file_mark() {
  if (file_mark_.empty()) file_mark_ = content_mark(path_);
  return file_mark_;
}

std::vector<std::string> ForeignFile::marks(const std::set<std::uint64_t>& sizes) {
  std::vector<std::string> marks = {is_read_ ? text_mark_ : mark_of_gzip_text(path_)};
  std::error_code none;
  if (sizes.contains(std::filesystem::file_size(path_, none))) marks.push_back(file_mark());
  return marks;
}

bool ForeignFile::may_be(const ImportedSource& source) const {
  const auto told = told_rank();
  if (told && source.told_rank) {
    return told == source.told_rank || (!rank_is_given_ && told == source.named_rank);
  }
  return source.has_clock || has_name_of(source);
}

bool ForeignFile::has_name_of(const ImportedSource& source) const {
  return trace::without_gz(source.file_name()) == trace::without_gz(trace_name());
}

// What is known by its whole text need not be looked for under other names.
bool ForeignFile::may_have_been(const ImportedSource& source) const {
  return may_be(source) && (!known_ || has_name_of(source));
}

std::set<std::string> ForeignFile::beginnings_among(const std::set<std::string>& marks) {
  if (!std::includes(asked_marks_.begin(), asked_marks_.end(), marks.begin(), marks.end())) {
    beginnings_ = marks_of_beginnings(path_, marks);
    asked_marks_ = marks;
  }
  std::set<std::string> found;
  std::set_intersection(marks.begin(), marks.end(), beginnings_.begin(), beginnings_.end(),
                        std::inserter(found, found.end()));
  return found;
}

void ForeignFile::know_as(const ImportedSource& source) {
  known_ = source;
  content_ = source.mark();
  report_.content = content_;
}

void ForeignFile::read(ForeignPids& pids, const OnBytes& on_bytes) {
  const std::int64_t rank = *rank_;
  const ForeignKind kind = facts_.kind();
  if (is_read_) {
    for (const SortedRuns::Run& run : runs_) std::remove(run.path.c_str());
    prefix_ += "again-";
  }
  read_once(pids, on_bytes);
  if (text_mark_.empty()) text_mark_ = file_mark();
  content_ = text_mark_;
  report_.content = content_;
  plain_bytes_ = is_gzip_ ? 0 : bytes_of_mark(text_mark_);
  bounds_ns_ = {shift_ns_ + first_relative_ns(), shift_ns_ + last_relative_ns()};
  take_rank(facts_);
  const bool is_another = *rank_ != rank || facts_.kind() != kind || must_read_again_;
  is_due_ = !is_read_ && is_another && report_.is_trace;
  is_read_ = true;
}

void ForeignFile::read_once(ForeignPids& pids, const OnBytes& on_bytes) {
  source_.reset();
  if (!read_in_order(pids, on_bytes)) read_into_runs(pids, on_bytes);
}

EventOwner ForeignFile::owner() const {
  const bool rank_is_pid = !rank_is_given_ && facts_.kind() == ForeignKind::composer;
  return {facts_.kind(), *rank_, rank_is_pid, process() != nullptr ? process()->writer : "",
          rank_is_given_ ? std::set<std::int64_t>() : facts_.own_ranks()};
}

std::string ForeignFile::host() const {
  if (process() != nullptr) return process()->host;
  if (facts_.kind() != ForeignKind::traceagent && !facts_.host().empty()) return facts_.host();
  const bool is_pytorchs = facts_.kind() == ForeignKind::kineto && pytorch_name_ &&
                           program_pids_.contains(pytorch_name_->pid);
  return is_pytorchs ? pytorch_name_->host : "";
}

// False: it is not in order, damaged (where an event begins in such text may depend on how much of
// it was read at a time), or cannot be read twice; then nothing was kept.
bool ForeignFile::read_in_order(ForeignPids& pids, const OnBytes& on_bytes) {
  const FileState state = state_of(path_);
  FileReading reading(path_, owner(), pids, times_);
  if (!state.is_regular || !reading.is_open() || reading.scan.is_gzip()) return false;
  const auto order = std::make_unique<OrderCheck>();
  reading.run([&](const ScannedObject& event) { reading.lines.add(event, *order); },
              [&](std::uint64_t bytes) {
                return order->is_fine() && !reading.is_damaged && on_bytes(bytes);
              });
  const std::string content = reading.scan.content_mark();
  if (!order->is_fine() || reading.is_damaged || content.empty()) return false;
  file_mark_ = content;
  take(reading);
  runs_.clear();
  if (order->events() == 0) return true;
  runs_.push_back(
      {run_path(), order->events(), order->first_ns(), order->last_ns(), order->spans()});
  source_ = std::make_shared<EventSource>(
      EventSource{path_, state, reading.scan.file_bytes_read(), content, reading.lines.lanes(),
                  reading.lines.times(), order->events(), order->late_bytes()});
  return true;
}

void ForeignFile::read_into_runs(ForeignPids& pids, const OnBytes& on_bytes) {
  SortedRuns runs(prefix_ + "run", RunFile::head_bytes);
  FileReading reading(path_, owner(), pids, times_);
  reading.run([&](const ScannedObject& event) { reading.lines.add(event, runs); },
              [&](std::uint64_t bytes) { return runs.error_number() == 0 && on_bytes(bytes); });
  runs.finish();
  if (file_mark_.empty()) file_mark_ = reading.scan.content_mark();
  take(reading);
  if (runs.error_number() != 0) {
    report_.problem =
        trace::file_problem("cannot write what was imported", prefix_, runs.error_number());
    report_.is_trace = false;
  }
  runs_ = runs.runs();
}

void ForeignFile::take(FileReading& reading) {
  if (reading.scan.has_cut_event()) reading.lines.drop("cut");
  is_gzip_ = reading.scan.is_gzip();
  shift_ns_ = reading.lines.shift_ns();
  const auto text_bytes = reading.scan.text_bytes();
  const bool has_text_mark = is_gzip_ && text_bytes;
  text_mark_ = has_text_mark ? mark_of_gzip_text(path_, *text_bytes) : std::string();
  report_.is_trace = reading.scan.is_trace();
  report_.problem = reading.scan.problem();
  report_.open_end = reading.scan.open_end();
  facts_ = std::move(reading.facts);
  finish_report(reading.lines);
  if (facts_.has_lost_own() && report_.problem.empty()) {
    report_.problem = "too long, what it says of itself: " + path_ +
                      ": its events are used: give the file as TraceAgent wrote it";
  }
  tell_missing_events();
}

// As of a file in our form (TraceReader): somebody took them out.
void ForeignFile::tell_missing_events() {
  lacks_events_ = false;
  const auto said = trace::integer_member(facts_.own_metadata(), "events");
  if (!said || !report_.problem.empty()) return;
  auto known = static_cast<std::int64_t>(report_.events);
  for (const auto& [cause, count] : counts_.dropped) known += static_cast<std::int64_t>(count);
  if (known >= *said) return;
  lacks_events_ = true;
  counts_.dropped[trace::missing_lines] = static_cast<std::uint64_t>(*said - known);
  report_.dropped = counts_.dropped;
  report_.problem = "events are missing: " + path_ + ": it says that " + std::to_string(*said) +
                    " were written, and has " + std::to_string(report_.events) +
                    ": what is there is used; give the file as TraceAgent wrote it";
}

void ForeignFile::finish_report(EventLines& lines) {
  counts_ = std::move(lines.counts());
  metadata_lines_ = lines.metadata_lines();
  described_ = lines.described();
  program_pids_ = lines.program_pids();
  may_have_collectives_ = lines.may_have_collectives();
  fingerprints_ = lines.lanes()->fingerprints();
  report_.kind = name_of(facts_.kind());
  report_.events = counts_.events;
  report_.repaired = counts_.repaired;
  report_.crowded = counts_.crowded;
  report_.dropped = counts_.dropped;
  report_.ranks.assign(lines.lanes()->ranks().begin(), lines.lanes()->ranks().end());
  if (report_.ranks.empty()) report_.ranks.push_back(*rank_);
  // A file may have both its base and times since 1970; then those are meant.
  must_read_again_ = !take_times(lines);
  const bool is_epoch = lines.first_epoch_ns().has_value();
  // By Composer's marks times of a clock that shows 1970 can be told, too.
  report_.has_clock =
      is_epoch || base_ns().has_value() || described_.contains("clock_sync_timestamp_us");
  base_ns_ = lines.shift_ns() + (is_epoch ? 0 : base_ns().value_or(0));
  report_.placed = is_epoch && !has_real_base() ? counts_.relative : 0;
}

bool ForeignFile::has_real_base() const { return base_ns().value_or(0) >= EventTimes::epoch_ns; }

bool ForeignFile::take_times(const EventLines& lines) {
  if (times_ || !lines.first_epoch_ns() || !lines.first_relative_ns()) return true;
  // Without a base they begin where those do that count from 1970.
  const std::int64_t first = *lines.first_epoch_ns();
  const std::int64_t base = base_ns().value_or(0);
  times_ = EventTimes{EventLines::shift_before(first),
                      has_real_base() ? base : first - *lines.first_relative_ns()};
  return false;
}

std::vector<std::string> ForeignFile::source_keys() const {
  const bool is_saved = facts_.kind() == ForeignKind::traceagent && report_.is_trace;
  if (!is_saved || rank_is_given_) return {};
  if (facts_.has_lost_own()) return {};
  if (!facts_.sources().empty()) return tools::source_keys(facts_.sources());
  if (facts_.own_ranks().size() > 1 || !facts_.base_ns()) return {};
  return {source_key(*facts_.rank(), *facts_.base_ns())};
}

std::vector<std::string> ForeignFile::saved_sources() const {
  return is_ours() ? normal_sources(facts_.sources()) : std::vector<std::string>();
}

bool ForeignFile::is_all_there() const {
  if (!report_.problem.empty() || !report_.dropped.empty()) return false;
  const auto events = trace::integer_member(facts_.own_metadata(), "events");
  return events && static_cast<std::int64_t>(report_.events) >= *events &&
         trace::is_made_of_whole_files(facts_.own_metadata());
}

void ForeignFile::leave_out(bool is_all_held) {
  report_.is_lost = !is_all_held;
  report_.left_out = is_all_held ? "other files that are given hold all of it"
                                 : "it shares some ranks with other files that are given";
  if (!is_all_held) {
    report_.problem = "merged files overlap: " + path_ +
                      ": give all of its rank files, or leave out those that it holds";
  } else if (lacks_events_) {
    report_.problem.clear();  // others have them
  }
}

void ForeignFile::leave_out_beside(const std::string& holder) {
  report_.is_lost = true;
  report_.left_out = "it shares ranks with " + holder + ", and another program has saved it";
  report_.problem = "saved again by another program: " + path_ + ": what it shares with " + holder +
                    " would be there twice, since its lines are written otherwise: give it as "
                    "TraceAgent wrote it";
}

bool ForeignFile::is_copy_of(const ForeignFile& other) const {
  if (text_mark_.empty() || text_mark_ != other.text_mark_) return false;
  if (report_.ranks == other.report_.ranks) return true;
  if (rank_is_given_ || other.rank_is_given_) return false;
  const bool is_same_name =
      trace::without_gz(trace_name()) == trace::without_gz(other.trace_name());
  const bool is_same_time = report_.has_clock && report_.events > 0;
  // Of two ranks that are told, equal texts are two files: of a simulation without real times.
  return (is_same_name || is_same_time) && (is_anyones() || other.is_anyones());
}

// Nothing tells whose it is.
bool ForeignFile::is_anyones() const { return report_.rank_from == "none" && process() == nullptr; }

bool ForeignFile::may_begin(const ForeignFile& longer) const {
  const bool is_shorter = plain_bytes_ > 0 && plain_bytes_ < longer.plain_bytes_;
  const bool is_within =
      longer.bounds_ns_.first <= bounds_ns_.first && bounds_ns_.second <= longer.bounds_ns_.second;
  if (!is_shorter || !is_within || is_ours() || longer.is_ours()) return false;
  if (report_.events == 0 || report_.events > longer.report_.events) return false;
  if (report_.ranks == longer.report_.ranks) return true;
  if (report_.rank_from != "none" || longer.rank_is_given_) return false;
  return trace_name() == longer.trace_name() || (is_anyones() && report_.has_clock);
}

void ForeignFile::leave_out_as_beginning_of(const ForeignFile& longer) {
  report_.left_out = "a copy of the beginning of " + longer.report_.path;
  report_.problem.clear();
  report_.open_end.reset();
}

bool ForeignFile::seems_written_anew(const ForeignFile& other) const {
  return bounds_ns_ == other.bounds_ns_ && !begins().empty() && begins() == other.begins() &&
         report_.events == other.report_.events &&
         counts_.metadata_events == other.counts_.metadata_events && report_.has_clock &&
         report_.ranks == other.report_.ranks && facts_.kind() == other.facts_.kind() && !is_ours();
}

void ForeignFile::warn_of_twin(const ForeignFile& other) {
  const std::string twice = std::to_string(report_.events) + " of the same rank, as in " +
                            other.report_.path + ", and from and until the same times";
  report_.problem = report_.problem.empty()
                        ? "events given twice: " + path_ + ": " + twice + ": give one of the two"
                        : report_.problem + "; and " + twice;
}

void ForeignFile::leave_out_or_warn(const HeldRanks& held) {
  const std::string ranks = std::to_string(fingerprints_.size());
  if (held.are_all) {
    report_.left_out =
        fingerprints_.size() == 1
            ? "it holds what other files of its rank hold, which are given too"
            : "it holds what the files of its " + ranks + " ranks hold, which are given too";
  } else if (held.count > 0) {
    const std::string twice = "at least " + std::to_string(held.count) + " of its " + ranks +
                              " ranks are in files of their own, too";
    report_.problem = report_.problem.empty() ? "events given twice: " + path_ + ": " + twice +
                                                    ": give them or it, whichever hold more"
                                              : report_.problem + "; and " + twice;
  }
}

std::int64_t ForeignFile::first_relative_ns() const {
  const auto first = std::min_element(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) {
    return a.first_ns < b.first_ns;
  });
  return first == runs_.end() ? 0 : first->first_ns;
}

std::int64_t ForeignFile::last_relative_ns() const {
  const auto last = std::max_element(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) {
    return a.last_ns < b.last_ns;
  });
  return last == runs_.end() ? 0 : last->last_ns;
}

std::optional<std::int64_t> ForeignFile::first_ns() const {
  if (!report_.is_trace || !report_.has_clock || runs_.empty()) return std::nullopt;
  return base_ns_ + first_relative_ns();
}

std::optional<std::int64_t> ForeignFile::last_ns() const {
  return first_ns() ? std::optional(base_ns_ + last_relative_ns()) : std::nullopt;
}

void ForeignFile::place(std::int64_t first_ns) { base_ns_ = first_ns - first_relative_ns(); }

std::string ForeignFile::trace_name() const {
  return known_ ? known_->file_name() : path_.substr(path_.rfind('/') + 1);
}

}  // namespace traceagent::tools
