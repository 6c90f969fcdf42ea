#pragma once

#include <string>

namespace traceagent::tools {

// The page of "traceagent check". `detail` and `remedy` are one line each (no remedy
// where the detail has one already). A helpful thing that is not there does not keep the agent from
// working.
class CheckReport {
 public:
  void section(const std::string& title);
  void yes(const std::string& what, const std::string& detail);
  void no(const std::string& what, const std::string& detail, const std::string& remedy);
  void missing_help(const std::string& what, const std::string& detail, const std::string& remedy);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] int problems() const { return problems_; }

 private:
  void line(const char* answer, const std::string& what, const std::string& detail);

  std::string text_;
  int problems_ = 0;
};

// The parts of the page.
struct AgentLibrary;
void check_library(const AgentLibrary& library, CheckReport& report);
void check_doors(const AgentLibrary& library, CheckReport& report);
void check_places(CheckReport& report);  // options, folders, memory

}  // namespace traceagent::tools
