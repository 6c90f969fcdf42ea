#pragma once
// What a run has saved, in the folder of its traces: index/index.json. Of several nodes each has
// index/index-node<N>.json for itself, of which local rank zero, and who merges the node's files,
// makes index/index.json when it saves, but a long one at most so often that 64 KiB/s are written:
// what others have saved since is there the next time, and at the node's end: where no node's file
// is made, at the end of each rank. A folder of its own, because readers of traces take every
// *.json of a folder for one (HTA would take it for rank 0's).

#include <string>
#include <vector>

#include "agent/drain/index_queue.hpp"
#include "agent/drain/rank_file.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::drain {

// Of this node's index: its file's name without ".json" and what tells runs apart.
std::string index_stem(const ring::Ring& ring);

// One line of problem, or empty, each; they throw nothing. A file without bytes is one whose size
// is not known. Where others add to the index they wait, unless there is a `queue`.
std::string index_saved(const ring::Ring& ring, const ring::Window& window,
                        const RankFileReport& file, bool recovered, IndexQueue* queue = nullptr);
std::string index_merged(const ring::Ring& ring, const std::string& node_file, std::uint64_t events,
                         bool recovered = false);
// At the end of a process after which nobody makes its node's file, and so looks again: what this
// node and others have saved since they were joined; more than 4 MiB at that of local rank zero
// alone. Nothing where a run has one node. `recovered`: of a process that was killed before that.
std::string index_joined(const ring::Ring& ring, bool recovered = false);
std::string index_removed(const ring::Ring& ring, const std::string& file,
                          IndexQueue* queue = nullptr);

// It is removed before it was uploaded: upload.queue.
std::string index_left_out(const ring::Ring& ring, const std::string& file, IndexQueue* queue);

// They wait for no upload: `why` is one line. Ends with the first that finds no room.
std::string index_not_queued(const ring::Ring& ring, const std::vector<std::string>& files,
                             const std::string& why, bool recovered, IndexQueue* queue = nullptr);

// For who recovers: what a process that was killed over it has left goes.
void remove_half_made_index(const ring::Ring& ring);

// Rank files of all the node's processes, as they were saved: some may be gone since, and those of
// an older run of the same key are among them.
std::vector<std::string> indexed_files(const ring::Ring& ring);

bool is_indexed(const ring::Ring& ring, const std::string& file);

}  // namespace traceagent::drain
