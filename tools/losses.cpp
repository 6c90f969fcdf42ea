#include "tools/losses.hpp"

namespace traceagent::tools {

std::string in_words(std::uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string losses_in_words(const trace::MergeReport& report) {
  const trace::Losses losses = trace::losses_of(report);
  std::string text;
  if (losses.events != 0) {
    text += ", " + in_words(losses.events, "event") + " lost (" + losses.causes + ")";
  }
  return losses.others.empty() ? text : text + ", " + losses.others;
}

}  // namespace traceagent::tools
