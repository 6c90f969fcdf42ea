#pragma once

#include <cstdint>
#include <string>

namespace traceagent::trace {

// One index of all nodes of a run, made of theirs (index_file.hpp): it appears under its name
// whole, and replaces the one before it.
//
// Nodes share no lock that is there on every file system. So each adds to its own file, makes the
// joined one of all that are there, and looks again: where one has grown meanwhile, once more. The
// last one that names its file has looked after that, so what it has not seen was added later, by
// one that is still to name its own. Only who is killed between naming and looking may leave it
// behind the nodes' files, until the next one adds. Nor does a long one follow each line: it is
// made anew no sooner than was_joined_lately() allows, and at the end.

// `stem`: the nodes' files are those of the folder whose names begin so, with this head. Larger
// ones than `most_bytes` together are not joined, nor are none. One line of problem, or empty.
std::string join_indexes(const std::string& folder, const std::string& stem,
                         const std::string& head, const std::string& path,
                         std::uint64_t most_bytes);

// Made anew now, the file at `path` would have cost more than `bytes_per_s` since it was made last.
bool was_joined_lately(const std::string& path, std::uint64_t bytes_per_s) noexcept;

}  // namespace traceagent::trace
