#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/clock_correction.hpp"
#include "agent/trace/job_ranks.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/selection.hpp"
#include "agent/trace/side_reads.hpp"
#include "agent/trace/side_work.hpp"

namespace traceagent::trace {

// What is missing in a merge: a process whose files do not hold all of it ("rank 2", "still runs"),
// a file that could not be read ("a.json", its problem).
struct Unfinished {
  std::string who;
  std::string why;
};

// Of which ranks it is looked for whether some have no input: none; of the job, as far as the
// inputs tell, or of the one node that they are of; of the node that the caller knows they are of;
// of the node that a launcher says they are of, and of none where its number is a guess.
enum class RanksWanted { none, of_job, of_node, of_told_node };

struct MergeOptions {
  bool gzip = false;
  int gzip_level = 1;
  bool overwrite = true;
  bool strict = false;          // nothing is written where anything is wrong with an input
  bool mix_runs = false;        // else files of different runs are refused
  std::string trace_name = {};  // empty: the output's file name
  // Not of one merged file of ours: who made it has looked.
  RanksWanted ranks_wanted = RanksWanted::none;
  bool refuse_empty = false;                // nothing is written where no event is chosen
  std::vector<Unfinished> unfinished = {};  // then the output is not complete
  // Of a merged input: whether that what it says is missing in it ("file" in "incomplete") is here
  // now, or told of anew in `unfinished`; nothing: it is not.
  std::function<bool(std::string_view who)> is_settled = {};
  // Of inputs that were imported for the merge, by path: the file that the user gave.
  std::map<std::string, std::string> given_paths = {};
  SideWork* side_work = nullptr;    // for the output, see OutputOptions
  SideReads* side_reads = nullptr;  // for the inputs; outlives the merge
  Selection* selection = nullptr;   // null: all of all inputs
  JsonObject metadata = {};         // what the caller adds to "traceagent"
  // By path; what is not here stays on its own clock. Times in the inputs' "traceagent" stay too.
  // The output says in "clock_corrections" what was done.
  std::map<std::string, ClockCorrection> corrections = {};
  // JSON object, "clock" in the output's "distributedInfo": what a later merge must know of its
  // times; or empty.
  std::string clock = {};
  // A metadata event of an input that is corrected, as it is to be then; nothing: as it is.
  std::function<std::optional<std::string>(std::string_view, const ClockCorrection&)>
      corrected_metadata_event = {};
  std::vector<std::string> metadata_events =
      {};  // lines of the caller's own, behind the inputs'; those of their ranks
  // Called now and then with the bytes of the inputs that were read and their sum; false gives up.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress = {};
};

struct MergedInput {
  std::string path;
  std::string given;  // the path in all that is said of it: what it was imported from, else `path`
  std::int64_t rank = 0;
  std::uint64_t events = 0;
  bool complete = false;  // it says so itself, and nothing was wrong
  std::string left_out;   // why it is not in the merge though nothing is wrong with it; or empty
  bool unwanted = false;  // left out since the selection has none of its ranks
  std::string problem;    // one line: unreadable, foreign, cut, not sorted; or empty
};

struct MergeReport {
  std::string problem;              // why there is no output; empty: it is there
  std::vector<MergedInput> inputs;  // by rank and time
  std::vector<std::int64_t> ranks;
  std::vector<std::int64_t> missing_ranks;
  JobRanks job_ranks;                // of the inputs
  std::string missing_of_node;       // of the one that they are of, which the job has others of
  bool is_empty = false;             // that is why there is no output (refuse_empty)
  std::string joined_runs;           // see input_runs.hpp; empty: of one run
  std::vector<Unfinished> mixed;     // ranks of several runs (mix_runs, or of one key), of which
                                     // viewers drop events
  std::vector<std::string> sources;  // rank files: JSON objects with their name and rank
  std::uint64_t events = 0;
  std::uint64_t repeated = 0;  // left out, since another input holds the same events
  std::map<std::string, std::uint64_t> dropped;  // by cause, over all ranks
  bool complete = false;                         // every input was, and no rank is missing
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::size_t peak_reader_bytes = 0;  // the most that all open inputs held together
};

// What was dropped, for people. A name or a communicator that found no room is missing in events
// that are there, and step detection's misses are no events: none of these counts as lost.
struct Losses {
  std::uint64_t events = 0;
  std::string causes;  // "ring_full 2, device_late 1", of events
  std::string
      others;  // "names_full 3"; also damaged places, in which it is not known how many were
};
Losses losses_of(const MergeReport& report);

// Merges our own files (of ranks, or merged before; plain or gzip; in any order) into one that is
// ordered by time. Clocks are joined by each file's base, exact to the nanosecond,
// after `corrections`. Memory does not grow with the traces: an input is open only from its first
// to its last event, with a buffer of LineReader's. Lines are spliced, not parsed. Throws
// std::bad_alloc alone; no output is there then.
//
// A file that is cut gives what it holds, unless whole files that are given hold all of it. One
// that holds what others given hold too is left out: a file given twice, a copy, a merged file
// whose rank files are all given, a rank file that is in a merged file already. Of files that hold
// parts of the same sources (`selection`) each event is taken once. Metadata events that several
// cycles of a rank repeat are written once.
//
// Files of different runs are refused: their ranks would share lanes. Nodes whose ranks have no id
// of the job in common name one run differently, each: that is told by their other ranks.
MergeReport merge(const std::vector<std::string>& inputs, const std::string& output,
                  const MergeOptions& options = {});

}  // namespace traceagent::trace
