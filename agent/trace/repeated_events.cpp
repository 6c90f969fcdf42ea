#include "agent/trace/repeated_events.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {
constexpr std::size_t most_buckets_to_clear = 256;
}

RepeatedEvents::Key RepeatedEvents::key_of(std::string_view text) {
  std::uint64_t product = 0x9e3779b97f4a7c15;
  for (std::size_t at = 0; at < text.size(); at += sizeof product) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    product = (product ^ word) * 0x9fb21c651e98df25;
    product ^= product >> 32;
  }
  return {std::hash<std::string_view>()(text), product};
}

bool RepeatedEvents::is_repeated(std::size_t input, std::int64_t absolute_ns,
                                 std::string_view text) {
  if (absolute_ns != absolute_ns_) {
    absolute_ns_ = absolute_ns;
    // Where there were many at one time, to clear the table's buckets again and again takes long.
    if (seen_.bucket_count() > most_buckets_to_clear) seen_ = {};
    seen_.clear();
  }
  const Key key = key_of(without_spaces(text, squeezed_));
  const auto found = seen_.find(key);
  if (found == seen_.end()) {
    if (seen_.size() < most) {
      seen_.emplace(key, Seen{input, 1, 1});
    } else {
      is_any_not_compared_ = true;
    }
    return false;
  }
  Seen& seen = found->second;
  seen.of_input = seen.input == input ? seen.of_input + 1 : 1;
  seen.input = input;
  const bool is_repeated = seen.of_input <= seen.written;
  seen.written = std::max(seen.written, seen.of_input);
  count_ += is_repeated ? 1 : 0;
  return is_repeated;
}

}  // namespace traceagent::trace
