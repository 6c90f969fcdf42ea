#include "tools/check_report.hpp"

namespace traceagent::tools {

void CheckReport::section(const std::string& title) {
  text_ += (text_.empty() ? "" : "\n") + title + "\n";
}

void CheckReport::yes(const std::string& what, const std::string& detail) {
  line("yes", what, detail);
}

void CheckReport::no(const std::string& what, const std::string& detail,
                     const std::string& remedy) {
  ++problems_;
  line("NO ", what, detail + (remedy.empty() ? "" : ": " + remedy));
}

void CheckReport::missing_help(const std::string& what, const std::string& detail,
                               const std::string& remedy) {
  lacks_help_ = true;
  line("no ", what, detail + (remedy.empty() ? "" : ": " + remedy));
}

void CheckReport::line(const char* answer, const std::string& what, const std::string& detail) {
  constexpr std::size_t column = 22;
  const std::string gap(what.size() < column ? column - what.size() : 1, ' ');
  text_ += "  " + std::string(answer) + "  " + what + gap + detail + "\n";
}

}  // namespace traceagent::tools
