#include "tools/recover_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <thread>

#include "agent/drain/recover_ring.hpp"
#include "agent/ring/recovery_note.hpp"
#include "agent/ring/ring_copy.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/queued_files.hpp"
#include "agent/trace/upload_journal.hpp"
#include "config/command_words.hpp"
#include "tools/command_line.hpp"
#include "tools/dead_rings.hpp"
#include "tools/followed_run.hpp"
#include "tools/losses.hpp"
#include "tools/node_files.hpp"
#include "tools/run_watch.hpp"
#include "tools/temporary_files.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

struct Outcome {
  bool is_good = false;
  bool is_unwritten = false;  // it was read, and not all could be written
  bool is_of_living = false;  // a copy, whose run goes on
};

bool is_news(const drain::Recovered& recovered) {
  return recovered.nothing.empty() || recovered.lost > 0 || !recovered.problems.empty() ||
         !recovered.notes.empty();
}

// Prints what came of it. `ring`: its file's name.
Outcome recover_one(const FollowedRun& run, const std::string& ring, const RunRecovery& how) {
  const std::string held = run.held() + "/" + ring;
  const std::string path = run.shown(held);
  // In the job's own folder its files would be there twice.
  if (!how.has_output && ring::is_copy_of_living(held)) {
    say("ring: " + path +
        ": its process still runs, this is a copy: name a folder with --output, or wait");
    open_log();
    return {.is_of_living = true};
  }
  const drain::Recovered recovered = drain::recover_ring(held, how.any_size);
  for (const drain::RecoveredFile& file : recovered.files) {
    std::cout << file.path << ": rank " << recovered.rank << ", " << in_words(file.events, "event")
              << " recovered\n";
  }
  if (recovered.queued > 0) {
    std::cout << path << ": rank " << recovered.rank << ": " << in_words(recovered.queued, "file")
              << " waited for room in the queue of uploads: queued\n";
  }
  if (recovered.lost > 0) {
    std::cout << "missing: rank " << recovered.rank << ": " << in_words(recovered.lost, "event")
              << " found no room in the ring: raise ring.size\n";
  }
  if (recovered.overwritten > 0) {
    std::cout << "rank " << recovered.rank << ": " << in_words(recovered.overwritten, "older event")
              << " gave way to newer ones (ring.full: overwrite): a larger ring.size keeps more\n";
  }
  if (!recovered.nothing.empty()) {
    std::cout << path << ": nothing to recover: " << recovered.nothing << "\n";
  }
  for (const std::string& problem : recovered.problems) {
    say(run.shown(problem));
  }
  for (const std::string& note : recovered.notes) {
    say(run.shown(note));
  }
  if (is_news(recovered)) open_log();
  const bool is_good = recovered.problems.empty();
  return {is_good, !is_good && recovered.rank >= 0};
}

// The rank that a ring's name tells, <rank>-<pid>-<n>.ring: it may be all of it that can be read.
std::int64_t rank_in_name(const std::string& ring) {
  return std::strtoll(ring.c_str(), nullptr, 10);
}

// False when something is wrong. Where no file was wanted or there is nothing to join, says how.
// `left`: ranks of whose rings some could not be recovered.
bool join_ranks(const std::vector<std::string>& rings, const std::set<std::string>& folders,
                const std::set<std::int64_t>& left) {
  const NodeFile node = make_node_file(rings);
  if (node.path.empty()) {
    for (const std::string& folder : folders) {
      std::cout << "to join the ranks: traceagent merge " << config::shell_word(folder) << "\n";
    }
    return true;
  }
  for (const std::string& note : node.notes) {
    say(note);
  }
  if (!node.problem.empty()) {
    say(node.problem);
    return false;
  }
  std::cout << node.path << ": " << node.summary << "\n";
  for (const std::int64_t rank : node.missing_ranks) {
    std::cout << "missing: rank " << rank
              << (left.contains(rank) ? ": its ring was not recovered: see above\n"
                                      : ": nothing of it was found\n");
  }
  if (!node.missing_of_node.empty()) {
    for (const std::int64_t rank : left) {
      if (node.ranks.contains(rank)) continue;
      std::cout << "missing: rank " << rank << ": its ring was not recovered: see above\n";
    }
    std::cout << "missing: " << node.missing_of_node << ": no file is theirs\n";
  }
  if (!node.include.empty()) {
    std::cout << "missing: other profilers' traces (merge.include: " << node.include
              << "): add them by traceagent merge " << config::shell_word(node.path) << " -o "
              << config::shell_word(node.path) << " --force --align none --include PATTERN"
              << (node.include_once.empty()
                      ? ""
                      : " --include-once " + config::shell_word(node.include_once))
              << "\n";
  }
  return node.notes.empty();
}

// All hosts'; a folder of them may have locks alone.
std::vector<std::string> queues_of(const std::string& folder) {
  std::vector<std::string> queues;
  std::error_code error;
  fs::directory_iterator at(trace::upload_folder(folder), error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".journal") queues.push_back(at->path().string());
  }
  return queues;
}

// Recovered files that the job would have uploaded are queued.
void tell_of_uploads(const std::set<std::string>& folders, bool is_keeper) {
  for (const std::string& folder : folders) {
    const std::vector<std::string> queues = queues_of(folder);
    const bool is_waiting = std::any_of(queues.begin(), queues.end(), [](const std::string& queue) {
      return trace::pending_uploads(queue) > 0;
    });
    // It also removes what is there and not to be kept.
    if (is_keeper && !queues.empty()) {
      start_uploader(folder);
    } else if (!is_keeper && is_waiting) {
      std::cout << "to upload what is queued: traceagent upload --resume "
                << config::shell_word(folder) << "\n";
    }
  }
}

enum class Turn { ours, not_needed, never };

// An epilogue must not hang where the keeper does (an output folder on a server that is away).
// `rings`: those that are gone by then are taken off.
Turn wait_for_turn(ring::RecoveryNote& note, const FollowedRun& run,
                   std::vector<std::string>& rings) {
  constexpr auto look_period = std::chrono::milliseconds(50);
  constexpr auto patience = std::chrono::minutes(10);
  const auto end = std::chrono::steady_clock::now() + patience;
  const std::string name = run.name();
  std::string other;
  const auto is_gone = [&](const std::string& ring) {
    return access((run.held() + "/" + ring).c_str(), F_OK) != 0 && errno == ENOENT;
  };
  while (!note.take()) {
    const bool is_first = other.empty();
    other = note.holder() == 0 ? "another process" : "process " + std::to_string(note.holder());
    if (is_first) {
      std::cout << name << ": " << other << " recovers it: waiting, ten minutes at most"
                << std::endl;
    }
    if (std::chrono::steady_clock::now() >= end) {
      say(name + ": " + other + " still recovers it: end it, or wait, and recover again");
      return Turn::never;
    }
    std::this_thread::sleep_for(look_period);
  }
  // It may also have been done before we asked.
  std::erase_if(rings, is_gone);
  if (!rings.empty()) return Turn::ours;
  std::cout << name << ": " << (other.empty() ? "another process" : other) << " has recovered it\n";
  return Turn::not_needed;
}

std::vector<std::string> in_folder(const std::string& folder,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(folder + "/" + name);
  return paths;
}

// Its rings, by their files' names.
struct RecoveredRings {
  std::vector<std::string> done;
  std::set<std::int64_t> left;  // of these ranks some stay
  bool is_any_unwritten = false;
  bool is_any_of_living = false;
  std::set<std::string> folders;  // of their processes' files
};

RecoveredRings recover_each(const FollowedRun& run, const std::vector<std::string>& rings,
                            const RunRecovery& how) {
  RecoveredRings recovered;
  for (const std::string& ring : rings) {
    const Outcome outcome = recover_one(run, ring, how);
    if (outcome.is_good) {
      recovered.done.push_back(ring);
    } else {
      recovered.left.insert(rank_in_name(ring));
    }
    recovered.is_any_unwritten |= outcome.is_unwritten;
    recovered.is_any_of_living |= outcome.is_of_living;
    // Also what it wrote itself: its run may have ended with nobody left to merge.
    for (const std::string& file : ring::written_files(run.held() + "/" + ring)) {
      recovered.folders.insert(fs::path(file).parent_path().string());
    }
  }
  return recovered;
}

}  // namespace

void tell_of_private_workers(const ring::PrivateKilled& killed) {
  if (killed.count() == 0) return;
  open_log();
  std::cout << "missing: " << ring::in_words(killed)
            << " of the job had recorded in private memory and "
            << (killed.count() == 1 ? "was" : "were")
            << " killed: what was not written yet "
               "is lost\n";
}

// The rings go last of all: whoever is killed in here leaves all that a second run needs.
bool recover_run(const std::string& folder, std::vector<std::string> rings,
                 const RunRecovery& how) {
  const FollowedRun run(folder);
  if (is_others_folder(run.held())) {
    say("ring: " + run.name() +
        ": belongs to another user: recover it as that user, or copy its rings into a folder of "
        "yours");
    open_log();
    return false;
  }
  ring::RecoveryNote note(run.held());
  const Turn turn = wait_for_turn(note, run, rings);
  if (turn != Turn::ours) return turn == Turn::not_needed;
  const RecoveredRings recovered = recover_each(run, rings, how);
  bool ok = recovered.done.size() == rings.size();
  if (recovered.is_any_unwritten && !how.has_output) {
    std::cout << "where its folder cannot be written: traceagent recover "
              << config::shell_word(run.name()) << " --output FOLDER\n";
  }
  tell_of_private_workers(private_workers_killed(run.held()));
  for (const std::string& written : recovered.folders) remove_old_temporaries(written);
  const std::vector<std::string> paths = in_folder(run.held(), rings);
  if (!how.no_merge && !recovered.is_any_of_living && is_whole_dead_run(paths)) {
    if (!join_ranks(paths, recovered.folders, recovered.left)) return false;
  } else {
    for (const std::string& written : recovered.folders) {
      std::cout << "to join the ranks: traceagent merge " << config::shell_word(written) << "\n";
    }
  }
  tell_of_uploads(recovered.folders, how.is_keeper);
  if (!how.keep) {
    for (const std::string& ring : recovered.done) {
      // The next run of its key may take the name between two of them.
      const std::string now = run.name();
      if (now.empty()) break;
      const std::string problem = remove_dead_ring(now + "/" + ring);
      if (!problem.empty()) say(problem);
      ok = problem.empty() && ok;
    }
  }
  return ok;
}

}  // namespace traceagent::tools
