#pragma once
// What an uploader leaves out since it is nowhere any more.

#include <cstdint>
#include <map>
#include <string>

#include "tools/upload/journal.hpp"

namespace traceagent::tools {

// Why, in the journal and for people.
inline constexpr char of_another_run[] = "another run's file has its name";
inline constexpr char written_again[] = "a later cycle's file has its name";
inline constexpr char not_there[] = "the file is not there any more";

// "a.json -> s3://bucket/a.json"
std::string from_to(const Upload& upload);

// Of the newest run, whoever left it out, and of what its uploader goes on with.
class LeftOut {
 public:
  explicit LeftOut(const Journal& journal);
  void add(const Upload& upload, const std::string& why);
  // A line for each cause; none where nothing was left out.
  [[nodiscard]] std::string lines() const;

 private:
  struct Files {
    std::uint64_t count = 0;
    std::string first;
  };
  std::map<std::string, Files> causes_;
};

}  // namespace traceagent::tools
