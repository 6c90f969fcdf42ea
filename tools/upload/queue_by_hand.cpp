#include "tools/upload/queue_by_hand.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "agent/trace/journal_room.hpp"
#include "agent/trace/upload_journal.hpp"
#include "config/name_template.hpp"
#include "config/plain_text.hpp"
#include "tools/command_line.hpp"

namespace traceagent::tools {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const std::vector<std::string>& inputs) {
  std::vector<fs::path> files;
  for (const std::string& input : inputs) {
    if (!fs::is_directory(input)) {
      files.push_back(fs::absolute(input));
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(input)) {
      const std::string name = entry.path().filename().string();
      const bool is_trace = name.ends_with(".json") || name.ends_with(".json.gz");
      if (is_trace && !name.starts_with('.') && !entry.is_directory())
        files.push_back(fs::absolute(entry.path()));
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

namespace {

// There is no run here whose they could be: the places of several runs would be one.
std::string variable_problem(const std::string& to) {
  const std::vector<std::string> variables = config::variables_in(to);
  const auto named =
      std::ranges::find_if(variables, [](const auto& name) { return !name.empty(); });
  return named == variables.end() ? std::string()
                                  : "{" + *named + "} is known to a job alone: write it out";
}

// The queue is JSON.
std::string name_problem(const std::string& to, const fs::path& file) {
  if (!config::is_utf8(to)) return "it is not UTF-8: name another place";
  if (config::is_utf8(file.filename().string())) return {};
  return config::printable(file.string()) + ": its name is not UTF-8: rename it";
}

}  // namespace

std::optional<std::vector<Delivered>> targets_of(const std::vector<fs::path>& files,
                                                 const std::string& to) {
  std::vector<Delivered> all;
  std::map<std::string, fs::path> taken;
  for (const fs::path& file : files) {
    config::RemoteTarget target = config::remote_target(to, {}, file.filename().string());
    std::string problem = variable_problem(to);
    if (problem.empty()) problem = name_problem(to, file);
    if (problem.empty()) problem = target.problem;
    const bool is_place = target.words.empty();  // a command sees to names by itself
    if (problem.empty() && is_place && files.size() > 1 &&
        to.ends_with(file.extension().string())) {
      problem = "one name for several files: end it with /";
    }
    if (problem.empty() && is_place) {
      const auto [other, is_new] = taken.try_emplace(target.place, file);
      if (!is_new) {
        problem = other->second.string() + " and " + file.string() +
                  " would be one: upload them to folders of their own";
      }
    }
    if (!problem.empty()) {
      say("--to: " + config::printable(config::shown_target(to)) + ": " + problem);
      return std::nullopt;
    }
    all.push_back({file, std::move(target)});
  }
  return all;
}

std::string own_journal(const std::string& folder) {
  char name[256] = {};
  return trace::journal_path(folder, gethostname(name, sizeof name - 1) == 0 ? name : "");
}

void queue(const Delivered& each) {
  trace::JsonObject record;
  record.add("queue", trace::new_upload_id()).add("file", each.file.filename().string());
  if (each.target.words.empty()) {
    record.add("target", each.target.place);
  } else {
    record.add("words", each.target.words);
  }
  const std::string journal = own_journal(each.file.parent_path().string());
  const std::string problem = trace::append_record(journal, record.add("kind", "hand"));
  if (!problem.empty()) throw std::runtime_error("upload: " + problem);
  trace::reserve_room(journal);
}

}  // namespace traceagent::tools
