#include "tools/import/imported_events.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "tools/import/content_mark.hpp"

namespace traceagent::tools {

namespace {

// Lines of one time stay in the order of the file.
bool is_before(const trace::MadeEvents::Line& a, const trace::MadeEvents::Line& b) {
  return a.ts_ns != b.ts_ns ? a.ts_ns < b.ts_ns : a.source_offset < b.source_offset;
}

}  // namespace

ImportedEvents::ImportedEvents(std::shared_ptr<const EventSource> source)
    : source_(std::move(source)),
      scan_(read_bytes, false),
      settled_ns_(std::numeric_limits<std::int64_t>::min()) {}

ImportedEvents::~ImportedEvents() { finish(); }

char* ImportedEvents::Block::reserve(std::size_t bytes) {
  if (capacity - used < bytes) [[unlikely]] {
    const std::size_t grown = std::max(2 * capacity, used + bytes);
    auto* const memory = static_cast<char*>(std::realloc(text.get(), grown));
    if (memory == nullptr) throw std::bad_alloc();
    static_cast<void>(text.release());
    text.reset(memory);
    capacity = grown;
  }
  return text.get() + used;
}

std::size_t ImportedEvents::memory_bytes() const {
  return 2 * (current_.capacity + current_.lines.capacity() * sizeof(Line)) + 2 * read_bytes;
}

void ImportedEvents::make_beside(trace::SideReads& reads) {
  reads_ = &reads;
  wanted_bytes_ = block_bytes;
  reads.begin(*this);
  is_begun_ = true;
}

void ImportedEvents::finish() {
  if (is_begun_) reads_->finish(*this);
  is_begun_ = false;
}

trace::MadeEvents::Lines ImportedEvents::next() {
  if (current_.is_last || !problem_.empty()) return {};
  if (is_begun_) {
    finish();
  } else {
    run();
  }
  if (failure_) std::rethrow_exception(failure_);
  if (!why_unread_.empty()) {
    problem_ = why_unread_;
    return {};
  }
  if (is_changed_) {
    problem_ = "a trace that changed while it was read: " + source_->path +
               ": merge again when nobody writes to it";
    return {};
  }
  std::swap(current_, making_);
  if (reads_ != nullptr && !current_.is_last) {
    reads_->begin(*this);
    is_begun_ = true;
  }
  return {current_.text.get(), current_.lines.data(), current_.lines.data() + current_.ready};
}

void ImportedEvents::run() noexcept try {
  making_.used = making_.ready = 0;
  making_.lines.clear();
  keep_late_lines();
  make();
} catch (...) {
  failure_ = std::current_exception();
}

// Of the block before, which the caller only reads.
void ImportedEvents::keep_late_lines() {
  for (std::size_t i = current_.ready; i < current_.lines.size(); ++i) {
    Line line = current_.lines[i];
    char* const to = making_.reserve(line.bytes);
    std::memcpy(to, current_.text.get() + line.offset, line.bytes);
    line.offset = static_cast<std::uint32_t>(making_.used);
    making_.used += line.bytes;
    making_.lines.push_back(line);
  }
}

void ImportedEvents::make() {
  if (!is_open_) {
    is_open_ = true;
    if (!scan_.open(
            source_->path, [](auto, auto) {}, source_->bytes)) {
      // It is still there, but too many files are open, say.
      if (is_unchanged(source_->state, state_of(source_->path))) why_unread_ = scan_.problem();
      is_changed_ = true;
    }
  }
  constexpr std::size_t most_of_usual_event = 2048;
  while (making_.ready == 0 && !making_.is_last && !is_changed_) {
    const std::size_t enough = making_.used + wanted_bytes_;
    making_.reserve(wanted_bytes_ + most_of_usual_event);
    while (making_.used < enough && !is_changed_ && add_next()) {
    }
    making_.is_last = making_.used < enough;
    put_in_order();
  }
  making_.file_bytes_read = scan_.file_bytes_read();
  wanted_bytes_ = std::min(2 * wanted_bytes_, block_bytes);
  if (making_.is_last) is_changed_ = is_changed_ || events_ != source_->events || !is_as_it_was();
}

// False: there is none.
bool ImportedEvents::add_next() {
  const DocumentScan::Item item = scan_.next();
  if (item == DocumentScan::Item::event) {
    is_changed_ = !add(scan_.event());
  } else {
    // What is damaged is not read in this way.
    is_changed_ = item != DocumentScan::Item::end && item != DocumentScan::Item::not_an_object;
  }
  return item != DocumentScan::Item::end;
}

// False: this cannot be the file that was read first.
bool ImportedEvents::add(const ScannedObject& event) {
  const ForeignEvent fields(event, forms_);
  if (event.members.empty() || fields.is_metadata()) return true;
  const std::optional<ExactTime> begin = parse_microseconds(fields.ts);
  if (!begin) return true;
  if (latest_ == nullptr || latest_pid_ != fields.pid) {
    latest_ = source_->lanes->find(fields.pid);
    latest_pid_ = fields.pid;
    if (latest_ == nullptr) return false;
  }
  const EventPlace place{latest_->rank, latest_->pid, ForeignLanes::find_tid(*latest_, fields.tid),
                         source_->times.in_line(begin->rounded_ns())};
  if (place.ts_ns < settled_ns_) return false;
  char* const start = making_.reserve(event.text.size() + line_frame_bytes);
  const LineText line = put_event(start, fields, event, place, *begin);
  making_.lines.push_back({place.ts_ns, source_offset_, static_cast<std::uint32_t>(making_.used),
                           static_cast<std::uint32_t>(line.end - start),
                           static_cast<std::uint32_t>(line.after_ts - start)});
  making_.used += static_cast<std::size_t>(line.end - start);
  source_offset_ += event.text.size();
  ++events_;
  return true;
}

// An event that is still to come has its place at most late_bytes before its own: none is earlier
// than what stands further in front.
void ImportedEvents::put_in_order() {
  std::vector<Line>& lines = making_.lines;
  for (const Line& line : lines) {
    if (line.source_offset + source_->late_bytes < source_offset_) {
      settled_ns_ = std::max(settled_ns_, line.ts_ns);
    }
  }
  if (!std::is_sorted(lines.begin(), lines.end(), is_before)) {
    std::sort(lines.begin(), lines.end(), is_before);
  }
  const auto behind =
      std::upper_bound(lines.begin(), lines.end(), settled_ns_,
                       [](std::int64_t ns, const Line& line) { return ns < line.ts_ns; });
  making_.ready = making_.is_last ? lines.size() : static_cast<std::size_t>(behind - lines.begin());
}

// Asked behind the reading. What was only written to at its end, or touched, is the same as far as
// it was read first.
bool ImportedEvents::is_as_it_was() const {
  return is_unchanged(source_->state, state_of(source_->path)) ||
         content_mark(source_->path, source_->bytes) == source_->content;
}

}  // namespace traceagent::tools
