#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "agent/trace/made_events.hpp"

namespace traceagent::trace {

// A folder of files that this process writes for itself to read, every line of which it has judged
// (json_syntax.hpp): while this lives, TraceReader does not judge them again. Made and destroyed in
// one thread, while no other reads.
class JudgedFolder {
 public:
  using MakeEvents = std::function<std::unique_ptr<MadeEvents>()>;

  explicit JudgedFolder(std::string folder);
  ~JudgedFolder();
  JudgedFolder(const JudgedFolder&) = delete;
  JudgedFolder& operator=(const JudgedFolder&) = delete;

  // Each reader of this file, which lies directly within and has no events, is given those that
  // `make` makes, of so many bytes. While no other thread reads.
  void make_events_of(const std::string& path, std::uint64_t bytes, MakeEvents make);

  // Whether the file lies directly within one.
  [[nodiscard]] static bool holds(std::string_view path);
  // Null: the file has its events itself.
  [[nodiscard]] static std::unique_ptr<MadeEvents> events_of(std::string_view path);
  // Of how many bytes they are made; 0: of none.
  [[nodiscard]] static std::uint64_t bytes_of_events(std::string_view path);

 private:
  struct Made {
    std::uint64_t bytes;
    MakeEvents make;
  };

  static const JudgedFolder* folder_of(std::string_view path);
  // Null: there is none.
  static const Made* made_of(std::string_view path);

  std::string folder_;
  std::map<std::string, Made, std::less<>> made_;
  JudgedFolder* next_;
};

}  // namespace traceagent::trace
