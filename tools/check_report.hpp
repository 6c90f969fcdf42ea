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
  // What a reader asks of the small ones; empty where there are none.
  [[nodiscard]] const char* legend() const {
    return lacks_help_ ? "(A small no is what would help and is not here: nothing went wrong.)\n"
                       : "";
  }

 private:
  void line(const char* answer, const std::string& what, const std::string& detail);

  std::string text_;
  int problems_ = 0;
  bool lacks_help_ = false;
};

// The parts of the page.
struct AgentLibrary;
void check_library(const AgentLibrary& library, CheckReport& report);
void check_doors(const AgentLibrary& library, CheckReport& report);
void check_places(CheckReport& report);  // options, folders, memory

}  // namespace traceagent::tools
