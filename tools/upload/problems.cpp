#include "tools/upload/problems.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "agent/event/hash.hpp"
#include "tools/upload/open_file.hpp"

namespace traceagent::tools {

namespace {

constexpr std::string_view mark_begin = "place-";

std::string mark_of(const std::string& place) {
  return std::string(mark_begin) + std::to_string(event::hash_text(place));
}

// The folder may be another user's, and what has the name a pipe, which would hold us: it has no
// places to be read from.
std::string text_of(const std::string& path) {
  constexpr std::size_t longest_text = 1 << 20;
  std::string text;
  const OpenFile file(path, O_RDONLY | O_NONBLOCK);
  char buffer[4096];
  ssize_t got = file.fd() >= 0 ? 1 : 0;
  while (got > 0 && text.size() < longest_text) {
    got = pread(file.fd(), buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream text(text_of(path));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// Mark and problem; no mark: none of ours.
std::pair<std::string, std::string> parts_of(const std::string& line) {
  const std::size_t space = line.starts_with(mark_begin) ? line.find(' ') : std::string::npos;
  if (space == std::string::npos) return {{}, line};
  return {line.substr(0, space), line.substr(space + 1)};
}

}  // namespace

Problems::Problems(const std::string& path) {
  for (const std::string& line : lines_of(path)) {
    auto parts = parts_of(line);
    if (!parts.first.empty() && all_.size() < most) all_.push_back(std::move(parts));
  }
}

void Problems::note(const std::string& place, const std::string& problem) {
  forget(place);
  all_.emplace(all_.begin(), mark_of(place), problem);
  if (all_.size() > most) all_.pop_back();
}

bool Problems::has(const std::string& place) const {
  const std::string mark = mark_of(place);
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& each) { return each.first == mark; });
}

void Problems::forget(const std::string& place) {
  const std::string mark = mark_of(place);
  std::erase_if(all_, [&](const auto& each) { return each.first == mark; });
}

void Problems::keep(const std::set<std::string>& places) {
  std::set<std::string> marks;
  for (const std::string& place : places) marks.insert(mark_of(place));
  std::erase_if(all_, [&](const auto& each) { return !marks.contains(each.first); });
}

std::string Problems::text() const {
  std::string lines;
  for (const auto& [mark, problem] : all_) {
    lines += mark;
    lines += " " + problem + "\n";
  }
  return lines;
}

std::vector<ProblemLine> problem_lines(const std::string& path) {
  std::vector<ProblemLine> problems;
  for (const std::string& line : lines_of(path)) {
    const auto [mark, problem] = parts_of(line);
    problems.push_back({problem, !mark.empty()});
  }
  return problems;
}

}  // namespace traceagent::tools
