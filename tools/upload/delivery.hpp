#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/trace/json_object.hpp"

namespace traceagent::tools {

// A file in the queue, and what has been done for it: see agent/trace/upload_journal.hpp.
struct Upload {
  std::string id;
  std::string file;                // in the folder
  std::string target;              // s3://bucket/key, or an absolute path
  std::vector<std::string> words;  // or a command
  std::string kind;                // "rank" or "node"
  std::string run;
  std::int64_t process = 0;
  std::int64_t keep = -1;
  bool merge = false;
  std::uint64_t part_bytes = 0;  // of the parts that are there; 0: not known

  bool has_ended = false;  // its run, after it was queued
  bool is_done = false;
  bool is_gone = false;      // there is nothing to upload any more
  bool is_left_out = false;  // by its rank: more than upload.queue waited
  bool is_removed = false;   // by output.keep
  bool is_replaced = false;  // the file was queued again since
  bool is_begun = false;     // perhaps it is there already: an uploader was killed over it
  std::uint64_t bytes = 0;
  std::string sha256;
  std::string multipart;             // S3's id of an upload in parts
  std::map<int, std::string> parts;  // number → ETag

  std::uint64_t attempts = 0;  // of this uploader
  bool is_refused = false;     // this uploader will not try again
  // It is there, but the journal could not be told: its ETag, or "".
  std::optional<std::string> delivered;

  bool is_pending() const noexcept { return !is_done && !is_gone; }
  std::string where() const;  // for people
};

struct Delivery {
  // later: the same may go well another time. refused: it needs somebody to repair it.
  enum class Outcome { done, later, refused, gone };
  Outcome outcome = Outcome::done;
  std::string what;  // why; or, where it is done, the ETag
};

// Told of each step that must not be forgotten, before the next is made.
using Note = std::function<void(const trace::JsonObject&)>;

Delivery copy_to_folder(const Upload& upload, const std::string& path);
// An exit code that is not 0 is tried again. So is a command that takes longer than `limit`: it is
// ended with its process group.
Delivery run_command(const Upload& upload, const std::string& path, std::chrono::nanoseconds limit);

}  // namespace traceagent::tools
