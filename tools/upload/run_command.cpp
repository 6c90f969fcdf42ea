#include <sys/wait.h>

#include "tools/upload/child_process.hpp"
#include "tools/upload/delivery.hpp"

namespace traceagent::tools {

namespace {

constexpr std::string_view place_of_file = "{}";

std::vector<std::string> with_file(std::vector<std::string> words, const std::string& path) {
  bool is_named = false;
  for (std::string& word : words) {
    for (std::size_t at = word.find(place_of_file); at != std::string::npos;
         at = word.find(place_of_file, at + path.size())) {
      word.replace(at, place_of_file.size(), path);
      is_named = true;
    }
  }
  if (!is_named) words.push_back(path);
  return words;
}

}  // namespace

Delivery run_command(const Upload& upload, const std::string& path,
                     std::chrono::nanoseconds limit) {
  const std::vector<std::string> words = with_file(upload.words, path);
  const ChildEnd end = run_child(words, limit);
  if (end.is_success()) return {};
  // So says a shell, or a command that starts another, of what is not there: no try again helps.
  constexpr int not_found = 127;
  const bool is_not_found = WIFEXITED(end.status) && WEXITSTATUS(end.status) == not_found;
  if (end.error_number != 0 || (end.in_time && is_not_found)) {
    return {Delivery::Outcome::refused,
            words.front() + ": " + end.problem() + ": name a command that is in PATH"};
  }
  if (end.in_time) return {Delivery::Outcome::later, end.problem()};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  return {Delivery::Outcome::later, "it was ended after " + std::to_string(seconds) +
                                        " s: raise upload.command_time (by hand: --command-time)"};
}

}  // namespace traceagent::tools
