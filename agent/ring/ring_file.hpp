#pragma once
// The ring as a file in shared memory: made by the process that records, opened by anyone later.

#include <sys/statvfs.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "agent/ring/ring.hpp"

namespace traceagent::ring {

struct CreatedRing {
  Ring ring;
  std::string path;             // empty: in a memfd, which does not survive a kill
  int fd = -1;                  // holds the owner's POSIX lock until the process is gone
  std::string problem;          // one line for the user, or empty
  bool is_crowded_out = false;  // in a memfd, since what is free is left to others
};

// Makes `path` (0600, O_EXCL) of about `wanted_bytes`, all of it granted by the file system before
// it is touched: an ungranted page of a full /dev/shm would be a SIGBUS in the job. No more than
// bytes_for_ring(). Where that is not granted half as much, and again, down to 256 KiB, then a
// memfd. Also writes the owner's lock. Throws
// std::bad_alloc alone, and has left nothing then.
CreatedRing create_ring(const std::string& path, std::uint64_t wanted_bytes);

// What a ring of that size takes of a file system: at most a 32nd of what is free, and a quarter of
// all, or a gigabyte, is left to others. 0: no ring lies there.
std::uint64_t bytes_for_ring(const struct statvfs& space, std::uint64_t wanted_bytes) noexcept;

struct OpenedRing {
  Ring ring;
  // By its lock, or by its pid and start time; where it has no lock and is of another pid
  // namespace, by its last anchor, which is younger than ten seconds.
  bool owner_alive = false;
  bool is_unmade = false;  // not valid: its owner is still making it, or died over that
  bool is_gone = false;    // not valid: no such file
  uid_t owner = static_cast<uid_t>(-1);  // the file's, where it could be opened
  std::string problem;
};

// Maps a ring file for reading (private, writable: a reader may finish records in its own copy)
// after checking every size in its header against the file's. Refuses other layout versions. Throws
// std::bad_alloc alone: an answer without memory would be one about the ring.
OpenedRing open_ring(const std::string& path);
void close_ring(OpenedRing& opened) noexcept;

// A ring says where files go and what uploads them: made by somebody else, it would have root write
// anywhere. What it records may be looked at all the same.
bool is_own(const OpenedRing& opened) noexcept;

// The last moment, CLOCK_REALTIME, at which the owner's drain thread is known to have lived: it
// takes an anchor at least once a second. 0: none, or damaged.
std::int64_t last_anchor_ns(const Header& header) noexcept;

// True while the process that made the file lives (the kernel drops its lock at death).
bool owner_holds_lock(const std::string& path) noexcept;

// By the pid in the file's name, <rank>-<pid>-<n>.ring, in this pid namespace: it may be another's
// by now.
bool maker_lives(const std::string& path) noexcept;

}  // namespace traceagent::ring
