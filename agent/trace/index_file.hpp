#pragma once

#include <cstddef>
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
// While it is short each line makes a new file of the old one, which takes its name
// (output_file.hpp): who reads has the one or the other, never half of a line. A run of days would
// write gigabytes so: a longer one grows in place, by one write over its end. Who reads it in that
// very moment, or after a kill within it, may find the last line cut: our own readers pass over
// that, others read once more. Several processes may add: one at a time. What a killed one has left
// is removed by the next, which makes the file anew where its end is not whole.

constexpr std::size_t longest_copied_index_bytes = 64 << 10;  // some 200 files

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
