#include "agent/drain/counter_events.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_syntax.hpp"
#include "config/counter_names.hpp"

namespace traceagent::drain {

using counters::Counter;
using counters::Kind;
using counters::Sample;

namespace {

// The sample that a window's end asks for comes a moment later, and is shown at its end.
constexpr double late_ns = 1e9;

// A window that opens as another closes is sampled twice within a tenth of a millisecond, and the
// kernel counts CPU time by the tick: such rates are noise. Less than the least counters.interval.
constexpr std::int64_t shortest_rate_ns = 8'000'000;

// What both threads can have written at most. A damaged ring's records could all be notes, each
// with another text of 16 KiB.
constexpr std::size_t most_notes = 512;

// A damaged ring's rate may be anything.
std::uint64_t late_ticks(double ns_per_tick) noexcept {
  constexpr double least = 1e-3, most = 1e6;
  const bool is_a_rate = ns_per_tick >= least && ns_per_tick <= most;
  return is_a_rate ? static_cast<std::uint64_t>(late_ns / ns_per_tick) : 0;
}

bool has(const Sample& sample, std::size_t series) noexcept {
  return (sample.valid >> series & 1) != 0;
}

// By how much a total has grown; nothing where it went backwards.
std::optional<double> growth(const Sample& sample, const Sample* next, std::size_t series) {
  if (next == nullptr || !has(sample, series) || !has(*next, series)) return std::nullopt;
  if (next->values[series] < sample.values[series]) return std::nullopt;
  return static_cast<double>(next->values[series] - sample.values[series]);
}

// Three digits behind the point: what more there are is noise, and bytes of the file.
// Not std::round(): the library needs libc alone.
trace::JsonValue shown(double value) {
  constexpr double most = 1e15;
  if (value >= most) return {value};
  return {static_cast<double>(static_cast<std::uint64_t>(value * 1000 + 0.5)) / 1000};
}

std::optional<double> whole_of(const Sample& sample, const Sample* next) {
  const auto& series = counters::row_of(sample.counter).series;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].kind == Kind::whole) return growth(sample, next, i);
  }
  return std::nullopt;
}

std::optional<trace::JsonValue> value_of(const Sample& sample, const Sample* next,
                                         std::size_t series, double seconds) {
  const Kind kind = counters::row_of(sample.counter).series[series].kind;
  if (kind == Kind::gauge || kind == Kind::thousandth) {
    if (!has(sample, series)) return std::nullopt;
    if (kind == Kind::gauge) return trace::JsonValue(sample.values[series]);
    return shown(static_cast<double>(sample.values[series]) / 1000);
  }
  const auto grown = growth(sample, next, series);
  if (!grown || seconds <= 0) return std::nullopt;
  if (kind == Kind::rate) return shown(*grown / seconds);
  if (kind == Kind::percent) return shown(*grown / (seconds * 1e9) * 100);
  const auto whole = whole_of(sample, next);
  if (!whole || *whole <= 0 || *grown > *whole) return std::nullopt;
  return shown(*grown / *whole * 100);
}

// Whether this rank was to sample any: of its process, or as local rank zero.
bool are_wanted(const ring::Ring& ring) {
  const ring::IdentityBlock& identity = ring.header().identity;
  const std::string_view options = ring.name(identity.options_json);
  const auto sources = trace::string_member(options, "counters.sources");
  if (!sources) return false;
  const config::CounterScopes wanted = config::parse_counters(*sources).scopes;
  return wanted.process || (identity.local_rank == 0 && (wanted.node || wanted.gpu));
}

}  // namespace

std::string series_of(const Sample& sample, const Sample* next, double seconds) {
  const auto& series = counters::row_of(sample.counter).series;
  trace::JsonObject object;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].kind == Kind::none || series[i].kind == Kind::whole) continue;
    if (const auto value = value_of(sample, next, i, seconds)) object.add(series[i].key, *value);
  }
  return object.members();
}

std::string name_of(const CounterEvent& event) {
  const counters::CounterRow& row = counters::row_of(event.counter);
  const std::string name(row.name);
  if (row.scope != counters::Scope::gpu) return name;
  return "GPU " + std::to_string(event.instance) + " " + name;
}

void write(trace::EventWriter& writer, const CounterEvent& event, std::int64_t ts_ns) {
  writer.counter(name_of(event), "counters", ts_ns);
  writer.members(event.series);
  writer.end();
}

CounterEvents::CounterEvents(const ring::Ring& ring, std::uint64_t begin_ticks,
                             std::uint64_t end_ticks, const event::TickConverter& clock)
    : begin_ticks_(begin_ticks),
      end_ticks_(end_ticks),
      until_ticks_(end_ticks + late_ticks(ring.header().nominal_ns_per_tick)) {
  collect(ring);
  for (auto& [of, reads] : reads_) {
    in_order(reads, clock);
    add_events(of, reads);
  }
  std::stable_sort(events_.begin(), events_.end(),
                   [](const CounterEvent& a, const CounterEvent& b) { return a.ticks < b.ticks; });
}

void CounterEvents::collect(const ring::Ring& ring) {
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const ring::Chunk& chunk = ring.chunk(i);
    if (chunk.claim_number.load(std::memory_order_acquire) == 0) continue;
    // A chunk is one thread's, and those that sample write nothing else.
    const event::Layout first = chunk.records[0].layout;
    if (first != event::Layout::counter_sample && first != event::Layout::counter_note) continue;
    for (const event::Record& record : chunk.records) {
      // Acquire pairs with publish(): the record's other fields are seen.
      const std::uint64_t ticks = record.begin_ticks.load(std::memory_order_acquire);
      if (ticks < begin_ticks_ || ticks >= until_ticks_ || ticks == 0) continue;
      if (record.layout == event::Layout::counter_sample) add_sample(record, ticks);
      if (record.layout == event::Layout::counter_note && ticks < end_ticks_) {
        notes_.push_back({ticks, counters::note_of(record)});
      }
    }
  }
}

void CounterEvents::add_sample(const event::Record& record, std::uint64_t ticks) {
  const Sample sample = counters::sample_of(record);
  // A damaged ring, or one of a newer agent.
  if (static_cast<std::size_t>(sample.counter) >= counters::counter_count) return;
  reads_[{sample.counter, sample.instance}].push_back({ticks, 0, sample});
}

void CounterEvents::in_order(std::vector<Read>& reads, const event::TickConverter& clock) const {
  std::stable_sort(reads.begin(), reads.end(),
                   [](const Read& a, const Read& b) { return a.ticks < b.ticks; });
  // What is read after the window's end is its end's, once: later ones are the next window's.
  const auto last = std::find_if(reads.begin(), reads.end(),
                                 [this](const Read& read) { return read.ticks >= end_ticks_; });
  if (last != reads.end()) reads.erase(last + 1, reads.end());
  for (Read& read : reads) read.ns = clock.realtime_ns(read.ticks);
}

// The read that ends the rate which begins with `begin`: the next one that is not too near, or a
// gap. reads.size(): there is none.
std::size_t CounterEvents::rate_end(const std::vector<Read>& reads, std::size_t begin) noexcept {
  std::size_t end = begin + 1;
  while (end < reads.size() && reads[end].sample.valid != 0 &&
         reads[end].ns - reads[begin].ns < shortest_rate_ns) {
    ++end;
  }
  return end;
}

void CounterEvents::add_events(const Of& of, const std::vector<Read>& reads) {
  std::size_t rate_begin = 0;  // reads before it are within a rate that has begun
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const Read& read = reads[i];
    const Read* next = nullptr;
    if (i >= rate_begin && read.sample.valid != 0) {
      rate_begin = rate_end(reads, i);
      if (rate_begin < reads.size()) next = &reads[rate_begin];
    }
    const std::int64_t elapsed_ns = next == nullptr ? 0 : next->ns - read.ns;
    std::string series = series_of(read.sample, next == nullptr ? nullptr : &next->sample,
                                   static_cast<double>(elapsed_ns) / 1e9);
    if (read.sample.valid != 0) ++samples_;
    if (!series.empty()) {
      events_.push_back({std::min(read.ticks, end_ticks_), of.first, of.second, std::move(series)});
    }
  }
}

trace::JsonObject CounterEvents::describe(const ring::Ring& ring) const {
  trace::JsonObject object;
  if (samples_ != 0) object.add("samples", samples_);
  trace::JsonArray not_covered, gpus;
  std::set<std::uint32_t> told;
  for (const NoteText& each : notes_) {
    const std::uint32_t text = each.note.text;
    if (told.size() == most_notes) break;
    if (!told.insert(text).second) continue;
    const std::string_view said = ring.name(text);
    if (each.note.kind == counters::NoteKind::not_covered && !said.empty()) not_covered.add(said);
    // A damaged ring's text would spoil the file.
    if (each.note.kind == counters::NoteKind::gpu && trace::is_whole_object(said)) {
      gpus.add(trace::JsonValue::raw(std::string(said)));
    }
  }
  // The window was over before the thread that samples had its turn.
  if (samples_ == 0 && are_wanted(ring)) not_covered.add("counters: none was read in this window");
  if (!not_covered.empty()) object.add("not_covered", not_covered);
  if (!gpus.empty()) object.add("gpus", gpus);
  return object;
}

}  // namespace traceagent::drain
