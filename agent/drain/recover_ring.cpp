#include "agent/drain/recover_ring.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <initializer_list>

#include "agent/drain/end_of_run.hpp"
#include "agent/drain/file_names.hpp"
#include "agent/drain/late_losses.hpp"
#include "agent/drain/recover_window.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/drain/upload_queue.hpp"
#include "agent/drain/written_window.hpp"
#include "agent/ring/sparse_ring.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/output_file.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::drain {
namespace {

// A rate out of this range is no clock's, and its products no numbers.
bool has_plausible_clock(const ring::Header& header) noexcept {
  const double rate = header.nominal_ns_per_tick;
  return std::isfinite(rate) && rate > 1e-3 && rate < 1e6;
}

std::uint64_t lost_in_open_windows(const ring::Ring& ring,
                                   std::initializer_list<ring::DropCause> causes) noexcept {
  std::uint64_t lost = 0;
  for (const ring::Window& window : ring.header().windows) {
    if (!ring::is_unwritten(window)) continue;
    const auto dropped = ring::dropped_in(ring, window);
    for (const ring::DropCause cause : causes) lost += dropped[static_cast<std::size_t>(cause)];
  }
  return lost;
}

// Those that the window's file may have, or have been about to have: up to the first with a pid
// that is free.
std::vector<std::string> possible_names(const ring::Ring& ring, const ring::Window& window) {
  std::vector<std::string> names;
  const std::string name = rank_file_name(ring, window).path;
  for (int attempt = 0; attempt < most_names && !name.empty(); ++attempt) {
    names.push_back(name_at_attempt(name, ring.header().owner_pid, attempt));
    if (attempt > 0 && access(names.back().c_str(), F_OK) != 0) break;
  }
  return names;
}

// Its events and size are not known here: the file says both itself, behind its events.
void index_where_missing(const ring::Ring& ring, const ring::Window& window,
                         const std::string& file, IndexQueue* index_queue) {
  RankFileReport report;
  report.path = file;
  if (is_indexed(ring, file)) return;
  trace::TraceReader reader;
  if (reader.open(file)) report.base_ns = reader.header().base_ns;
  index_saved(ring, window, report, false, index_queue);
}

// `problem`: what went wrong, or "".
void note_not_queued(const ring::Ring& ring, const std::vector<std::string>& files,
                     const std::string& problem, Recovered& recovered, IndexQueue* index_queue) {
  if (problem.empty()) return;
  recovered.notes.push_back(problem);
  const std::string unnoted = index_not_queued(ring, files, problem, true, index_queue);
  if (!unnoted.empty()) recovered.notes.push_back(unnoted);
}

// What is in the list is queued for upload, or waits as noted there; this one may be or not.
void note_unlisted(const ring::Ring& ring, const ring::Window& window, const std::string& path,
                   const std::string& file, Recovered& recovered, IndexQueue* index_queue) {
  index_where_missing(ring, window, file, index_queue);
  const std::string problem = queue_rank_file(ring, window, file);
  note_not_queued(ring, {file}, problem, recovered, index_queue);
  // The next recovery queues it: it looks at no file that is listed.
  const trace::JsonObject record = rank_file_upload(ring, window, file).record;
  if (!problem.empty() && !record.empty()) ring::note_waiting_upload(path, record.text());
  ring::note_written_file(path, file);
}

// Of a process that was killed while they waited for room in the queue, or has ended. Those that it
// had queued after all are there once: by their ids. Returns how many are queued now.
std::size_t queue_waiting(const ring::Ring& ring, const std::string& path, std::string& problem,
                          std::vector<std::string>& not_queued_files) {
  std::size_t queued = 0;
  for (const std::string& record : ring::waiting_uploads(path)) {
    if (problem.empty()) problem = append_noted(ring, record);
    if (problem.empty()) {
      ++queued;
    } else {
      not_queued_files.push_back(file_of_record(ring, record));
    }
  }
  if (queued > 0 && problem.empty()) ring::note_none_waits(path);
  return queued;
}

void queue_waiting(const ring::Ring& ring, const std::string& path, Recovered& recovered,
                   IndexQueue* index_queue) {
  std::string problem;
  std::vector<std::string> files;
  recovered.queued = queue_waiting(ring, path, problem, files);
  if (problem.empty()) return;
  const std::string more =
      files.size() == 1 ? "" : " and " + std::to_string(files.size() - 1) + " more files";
  note_not_queued(ring, files, problem + ": " + files.front() + more + not_queued, recovered,
                  index_queue);
}

// Their process was killed while others kept it from the index.
void index_written_windows(const ring::Ring& ring, IndexQueue* index_queue) {
  for (const ring::Window& window : ring.header().windows) {
    const std::string file(ring.name(window.file_name));
    const bool is_written =
        window.state.load(std::memory_order_relaxed) == ring::WindowState::written;
    if (!is_written || file.empty() || access(file.c_str(), F_OK) != 0) continue;
    // Another run's file may have its place by now.
    if (is_indexed(ring, file) || !holds_window(file, ring, window)) continue;
    index_where_missing(ring, window, file, index_queue);
  }
}

// Its owner noted in the ring what its file is to tell, and a recovery does not write there.
void note_told_by(const std::string& file, const ring::Ring& ring, const ring::Window& window) {
  if (is_of_owner(file, ring)) {
    note_told(ring, window);
  } else {
    note_all_told(ring, window);
  }
}

// Of cycles that have one name (a template without {batch}) a list of names does not tell which was
// written.
bool has_namesake(const ring::Ring& ring, const ring::Window& window) {
  const std::string name = rank_file_name(ring, window).path;
  const auto& windows = ring.header().windows;
  return std::any_of(windows.begin(), windows.end(), [&](const ring::Window& other) {
    return &other != &window &&
           other.state.load(std::memory_order_relaxed) != ring::WindowState::empty &&
           rank_file_name(ring, other).path == name;
  });
}

// A ring that is recovered twice (kept, or merged again) has its files in its list. Where somebody
// has removed them since, they are written again. Who was killed between a file's last byte and
// that note, its owner or an earlier recovery, left a file that says itself whose it is.
void skip_written_windows(const ring::Ring& ring, const std::string& path, Recovered& recovered,
                          IndexQueue* index_queue) {
  const std::vector<std::string> listed = ring::written_files(path);
  for (ring::Window& window : ring.header().windows) {
    if (!ring::is_unwritten(window)) continue;
    const bool list_tells = !has_namesake(ring, window);
    for (const std::string& file : possible_names(ring, window)) {
      const bool is_listed = std::find(listed.begin(), listed.end(), file) != listed.end();
      const bool is_taken_away =
          !removes_files(ring) && access(file.c_str(), F_OK) != 0 && errno == ENOENT;
      const bool is_told = is_listed && list_tells && !is_taken_away;
      if (!is_told && !holds_window(file, ring, window)) continue;
      if (!is_listed) note_unlisted(ring, window, path, file, recovered, index_queue);
      note_told_by(file, ring, window);
      window.state.store(ring::WindowState::written, std::memory_order_relaxed);
      break;
    }
  }
}

// What its process was writing when it was killed.
void remove_half_written_files(const ring::Ring& ring) {
  const auto writer = static_cast<pid_t>(ring.header().owner_pid);
  trace::remove_abandoned(node_file_name(ring).path, writer);
  remove_half_made_index(ring);
  for (const ring::Window& window : ring.header().windows) {
    if (!ring::is_unwritten(window)) continue;
    for (const std::string& name : possible_names(ring, window)) {
      trace::remove_abandoned(name, writer);
    }
  }
}

// Where a window is left its file tells of them, sooner or later.
void tell_given_up(const ring::Ring& ring, Recovered& recovered) {
  if (ring::has_unwritten_window(ring)) return;
  const std::uint64_t events = untold_events(ring);
  if (events == 0) return;
  recovered.notes.push_back("rank " + std::to_string(recovered.rank) + ": " +
                            std::to_string(events) +
                            " events are lost: their windows could not be written, and the ring "
                            "had no room to keep them: make room on the disk, or raise ring.size");
}

// Less than the file's where that had holes.
std::uint64_t bytes_in_use(const ring::Ring& ring) noexcept {
  return ring.header().chunks_offset + ring.chunk_count() * ring::chunk_bytes;
}

void recover(const ring::Ring& ring, const std::string& path, bool any_size,
             IndexQueue* index_queue, Recovered& recovered) {
  finish_giving_up(ring);
  remove_half_written_files(ring);
  index_written_windows(ring, index_queue);
  queue_waiting(ring, path, recovered, index_queue);
  skip_written_windows(ring, path, recovered, index_queue);
  recovered.rank = ring.header().identity.rank;
  using ring::DropCause;
  recovered.lost = lost_in_open_windows(
      ring, {DropCause::ring_full, DropCause::device_ring_full, DropCause::plan_ring_full});
  recovered.overwritten = lost_in_open_windows(ring, {DropCause::overwritten});
  const std::uint64_t most_bytes =
      any_size ? UINT64_MAX : bytes_in_use(ring) * most_bytes_per_ring_byte;
  for (const RankFileReport& report : recover_windows(ring, most_bytes, index_queue)) {
    if (!report.problem.empty()) {
      recovered.problems.push_back(report.problem);
      continue;
    }
    if (!report.index_problem.empty()) recovered.notes.push_back(report.index_problem);
    recovered.files.push_back({report.path, report.events});
    ring::note_written_file(path, report.path);
    note_not_queued(ring, {report.path}, report.upload_problem, recovered, index_queue);
  }
  const std::string index_problem = index_joined(ring, true);
  if (!index_problem.empty()) recovered.notes.push_back(index_problem);
  tell_given_up(ring, recovered);
  if (recovered.files.empty() && recovered.problems.empty() && recovered.queued == 0) {
    recovered.nothing = "it died outside the schedule's active steps, or all was written";
  }
}

}  // namespace

std::uint64_t Recovered::events() const noexcept {
  std::uint64_t sum = 0;
  for (const RecoveredFile& file : files) sum += file.events;
  return sum;
}

namespace {

// What is wrong with its content, or "".
std::string why_damaged(const ring::Ring& ring) {
  if (!has_plausible_clock(ring.header())) return "its clock makes no sense";
  // Its files would go anywhere, and its bytes to the user's terminal.
  const bool adds_up = ring.header().identity.checksum == ring::identity_checksum(ring);
  return adds_up ? "" : "its identity does not add up";
}

}  // namespace

void queue_waiting_uploads(const std::string& ring_path) {
  if (ring::waiting_uploads(ring_path).empty()) return;
  ring::OpenedRing opened = ring::open_ring(ring_path);
  std::string problem;
  std::vector<std::string> files;
  const bool may_be_read = opened.ring.valid() && ring::is_own(opened) &&
                           why_damaged(opened.ring).empty() &&
                           opened.ring.header().ready.load(std::memory_order_acquire) != 0;
  if (may_be_read) queue_waiting(opened.ring, ring_path, problem, files);
  ring::close_ring(opened);
}

Recovered recover_ring(const std::string& ring_path, bool any_size, IndexQueue* index_queue) {
  Recovered recovered;
  ring::OpenedRing opened = ring::open_ring_to_recover(ring_path);
  if (opened.ring.valid() && !ring::is_own(opened)) {
    ring::close_ring(opened);
    recovered.problems.push_back("ring: " + ring_path +
                                 ": belongs to another user: recover it as that user");
    return recovered;
  }
  if (opened.is_unmade && !opened.owner_alive) {
    recovered.nothing = "its process ended before it was made";
    return recovered;
  }
  if (!opened.ring.valid()) {
    recovered.problems.push_back("ring: " + opened.problem);
    return recovered;
  }
  const ring::Header& header = opened.ring.header();
  if (opened.owner_alive) {
    recovered.problems.push_back("ring: " + ring_path + ": its process " +
                                 std::to_string(header.owner_pid) +
                                 " still runs: it writes its files itself");
  } else if (header.ready.load(std::memory_order_acquire) == 0) {
    recovered.nothing = "its process ended before the agent was ready";
  } else if (const std::string why = why_damaged(opened.ring); !why.empty()) {
    recovered.problems.push_back("ring: " + ring_path + ": " + why + ": the file is damaged");
  } else {
    recover(opened.ring, ring_path, any_size, index_queue, recovered);
  }
  ring::close_ring(opened);
  return recovered;
}

}  // namespace traceagent::drain
