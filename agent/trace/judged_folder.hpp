#pragma once

#include <string>
#include <string_view>

namespace traceagent::trace {

// A folder of files that this process writes for itself to read, every line of which it has judged
// (json_syntax.hpp): while this lives, TraceReader does not judge them again. Made and destroyed in
// one thread, while no other reads.
class JudgedFolder {
 public:
  explicit JudgedFolder(std::string folder);
  ~JudgedFolder();
  JudgedFolder(const JudgedFolder&) = delete;
  JudgedFolder& operator=(const JudgedFolder&) = delete;

  // Whether the file lies directly within one.
  [[nodiscard]] static bool holds(std::string_view path);

 private:
  std::string folder_;
  JudgedFolder* next_;
};

}  // namespace traceagent::trace
