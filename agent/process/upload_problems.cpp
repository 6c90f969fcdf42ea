#include "agent/process/upload_problems.hpp"

#include <algorithm>
#include <utility>

#include "agent/process/waiting_uploads.hpp"
#include "config/command_words.hpp"

namespace traceagent::process {
namespace {

constexpr std::string_view mark_of_place = "place-";

std::string what_waits(const std::string& journal, const std::string& folder) {
  WaitingUploads queued(journal);
  queued.read();
  const std::size_t files = queued.all();
  const std::string wait = std::to_string(files) + (files == 1 ? " file waits" : " files wait");
  return (files == 0 ? "" : ": " + wait) + ": traceagent upload --resume " +
         config::shell_word(folder) + (queued.has_commands() ? " --allow-commands" : "");
}

}  // namespace

std::vector<std::string> upload_problems(std::string_view text, const std::string& journal,
                                         const std::string& folder) {
  std::vector<std::string> lines;
  bool has_place = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(mark_of_place)) {
      lines.emplace_back(line);
    } else if (!std::exchange(has_place, true)) {
      const std::size_t mark_end = std::min(line.find(' '), line.size() - 1) + 1;
      lines.push_back(std::string(line.substr(mark_end)) + what_waits(journal, folder));
    }
  }
  return lines;
}

}  // namespace traceagent::process
