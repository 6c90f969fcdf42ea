#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/corrected_durations.hpp"
#include "agent/trace/merge.hpp"
#include "agent/trace/selection.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::trace {

// One file of a merge. It is opened three times: for its header, for its metadata events and its
// first time, and for its events when their time has come; so the open files (and their buffers)
// are those whose events overlap, not all cycles of a long job.
struct MergeInput {
  MergedInput report;
  TraceHeader header;
  std::string source = {};         // as an element of "sources"; of a merged one those are it
  std::string imported_mark = {};  // of the file of others (content_mark.hpp); empty: it is ours
  TraceFooter footer;
  ClockCorrection correction;
  std::uint64_t file_bytes = 0;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::min();  // absolute; min: no event

  std::unique_ptr<TraceReader> reader;  // while its events are written
  TraceLine line;
  CorrectedDurations durations;  // in `line`
  std::unique_ptr<EventFilter> filter;
  std::int64_t line_ns = 0;  // absolute; what the filter made of it
  std::int64_t read_ns = 0;  // absolute; as it stands in the file
  std::uint64_t events_read = 0;
  std::map<std::string, std::uint64_t> lost = {};  // of its events, since it is damaged; by cause

  // On the merged file's clock. Wraps rather than overflows: a damaged base must not be undefined
  // behaviour.
  [[nodiscard]] std::int64_t absolute_ns(std::int64_t ts_ns) const {
    return correction.corrected(own_ns(ts_ns));
  }
  // On its own clock.
  [[nodiscard]] std::int64_t own_ns(std::int64_t ts_ns) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(header.base_ns) +
                                     static_cast<std::uint64_t>(ts_ns));
  }
  [[nodiscard]] bool is_used() const { return report.left_out.empty() && usable; }
  // Of a merged file that shares sources: see WholeSources::cut.
  std::map<std::string, std::set<std::string>> cut_sources = {};
  std::string earlier_mark = {};  // see earlier_mark_of()
  // Another one that is used holds a part of the same sources: events may be in both.
  bool shares_events = false;
  // Of these ranks it and another one may have states of one file of others: see shared_events.cpp.
  std::set<std::int64_t> may_share_ranks = {};
  std::size_t of_file = 0;  // the first of the inputs that one file of others has become
  bool usable = true;       // false: it could not be read, from the beginning or when its turn came
};

// See MergeOptions::given_paths.
using GivenPaths = std::map<std::string, std::string>;

// The headers, as they are.
std::vector<MergeInput> read_headers(const std::vector<std::string>& paths,
                                     const GivenPaths& given = {});

// What a reader of the input says is wrong, with the path that the user gave.
std::string as_given(const MergedInput& input, std::string problem);

// Reads the headers. The result is ordered by rank, base and path; files given twice, files that
// hold what others hold too, and those of which the selection (or null) has no rank, are marked as
// left out.
std::vector<MergeInput> scan_inputs(const std::vector<std::string>& paths,
                                    const Selection* selection, const GivenPaths& given = {});

// Of those in use, in order; with the selection's (or null: all).
std::set<std::int64_t> ranks_in(const std::vector<MergeInput>& inputs, const Selection* selection);

// Its own; with the selection's (or null: all).
std::set<std::int64_t> ranks_of(const TraceHeader& header);
std::set<std::int64_t> ranks_of(const MergeInput& input, const Selection* selection);

// Of an element of "sources": see corrected_sources.hpp.
inline constexpr std::string_view corrected_member = "corrected";
// Of an imported one, and in its "distributedInfo": its mark, and which run of it, if it is one;
// the rank that the user, it itself or its name told, if one did; what the last two told where the
// user said otherwise; and false where its times count from nobody knows when.
inline constexpr std::string_view content_member = "content";
inline constexpr std::string_view told_rank_member = "told_rank";
inline constexpr std::string_view named_rank_member = "named_rank";
inline constexpr std::string_view has_clock_member = "has_clock";
// And marks of the first events that stand in it, "<of the first> <of the first two> ...": states
// of one file have the same, as many as there are.
inline constexpr std::string_view begins_member = "begins";
bool begin_alike(std::string_view some, std::string_view others);
inline constexpr std::array imported_members = {told_rank_member, named_rank_member,
                                                has_clock_member, begins_member};
std::string without_mark(const std::string& source);  // it is the same, however it was corrected

// JSON objects: the rank files that it is, or was made of; with the selection's ranks (or null:
// all).
std::vector<std::string> sources_of(const MergeInput& input, const Selection* selection = nullptr);
// What makes such a file the same in two merges.
std::string identity_of(const std::string& source);
std::set<std::string> identities_of(const MergeInput& input);

}  // namespace traceagent::trace
