#include "tools/upload/status.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include "agent/trace/uploader_lock.hpp"
#include "config/command_words.hpp"
#include "tools/upload/problems.hpp"
#include "tools/upload/uploader.hpp"

namespace traceagent::tools {

namespace {

std::string left_out_in_words(const Journal& journal) {
  const std::uint64_t files = journal.left_out();
  return files == 0 ? "" : ", " + std::to_string(files) + " left out " + left_out_causes;
}

bool print_journal(const std::string& folder, const std::string& path) {
  const Journal journal(folder, path);
  const auto& uploads = journal.uploads();
  const auto count = [&](bool Upload::*what) {
    return std::count_if(uploads.begin(), uploads.end(),
                         [&](const Upload& each) { return each.*what && !each.is_replaced; });
  };
  const std::size_t waiting = pending_in(journal), unwanted = unwanted_in(journal);
  const std::string stem = path.substr(0, path.rfind('.'));
  const bool is_at_work = trace::uploader_at_work(stem + ".lock") == trace::Holder::another;
  std::cout << path << ": " << std::uint64_t(count(&Upload::is_done)) + journal.earlier_done()
            << " uploaded, " << waiting << " waiting, "
            << std::uint64_t(count(&Upload::is_removed)) + journal.earlier_removed()
            << " removed here" << left_out_in_words(journal)
            << (is_at_work ? "; an uploader is at work" : "") << "\n";
  if (const std::string words = damage_in_words(journal); !words.empty()) {
    std::cout << path << ": " << words << "\n";
  }
  for (const Upload& upload : uploads) {
    if (!upload.is_waiting()) continue;
    std::cout << "waiting: " << upload.file << " -> " << upload.where();
    if (!upload.parts.empty()) std::cout << ", " << upload.parts.size() << " parts are there";
    std::cout << "\n";
  }
  for (const Upload& upload : uploads) {
    if (!upload.has_unwanted_parts()) continue;
    std::cout << "waiting: parts that nobody will join: " << upload.where() << "\n";
  }
  const bool has_commands = std::any_of(uploads.begin(), uploads.end(), [](const Upload& each) {
    return each.is_pending() && !each.words.empty();
  });
  if (has_commands) {
    std::cout << "commands are run by: traceagent upload --resume " << config::shell_word(folder)
              << " --allow-commands\n";
  }
  // The uploader that is at work takes it back when it has done all.
  const bool is_over = waiting == 0 && unwanted == 0 && is_at_work;
  std::string told_once = what_waits(journal, folder);  // behind the newest
  for (const ProblemLine& problem : problem_lines(is_over ? "" : stem + ".problem")) {
    std::cout << "problem: " << problem.text;
    if (problem.is_of_place) std::cout << std::exchange(told_once, {});
    std::cout << "\n";
  }
  return waiting == 0 && unwanted == 0 && journal.damaged() == 0;
}

}  // namespace

bool print_status(const std::string& folder) {
  bool is_done = true;
  const std::vector<std::string> journals = journals_in(folder);
  if (journals.empty()) std::cout << folder << ": no uploads are queued there\n";
  for (const std::string& path : journals) is_done = print_journal(folder, path) && is_done;
  return is_done;
}

}  // namespace traceagent::tools
