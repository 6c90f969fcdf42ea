#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tools/import/time_spans.hpp"

namespace traceagent::tools {

// Looks at the times of a file's events, in the order in which they stand there: whether they can
// be put in order while they are read, with little held back.
class OrderCheck {
 public:
  // Of the text of events. More would be memory for each input of a merge.
  static constexpr std::size_t most_late_bytes = std::size_t{128} << 10;

  void add(std::int64_t ns, std::size_t bytes) {
    if (ns > latest_ns_ || events_ == 0) [[likely]] {
      latest_ns_ = ns;
      latest_[peaks_++ % latest_.size()] = {ns, bytes_};
    } else if (ns < latest_ns_) {
      look_back(ns);
    }
    first_ns_ = events_ == 0 || ns < first_ns_ ? ns : first_ns_;
    ++events_;
    bytes_ += bytes;
    spans_.add(ns);
  }

  [[nodiscard]] bool is_fine() const { return is_fine_; }
  // The most that lies between an event and where it belongs.
  [[nodiscard]] std::size_t late_bytes() const { return late_bytes_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::int64_t first_ns() const { return first_ns_; }
  [[nodiscard]] std::int64_t last_ns() const { return latest_ns_; }
  [[nodiscard]] const TimeSpans& spans() const { return spans_; }

 private:
  // An event that is later than all before it.
  struct Peak {
    std::int64_t ns;
    std::uint64_t offset;  // in the text of all events
  };

  void look_back(std::int64_t ns);

  std::array<Peak, 4096> latest_;
  std::uint64_t peaks_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t latest_ns_ = std::numeric_limits<std::int64_t>::min();
  std::size_t late_bytes_ = 0;
  bool is_fine_ = true;
  TimeSpans spans_;
};

}  // namespace traceagent::tools
