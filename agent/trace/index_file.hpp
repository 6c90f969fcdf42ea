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
// Lines are added in place, by one write that takes in the end of the document, so that a run of
// days costs neither memory nor the rewriting of all that is there. Several processes may add: one
// at a time. What a killed one has left of a line is cut off.

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
