#pragma once

#include <string>
#include <string_view>

namespace traceagent::trace {

// A JSON document that grows by a line at its end and is whole at any time:
//
//     {"run_key": "…", "entries": [
//     {…},
//     {…}
//     ]}
//
// Each line makes a new file of the old one, which takes its name (output_file.hpp): who reads has
// the one or the other, never half of a line. That copies what is there, a third of a kilobyte for
// each trace file: little beside the trace files, and no more memory for a run of days. Several
// processes may add: one at a time. What a killed one has left is removed by the next.

// `head` is the first line, `entry` one JSON object. A file with another head is of another run: it
// is begun anew if `overwrite`, else refused (see is_other_index). One line of problem, or empty.
// While another process adds it waits, half a second at most; given `is_busy` it does not, adds
// nothing and says so there.
std::string add_to_index(const std::string& path, const std::string& head, const std::string& entry,
                         bool overwrite, bool* is_busy = nullptr);

// A file that is there and does not begin with that first line.
bool is_other_index(const std::string& path, const std::string& head);

// Whether a line of the file holds `text`.
bool index_holds(const std::string& path, std::string_view text);

}  // namespace traceagent::trace
