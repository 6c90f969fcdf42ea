#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "agent/event/hash.hpp"
#include "tools/import/foreign_event.hpp"

namespace traceagent::tools {

// What Composer's merger leaves as it was of a rank's events, in whatever order they stand: it
// shifts all their times by as much, makes the rank their pid, and writes the JSON anew.
struct RankFingerprint {
  std::uint64_t events = 0;
  std::uint64_t names = 0;    // a sum over all events: of phase, name and duration
  std::int64_t first_ns = 0;  // as the file has it
  std::int64_t last_ns = 0;

  // An event (DocumentScan's) of that time.
  void add(const ForeignEvent& event, std::int64_t ns) {
    if (!merger_takes(event)) return;
    names += event::mix(fold(fold(fold(1, event.name), event.dur), event.ph));
    add_times(ns, ns);
    ++events;
  }
  void add(const RankFingerprint& other) {
    if (other.events == 0) return;
    names += other.names;
    add_times(other.first_ns, other.last_ns);
    events += other.events;
  }

 private:
  // Events of lanes that "pollute the UI", and what has no lane, it leaves out.
  static bool merger_takes(const ForeignEvent& event) {
    const bool is_left_out =
        is_json_string(event.tid) && event.tid.find("PyTorch Profiler") != std::string_view::npos;
    return !event.pid.empty() && !event.tid.empty() && !is_left_out;
  }

  // A word at a time, the last one with what is readable behind the text (TextWindow's padding).
  static std::uint64_t fold(std::uint64_t mark, std::string_view text) {
    const char* at = text.data();
    std::size_t left = text.size();
    mark ^= left;
    for (; left > 8; at += 8, left -= 8) mark = fold(mark, word_at(at));
    return left > 0 ? fold(mark, word_at(at) << (64 - 8 * left)) : mark;
  }
  static std::uint64_t fold(std::uint64_t mark, std::uint64_t word) {
    return std::rotl((mark ^ word) * 0x9e3779b97f4a7c15U, 29);
  }
  static std::uint64_t word_at(const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  void add_times(std::int64_t first, std::int64_t last) {
    first_ns = events == 0 || first < first_ns ? first : first_ns;
    last_ns = events == 0 || last > last_ns ? last : last_ns;
  }
};

// By rank.
using Fingerprints = std::map<std::int64_t, RankFingerprint>;

// What of a file other files hold too.
struct HeldRanks {
  std::size_t count = 0;  // ranks
  bool are_all = false;   // and nothing else is in it
};

// `files`: of each rank of the merged file those that hold it alone, one behind the other in time.
// Composer's merged file holds one cycle of theirs or several, and then of all cycles but for the
// last one every rank as if it were the lowest.
HeldRanks held_ranks(const Fingerprints& merged,
                     const std::map<std::int64_t, std::vector<RankFingerprint>>& files);

}  // namespace traceagent::tools
