#include "agent/trace/merge.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>
#include <utility>

#include "agent/trace/corrected_sources.hpp"
#include "agent/trace/document.hpp"
#include "agent/trace/input_order.hpp"
#include "agent/trace/input_runs.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_input.hpp"
#include "agent/trace/merge_lines.hpp"
#include "agent/trace/merge_metadata.hpp"
#include "agent/trace/merged_header.hpp"
#include "agent/trace/output_file.hpp"
#include "agent/trace/process_ids.hpp"
#include "agent/trace/repeated_events.hpp"
#include "agent/trace/shared_events.hpp"

namespace traceagent::trace {

namespace {

constexpr std::uint64_t events_between_reports = 1U << 16;

// Of its line. The first "pid" that stands there is its own, or one in its args, which may come
// before: then it is compared with others, or not, for nothing.
std::optional<std::int64_t> pid_of(std::string_view line) {
  constexpr std::string_view key = "\"pid\":";
  const std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  const std::string_view number = line.substr(at + key.size());
  return parse_integer(number.substr(0, number.find_first_of(",}")));
}

bool may_be_shared(const MergeInput& input) {
  if (input.shares_events || input.may_share_ranks.empty()) return input.shares_events;
  const auto pid = pid_of(input.line.after_ts);
  return !pid || input.may_share_ranks.contains(rank_of_pid(*pid));
}

// A metadata event, of a rank that is.
bool is_wanted(const Selection* selection, std::string_view metadata_event) {
  if (selection == nullptr || selection->has_all_ranks()) {
    return true;
  }
  const auto pid = integer_member(metadata_event, "pid");
  return !pid || selection->has_rank(rank_of_pid(*pid));
}

bool has_problem(const std::vector<MergeInput>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const MergeInput& input) { return !input.report.problem.empty(); });
}

constexpr char of_several_runs[] =
    "is of several runs, whose lanes and arrows are mixed, and viewers drop some: merge each run "
    "by itself";
constexpr char refused[] = "nothing was written: --strict: leave out the files named above";

class Merger {
 public:
  Merger(std::vector<MergeInput>& inputs, const MergeOptions& options, MergeReport& report)
      : inputs_(inputs), options_(options), report_(report) {}

  void run(const std::string& output);

 private:
  using Due = std::pair<std::int64_t, std::size_t>;  // absolute ns, index: ties by rank

  void write_head(const std::string& output);
  void write_metadata_events();
  void write_metadata_events_of(MergeInput& input, std::unordered_set<std::string>& written);
  [[nodiscard]] std::optional<std::string> corrected(const MergeInput& input,
                                                     std::string_view metadata_event) const;
  void write_events();
  void note_ranks_read();
  [[nodiscard]] Due second_due() const;
  void put_first_in_order();
  void write_run(std::size_t index, Due limit);
  void start(MergeInput& input);
  void advance(MergeInput& input);
  bool read_event(MergeInput& input);
  void leave_out_of_order(MergeInput& input);
  void count_event();
  void note_repeated();
  void note_void(const TraceReader& reader);
  void note_problem(MergeInput& input);
  void finish_input(MergeInput& input);
  void look_around();

  std::vector<MergeInput>& inputs_;
  const MergeOptions& options_;
  MergeReport& report_;
  OutputFile file_;
  MergedLines lines_{file_};
  std::vector<Due> due_;  // a heap, earliest first
  RepeatedEvents repeated_;
  std::uint64_t events_read_ = 0;
  std::uint64_t closed_bytes_ = 0;
  bool given_up_ = false;
};

void Merger::run(const std::string& output) {
  const bool opened = file_.open(output, {.gzip = options_.gzip,
                                          .gzip_level = options_.gzip_level,
                                          .overwrite = options_.overwrite,
                                          .side_work = options_.side_work});
  if (opened) {
    write_head(output);
    write_metadata_events();
    write_events();
    note_ranks_read();
    note_repeated();
    const std::string metadata = merged_metadata(inputs_, options_, report_);
    write_footer(file_, metadata, report_.complete);
    if (!given_up_) look_around();  // who gives up later has had all inputs until here
  }
  if (!report_.problem.empty()) {
    return;  // said already
  }
  if (given_up_) {
    report_.problem =
        "merge given up: " + output + ": it took too long: merge the rank files later";
  } else if (opened && options_.strict && has_problem(inputs_)) {
    report_.problem = refused;
  } else if (opened && options_.refuse_empty && report_.events == 0) {
    report_.is_empty = true;
    report_.problem = "no events: nothing was written into " + output;
  } else if (!opened || !file_.finish()) {
    report_.problem = file_.error();
  }
  report_.output_bytes = file_.file_bytes();
}

void Merger::write_head(const std::string& output) {
  MergedHeader merged = merged_header(inputs_, options_.selection, options_.clock);
  lines_.set_base(merged.base_ns);
  report_.ranks = merged.ranks;
  report_.sources = merged.sources;
  DocumentHeader header;
  header.base_ns = merged.base_ns;
  header.trace_name =
      options_.trace_name.empty() ? output.substr(output.rfind('/') + 1) : options_.trace_name;
  header.distributed_info_json = std::move(merged.distributed_info);
  header.device_properties_json = std::move(merged.device_properties);
  header.sources_json = std::move(merged.sources);
  header.selections_json = std::move(merged.selections);
  write_header(file_, header);
}

void Merger::write_metadata_events() {
  std::unordered_set<std::string> written;
  for (MergeInput& input : inputs_) {
    if (input.is_used()) {
      write_metadata_events_of(input, written);
    }
  }
  for (const std::string& line : options_.metadata_events) {
    const std::int64_t rank = rank_of_pid(integer_member(line, "pid").value_or(0));
    if (!std::binary_search(report_.ranks.begin(), report_.ranks.end(), rank)) {
      continue;
    }
    lines_.write_metadata_event(line);
  }
  put_in_order(inputs_);
}

std::optional<std::string> Merger::corrected(const MergeInput& input,
                                             std::string_view metadata_event) const {
  const bool is_changed = !input.correction.is_none() && options_.corrected_metadata_event;
  return is_changed ? options_.corrected_metadata_event(metadata_event, input.correction)
                    : std::nullopt;
}

void Merger::write_metadata_events_of(MergeInput& input, std::unordered_set<std::string>& written) {
  TraceReader reader;
  if (!reader.open(input.report.path)) {
    input.report.problem = as_given(input.report, reader.problem());
    input.usable = false;
    return;
  }
  TraceLine line;
  while ((line = reader.next()).kind == TraceLine::Kind::metadata) {
    if (!is_wanted(options_.selection, line.text)) {
      continue;
    }
    const std::optional<std::string> changed = corrected(input, line.text);
    const std::string_view text = changed ? std::string_view(*changed) : line.text;
    if (written.emplace(text).second) {
      lines_.write_metadata_event(text);
    }
  }
  if (line.kind == TraceLine::Kind::event) {
    input.first_ns = input.absolute_ns(line.ts_ns);
  }
  note_void(reader);
  report_.peak_reader_bytes = std::max(report_.peak_reader_bytes, reader.memory_bytes());
}

void Merger::write_events() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_used()) {
      due_.emplace_back(inputs_[i].first_ns, i);
      report_.input_bytes += inputs_[i].file_bytes;
    }
  }
  std::make_heap(due_.begin(), due_.end(), std::greater<>());
  if (options_.selection != nullptr) {
    options_.selection->see(inputs_);
  }
  while (!due_.empty() && !given_up_ && !file_.failed()) {
    const std::size_t index = due_.front().second;
    MergeInput& input = inputs_[index];
    if (!input.reader) {
      start(input);
    }
    write_run(index, second_due());
    if (input.reader) {
      due_.front().first = input.line_ns;
    } else {
      due_.front() = due_.back();
      due_.pop_back();
    }
    put_first_in_order();
  }
}

// The file's header has those that were to be read; for more files than may be open at once there
// are fewer.
void Merger::note_ranks_read() {
  const std::set<std::int64_t> ranks = ranks_in(inputs_, options_.selection);
  report_.ranks.assign(ranks.begin(), ranks.end());
}

void Merger::note_repeated() {
  report_.repeated = repeated_.count();
  const auto sharing = std::ranges::find_if(inputs_, [](const MergeInput& input) {
    return input.shares_events || !input.may_share_ranks.empty();
  });
  if (sharing == inputs_.end()) return;
  MergedInput& report = sharing->report;
  // Of two that begin with the same events one was written otherwise, or its name told of another
  // process. What is chosen of them, now or before, need not have any in common.
  const bool is_any_chosen =
      options_.selection != nullptr || std::ranges::any_of(inputs_, [](const MergeInput& input) {
        return !input.may_share_ranks.empty() && !input.header.selections.empty();
      });
  const bool is_none_equal = repeated_.count() == 0 && !is_any_chosen;
  if (repeated_.is_any_not_compared()) {
    report.problem = "too many events at one time: " + report.given +
                     ": what it shares with other inputs may be there twice: give the rank files "
                     "instead";
  } else if (is_none_equal && !sharing->shares_events && report.problem.empty()) {
    report.problem = "states of one file: " + report.given +
                     ": it begins as another one of its rank does, and no event of the two is "
                     "written alike: all may be there twice: give one of the two";
  }
}

// The earliest of the others.
Merger::Due Merger::second_due() const {
  Due second(std::numeric_limits<std::int64_t>::max(), inputs_.size());
  for (std::size_t i = 1; i < std::min<std::size_t>(due_.size(), 3); ++i) {
    second = std::min(second, due_[i]);
  }
  return second;
}

// The first of the heap may be late now. (pop_heap and push_heap would walk it twice.)
void Merger::put_first_in_order() {
  if (due_.empty()) {
    return;
  }
  const Due moved = due_.front();
  std::size_t at = 0;
  for (std::size_t child = 1; child < due_.size(); child = 2 * at + 1) {
    child += child + 1 < due_.size() && due_[child + 1] < due_[child] ? 1 : 0;
    if (moved < due_[child]) {
      break;
    }
    due_[at] = due_[child];
    at = child;
  }
  due_[at] = moved;
}

// All events of one input until another input's turn comes.
void Merger::write_run(std::size_t index, Due limit) {
  MergeInput& input = inputs_[index];
  while (input.reader && !given_up_ && Due(input.line_ns, index) <= limit) {
    const bool is_repeated =
        may_be_shared(input) &&
        repeated_.is_repeated(input.of_file, input.line_ns, input.line.after_ts);
    if (!is_repeated) [[likely]] {
      lines_.write_event(input.line, input.line_ns);
      ++input.report.events;
      ++report_.events;
    }
    count_event();
    advance(input);
  }
}

void Merger::start(MergeInput& input) {
  input.reader = std::make_unique<TraceReader>();
  if (!input.reader->open(input.report.path)) {
    input.usable = false;
    finish_input(input);
    return;
  }
  if (options_.side_reads != nullptr) {
    input.reader->read_beside(*options_.side_reads);
  }
  if (options_.selection != nullptr) {
    input.filter = options_.selection->filter_of(input);
  }
  input.read_ns = std::numeric_limits<std::int64_t>::min();
  advance(input);
  look_around();
}

// The next event that is wanted, or the end of the input.
void Merger::advance(MergeInput& input) {
  while (!given_up_ && read_event(input)) {
    input.line_ns = input.read_ns;
    if (!input.filter || input.filter->keeps(input.line, input.line_ns)) {
      return;
    }
    count_event();
  }
}

// The next event; false: there is none, and the input is finished.
bool Merger::read_event(MergeInput& input) {
  while (true) {
    input.line = input.reader->next();
    if (input.line.kind == TraceLine::Kind::end) {
      finish_input(input);
      return false;
    }
    if (input.line.kind == TraceLine::Kind::metadata) continue;
    const std::int64_t ns = input.absolute_ns(input.line.ts_ns);
    if (ns >= input.read_ns) [[likely]] {
      input.read_ns = ns;
      ++input.events_read;
      input.durations.apply(input.correction, input.own_ns(input.line.ts_ns), input.line);
      return true;
    }
    leave_out_of_order(input);
  }
}

// What was written already cannot be put behind it.
void Merger::leave_out_of_order(MergeInput& input) {
  if (input.lost["not_in_order"]++ == 0) {
    input.report.problem = "events not in the order of time: " + input.report.given +
                           ": after event " + std::to_string(input.events_read) +
                           ": left out, and counted; copy the file again";
  }
  count_event();
}

void Merger::count_event() {
  if (++events_read_ % events_between_reports == 0) {
    look_around();
  }
}

// What was merged so far is not to be used then.
void Merger::note_void(const TraceReader& reader) {
  if (reader.is_void() && report_.problem.empty()) {
    report_.problem = reader.problem();
    given_up_ = true;
  }
}

// Damage is why the times may be out of order; it is said first.
void Merger::note_problem(MergeInput& input) {
  const std::string damage = as_given(input.report, input.reader->problem());
  if (input.reader->is_void() || damage.empty()) return;
  const auto late = input.lost.find("not_in_order");
  input.report.problem = damage;
  if (late != input.lost.end()) {
    input.report.problem +=
        "; events not in the order of time, left out: " + std::to_string(late->second);
  }
}

void Merger::finish_input(MergeInput& input) {
  note_void(*input.reader);
  note_problem(input);
  for (const auto& [cause, count] : input.reader->lost()) input.lost[cause] += count;
  input.footer = input.reader->footer();
  input.report.complete = input.footer.complete && input.report.problem.empty();
  closed_bytes_ += input.file_bytes;
  input.reader.reset();
  input.filter.reset();
  input.line = {};
}

void Merger::look_around() {
  std::uint64_t done = closed_bytes_;
  std::size_t held = 0;
  for (const MergeInput& input : inputs_) {
    if (input.reader) {
      done += input.reader->file_bytes_read();
      held += input.reader->memory_bytes();
      held += input.filter ? input.filter->memory_bytes() : 0;
    }
  }
  report_.peak_reader_bytes = std::max(report_.peak_reader_bytes, held);
  if (options_.progress && !options_.progress(done, report_.input_bytes)) {
    given_up_ = true;
  }
}

void merge_into(const std::vector<std::string>& paths, const std::string& output,
                const MergeOptions& options, MergeReport& report) {
  std::vector<MergeInput> inputs = scan_inputs(paths, options.selection, options.given_paths);
  for (MergeInput& input : inputs) {
    const auto found = options.corrections.find(input.report.path);
    input.correction = found == options.corrections.end() ? ClockCorrection() : found->second;
  }
  leave_out_corrected_otherwise(inputs, options.selection);
  mark_shared(inputs);
  tell_states_moved_apart(inputs);
  const std::string runs = options.mix_runs ? std::string() : different_runs(inputs);
  if (!runs.empty()) {
    report.problem = different_runs_problem(runs);
  } else if (options.strict && has_problem(inputs)) {
    report.problem = refused;
  } else if (std::any_of(inputs.begin(), inputs.end(),
                         [](const auto& input) { return input.is_used(); })) {
    for (const std::int64_t rank : ranks_of_several_runs(inputs)) {
      if (options.selection != nullptr && !options.selection->has_rank(rank)) continue;
      report.mixed.push_back({"rank " + std::to_string(rank), of_several_runs});
    }
    report.joined_runs = joined_runs(inputs);
    Merger(inputs, options, report).run(output);
  } else {
    const bool unwanted = std::any_of(inputs.begin(), inputs.end(), [](const MergeInput& input) {
      return input.report.unwanted;
    });
    report.problem = "nothing to merge into " + output +
                     (unwanted ? ": no file has a rank that was asked for"
                               : ": give traces that TraceAgent or others wrote");
  }
  for (MergeInput& input : inputs) {
    report.inputs.push_back(std::move(input.report));
  }
}

}  // namespace

Losses losses_of(const MergeReport& report) {
  Losses losses;
  for (const auto& [cause, count] : report.dropped) {
    const bool is_of_places = cause.ends_with("_places");
    const bool is_of_events = cause != "names_full" && cause != "communicators_full" &&
                              cause != "step_tokens_full" && !is_of_places;
    std::string& list = is_of_events ? losses.causes : losses.others;
    list += (list.empty() ? "" : ", ") + cause + " " + std::to_string(count) +
            (is_of_places ? " (how many events were there is not known)" : "");
    losses.events += is_of_events ? count : 0;
  }
  return losses;
}

MergeReport merge(const std::vector<std::string>& inputs, const std::string& output,
                  const MergeOptions& options) {
  MergeReport report;
  merge_into(inputs, output, options, report);
  return report;
}

}  // namespace traceagent::trace
