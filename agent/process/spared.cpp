#include "agent/process/spared.hpp"

#include <algorithm>
#include <charconv>

#include "agent/process/note_file.hpp"
#include "agent/process/peers.hpp"
#include "agent/ring/dead_runs.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/private_workers.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::process {
namespace {

std::uint32_t number_at(std::string_view text) noexcept {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Of <rank>-<pid>-<n>.ring.
std::uint32_t pid_of(std::string_view ring_name) noexcept {
  const std::size_t dash = ring_name.find('-');
  return dash == std::string_view::npos ? 0 : number_at(ring_name.substr(dash + 1));
}

std::string_view name_of(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool is_among(const std::vector<std::string>& rings, std::string_view ring_name) noexcept {
  return std::any_of(rings.begin(), rings.end(),
                     [&](const std::string& path) { return name_of(path) == ring_name; });
}

// Its process was ready, or cannot be asked: whatever it holds has been read by nobody.
bool may_hold_events(const std::string& path) {
  ring::OpenedRing opened = ring::open_ring(path);
  const bool is_ready =
      opened.ring.valid() && opened.ring.header().ready.load(std::memory_order_acquire) != 0;
  const bool is_unread = !opened.ring.valid() && !opened.is_unmade && !opened.is_gone;
  ring::close_ring(opened);
  return is_ready || is_unread;
}

constexpr std::string_view claim_begin = "claim-rank", ring_end = ".ring", list_end = ".files";

}  // namespace

bool Spared::is_known(std::uint32_t pid) const noexcept {
  return pid == static_cast<std::uint32_t>(own_pid_) ||
         std::any_of(known_rings_.begin(), known_rings_.end(),
                     [pid](const std::string& path) { return pid_of(name_of(path)) == pid; });
}

// Of a claim that cannot be read.
bool Spared::is_known_rank(std::uint32_t rank) const noexcept {
  return std::any_of(known_rings_.begin(), known_rings_.end(),
                     [rank](const std::string& path) { return number_at(name_of(path)) == rank; });
}

// Living by its lock, also of another container; by its pid alone before it has that. A dead one's
// too: it may have begun and ended since. Whoever finished finds the merge taken, and leaves it to
// who looks once more.
bool Spared::may_be_newcomers(std::string_view ring_name) const {
  const std::uint32_t pid = pid_of(ring_name);
  if (pid == static_cast<std::uint32_t>(own_pid_)) return false;  // what we were before an exec
  const std::string path = folder_.path + "/" + std::string(ring_name);
  return ring::owner_holds_lock(path) || ring::process_lives(pid, ring::start_time_of(pid)) ||
         may_hold_events(path);
}

// This process's own has ended.
bool Spared::has_private_newcomer() const {
  const ring::PrivateWorkers workers = ring::private_workers_of(folder_.path);
  const auto is_new = [&](const ring::PrivateWorker& worker) {
    return worker.pid != static_cast<std::uint32_t>(own_pid_) &&
           !is_among(known_rings_, name_of(private_workers_path(folder_, worker)));
  };
  return std::any_of(workers.living.begin(), workers.living.end(), is_new) ||
         std::any_of(workers.dead.begin(), workers.dead.end(), is_new);
}

bool Spared::has_claim(std::string_view name) const {
  if (!kept_rings_.empty()) return true;
  const std::string path = folder_.path + "/" + std::string(name);
  const std::string note = read_note(path);
  const bool is_of_known = note.empty() ? is_known_rank(number_at(name.substr(claim_begin.size())))
                                        : is_known(number_at(note));
  return !is_of_known && ring::has_living_claimant(path);
}

bool Spared::has(std::string_view name) const noexcept try {
  if (name.starts_with(claim_begin)) return has_claim(name);
  if (name == ring::private_workers_note) {
    return !kept_rings_.empty() || has_private_newcomer();
  }
  if (name == ring::older_run_note) return !kept_rings_.empty();
  std::string ring_name(name);
  if (name.ends_with(list_end)) {
    ring_name.resize(name.size() - list_end.size());
    ring_name += ring_end;
  }
  if (!ring_name.ends_with(ring_end)) return false;
  if (is_among(kept_rings_, ring_name)) return true;
  return !is_among(known_rings_, ring_name) && may_be_newcomers(ring_name);
} catch (...) {
  return true;  // out of memory: it stays, for `traceagent recover`
}

}  // namespace traceagent::process
