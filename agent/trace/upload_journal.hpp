#pragma once
// The queue of files to be uploaded, and what became of each: `<folder>/.traceagent-upload/` in the
// folder of the trace files.
//
//   <host>.journal   one record a line, appended by this host's ranks and by its uploader
//   <host>.lock      held by the uploader that is at work
//   <host>.problem   while uploads fail: a line for each place with a problem, behind a mark of
//   that
//                    place; then lines of what was left out
//   keep.lock        held by who reads rank files for a merge, and by who removes one: any host;
//                    see merge_lock() and removal_lock()
//
// Records (JSON objects): {"queue": id, "file": its name in the folder, "target": place or "words":
// [command], "kind": "rank" or "node", "run": key, "process": number, "modified": the
// file's time in ns when it was queued, "keep": n, "merge": true: the
// newest file stays until the run has ended, "index": stem of the index that is told when it is
// removed, "ended": true: it had when the journal was made shorter} by ranks; {"ended": run key,
// "files": [name, …]} by who has merged, of what was queued before it of these files; {"ended": run
// key} of all files, where output.keep removes none;
// {"begin": id, …}, {"multipart": …}, {"part": …}, {"done": id, …, "modified": the
// file's time in ns}, {"gone": id, "why": …},
// {"abandon": id, "upload": multipart's} before the server is told, {"abandoned": …} when it has no
// part of it any more, {"removed": id} by the uploader; by a rank whose files fill the disk
// {"removed": id} too, of which more than upload.queue waits {"gone": id, "left_out": true}: it
// removes the file next, under a lock on it (delivery_lock.hpp); by who forgets a target the
// same, and its files stay; by the uploader the same where a file of another run has the name;
// {"compacted": id, "done": n, "removed": n, "left_out": n, "damaged": n} where a shorter
// journal begins: of so many files that are not in it any more. A record that was cut has a line of
// its own, and is passed over; one that was damaged is counted.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/trace/json_object.hpp"

namespace traceagent::trace {

std::string upload_folder(const std::string& output_folder);

// Paths in there. A host's name becomes a plain file name.
std::string journal_path(const std::string& output_folder, const std::string& host);
std::string uploader_lock_path(const std::string& output_folder, const std::string& host);
std::string upload_problem_path(const std::string& output_folder, const std::string& host);
std::string keep_lock_path(const std::string& output_folder);

// Makes the folder (0700) where it is missing. Returns what went wrong, as "<path>: <why>", or "".
std::string append_record(const std::string& journal, const JsonObject& record);
std::string append_record(const std::string& journal, std::string_view record);

// Who appends has the open journal locked, shared. The uploader puts a shorter one in its place,
// and locks the old one alone for that: at once, or not at all. The lock goes when `fd` is closed.
// False too where the file has lost the journal's name.
bool lock_journal_alone(int fd, const std::string& journal) noexcept;

// An id that no other record of the journal has.
std::string new_upload_id();

// A POSIX record lock on a file that is made where it is missing; the kernel gives it up with the
// process. It belongs to the process: two of them on one file, in one process, do not see each
// other, and each end of one gives up both.
class FileLock {
 public:
  enum class Kind { shared, exclusive };
  // Of the whole file, or of one byte of it, which need not be there.
  explicit FileLock(std::string path) : path_(std::move(path)) {}
  FileLock(std::string path, std::uint32_t byte) : path_(std::move(path)), byte_(byte) {}
  ~FileLock() { unlock(); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // False at once where another process has it, or where no lock can be had: see is_refused().
  bool try_lock(Kind kind) noexcept;
  // The same, after two seconds at most.
  bool lock_soon(Kind kind) noexcept;
  // From shared to exclusive; without success it stays what it was. Of the whole file.
  bool try_upgrade() noexcept;
  void unlock() noexcept;
  const std::string& path() const noexcept { return path_; }
  // It was had, but the file has lost its name since: whoever makes another has that one's.
  bool is_lost() const noexcept;
  // The file system has no locks, or no such file may be made.
  bool is_refused() const noexcept { return is_refused_; }

 private:
  const std::string path_;
  const std::optional<std::uint32_t> byte_;
  int fd_ = -1;
  bool is_refused_ = false;
};

// Those who merge hold all of keep.lock, shared: none of them keeps out another, and each keeps out
// all who remove. Who removes holds one byte of it, exclusive, and keeps out nobody else who does:
// one that is preempted over it would make the others' files pile up.
FileLock merge_lock(const std::string& output_folder);
// `process`: as its files have it in the journal; the uploader has none.
FileLock removal_lock(const std::string& output_folder, std::optional<std::int64_t> process);

// Whether another process holds it; `unknown` where there are no locks. Not to be asked by one that
// has the lock itself.
enum class Holder { nobody, another, unknown };
Holder holder_of(const std::string& path) noexcept;
// The process that holds it; 0: none, or nobody can tell (another machine's).
std::int64_t holder_pid(const std::string& path) noexcept;
inline bool is_locked(const std::string& path) noexcept {
  return holder_of(path) == Holder::another;
}

}  // namespace traceagent::trace
