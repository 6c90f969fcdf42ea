#pragma once
// When streams were being captured into graphs: what is launched into one meanwhile is done when
// the graph is launched, and has no work of its own.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

namespace traceagent::device {

// A call that begins or ends a capture. Whoever tells of it may not know the stream.
struct CaptureEdge {
  std::uint32_t thread;
  std::uint64_t stream;  // the handle; unknown_stream
  std::int64_t begin_ns, end_ns;
  std::int32_t result;
  bool begins;
};

inline constexpr std::uint64_t unknown_stream = 0;
// A default stream's handle (0, legacy, per thread) names no single stream.
constexpr std::uint64_t stream_of_handle(std::uint64_t handle) noexcept {
  return handle > 2 ? handle : unknown_stream;
}

// A capture is its stream's: another thread may launch into it, and end it.
class CaptureSpans {
 public:
  CaptureSpans() = default;
  explicit CaptureSpans(std::vector<CaptureEdge> edges) {
    std::stable_sort(edges.begin(), edges.end(), [](const CaptureEdge& a, const CaptureEdge& b) {
      return a.begin_ns < b.begin_ns;
    });
    for (const CaptureEdge& edge : edges) {
      if (!is_part_of_another(edge)) edge.begins ? begin(edge) : end(edge);
    }
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const Span& a, const Span& b) { return a.begin_ns < b.begin_ns; });
    for (const Span& span : spans_) {
      add(of_threads_[span.thread], span);
      if (span.stream != unknown_stream) add(of_streams_[span.stream], span);
    }
  }

  bool empty() const noexcept { return spans_.empty(); }
  // Of a launch by this thread into this stream. The thread that began a capture mostly launches
  // into nothing else, and some of the streams that the capture takes in are not known.
  bool hold(std::uint32_t thread, std::uint64_t stream, std::int64_t at_ns) const {
    return holds(of_threads_, thread, at_ns) ||
           (stream != unknown_stream && holds(of_streams_, stream, at_ns));
  }

 private:
  struct Span {
    std::uint32_t thread;
    std::uint64_t stream;
    std::int64_t begin_ns, end_ns;
  };
  using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;  // apart, in order

  // cudaErrorStreamCaptureWrongThread: the capture goes on.
  static constexpr std::int32_t wrong_thread = 908;

  // CUPTI tells of the driver's call within the runtime's too.
  bool is_part_of_another(const CaptureEdge& edge) {
    const auto [found, is_first] = latest_of_thread_.try_emplace(edge.thread, edge);
    CaptureEdge& latest = found->second;
    if (!is_first && latest.begins == edge.begins && edge.begin_ns < latest.end_ns) return true;
    latest = edge;
    return false;
  }

  void begin(const CaptureEdge& edge) {
    if (edge.result != 0) return;
    // A stream has one capture at a time: that the last one ended was lost.
    std::erase_if(open_, [&](std::size_t index) {
      Span& span = spans_[index];
      const bool is_same = edge.stream != unknown_stream && span.stream == edge.stream;
      if (is_same) span.end_ns = edge.begin_ns;
      return is_same;
    });
    open_.push_back(spans_.size());
    spans_.push_back({edge.thread, edge.stream, edge.begin_ns, INT64_MAX});
  }

  // One that failed has ended its capture too, which had become invalid.
  void end(const CaptureEdge& edge) {
    if (edge.result == wrong_thread) return;
    const auto found = ended_by(edge);
    if (found != open_.end()) {
      Span& span = spans_[*found];
      span.end_ns = edge.begin_ns;
      if (span.stream == unknown_stream) span.stream = edge.stream;
      open_.erase(found);
    } else if (edge.result == 0) {
      // Its begin is not known: it was under way before all that is known, or since the last one.
      spans_.push_back({edge.thread, edge.stream, last_end_ns(edge), edge.begin_ns});
    }
  }

  std::vector<std::size_t>::iterator ended_by(const CaptureEdge& edge) {
    const auto oldest = [&](auto&& fits) {
      return std::find_if(open_.begin(), open_.end(),
                          [&](std::size_t index) { return fits(spans_[index]); });
    };
    const auto may_be = [&](const Span& span) {
      return span.stream == unknown_stream || edge.stream == unknown_stream;
    };
    auto found =
        oldest([&](const Span& span) { return !may_be(span) && span.stream == edge.stream; });
    if (found != open_.end()) return found;
    found = oldest([&](const Span& span) { return may_be(span) && span.thread == edge.thread; });
    if (found != open_.end() || edge.result != 0) return found;
    return oldest(may_be);
  }

  // Of this thread's or stream's captures; INT64_MIN: there was none.
  std::int64_t last_end_ns(const CaptureEdge& edge) const {
    std::int64_t last_ns = INT64_MIN;
    for (const Span& span : spans_) {
      const bool is_its = span.thread == edge.thread ||
                          (edge.stream != unknown_stream && span.stream == edge.stream);
      if (is_its && span.end_ns < edge.begin_ns) last_ns = std::max(last_ns, span.end_ns);
    }
    return last_ns;
  }

  static void add(Times& times, const Span& span) {
    if (times.empty() || times.back().second < span.begin_ns) {
      times.emplace_back(span.begin_ns, span.end_ns);
    } else {
      times.back().second = std::max(times.back().second, span.end_ns);
    }
  }
  template <class Map, class Key>
  static bool holds(const Map& of, const Key& key, std::int64_t at_ns) {
    const auto found = of.find(key);
    if (found == of.end()) return false;
    const Times& times = found->second;
    const auto after =
        std::upper_bound(times.begin(), times.end(), at_ns,
                         [](std::int64_t at, const auto& time) { return at < time.first; });
    return after != times.begin() && at_ns <= std::prev(after)->second;
  }

  std::vector<Span> spans_;
  std::vector<std::size_t> open_;  // in spans_, the oldest first
  std::unordered_map<std::uint32_t, CaptureEdge> latest_of_thread_;
  std::unordered_map<std::uint32_t, Times> of_threads_;
  std::unordered_map<std::uint64_t, Times> of_streams_;
};

}  // namespace traceagent::device
