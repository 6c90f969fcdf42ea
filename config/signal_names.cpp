#include "config/signal_names.hpp"

#include <array>
#include <csignal>

#include "config/nearest.hpp"
#include "config/plain_text.hpp"

namespace traceagent::config {
namespace {

struct SignalName {
  std::string_view name;
  int number;
};
// Not SEGV and its like: after those nothing in the process can be trusted. KILL cannot be had.
constexpr std::array<SignalName, 7> known_signals{{{"TERM", SIGTERM},
                                                   {"INT", SIGINT},
                                                   {"HUP", SIGHUP},
                                                   {"QUIT", SIGQUIT},
                                                   {"USR1", SIGUSR1},
                                                   {"USR2", SIGUSR2},
                                                   {"XCPU", SIGXCPU}}};

std::string unknown_signal(std::string_view name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const SignalName& known : known_signals) {
    names.push_back(known.name);
    list += (list.empty() ? "" : ", ") + std::string(known.name);
  }
  return in_quotes(name) + " is not one of " + list + "; " + nearest_in_words(name, names);
}

int number_of(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const SignalName& known : known_signals) {
    if (known.name == name) return known.number;
  }
  return 0;
}

}  // namespace

ParsedSignals parse_signals(std::string_view text) {
  ParsedSignals parsed;
  if (trimmed(text).empty()) return parsed;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view name = trimmed(text.substr(0, comma));
    const int number = number_of(name);
    if (number == 0) return {{}, unknown_signal(name)};
    parsed.numbers.push_back(number);
    if (comma == std::string_view::npos) return parsed;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace traceagent::config
