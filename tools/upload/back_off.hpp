#pragma once

#include <chrono>
#include <map>
#include <string>

#include "tools/upload/delivery.hpp"

namespace traceagent::tools {

// What fails as one: a bucket, a folder, a command.
std::string place_of(const Upload& upload);

// The growing pauses between tries, of each place for itself: one that is dead holds up no other.
class BackOff {
 public:
  using Clock = std::chrono::steady_clock;

  void note_success(const Upload& upload);
  void note_failure(const Upload& upload, Clock::time_point now);

  // The last try there failed.
  bool has_failed(const Upload& upload) const;
  // When it may be tried again; where nothing failed, that has long passed.
  Clock::time_point next_try(const Upload& upload) const;
  bool is_any() const noexcept { return !failing_.empty(); }

  // For what others in its folder would be refused for too. After some of them, without a success
  // between, thousands more are not asked for.
  void note_refusal(const Upload& upload);
  bool is_closed(const Upload& upload) const;

 private:
  struct Failing {
    std::chrono::nanoseconds pause{};
    Clock::time_point next_try;
  };
  std::map<std::string, Failing> failing_;
  std::map<std::string, int> refusals_;
  // Of whatever place: names that are in a target make a place of each cycle.
  Clock::time_point next_retry_;
};

}  // namespace traceagent::tools
