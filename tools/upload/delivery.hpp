#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
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
  std::string index;             // index_name.hpp: its stem; empty: none is told
  std::uint64_t part_bytes = 0;  // of the parts that are there; 0: not known

  bool has_ended = false;  // its run, after it was queued
  bool is_done = false;
  bool is_gone = false;       // there is nothing to upload any more
  bool is_left_out = false;   // for upload.queue, by --forget, or since it is nowhere any more
  bool is_removed = false;    // by output.keep
  bool is_replaced = false;   // the file was queued again since
  bool is_lost = false;       // and by another run: what was in it is nowhere any more
  bool is_older = false;      // a rank's: its file was queued again since, for whatever place
  std::string why;            // it is gone, or left out
  bool is_begun = false;      // perhaps it is there already: an uploader was killed over it
  bool is_join_sent = false;  // of this uploader: perhaps its parts are one object
  std::uint64_t bytes = 0;
  std::string sha256;
  std::string multipart;             // S3's id of an upload in parts
  std::map<int, std::string> parts;  // number → ETag
  // Such ids of which nobody will join the parts, and the server may have some still.
  std::set<std::string> to_abandon;

  std::int64_t modified_ns = 0;  // the file that was delivered; 0: not known
  std::int64_t queued_ns = 0;    // the same of the file that was queued
  std::uint64_t attempts = 0;    // of this uploader
  std::size_t most_parts = 0;    // that it had there at a time
  bool is_refused = false;       // this uploader will not try again
  // It is there, but the journal could not be told: its ETag, or "".
  std::optional<std::string> delivered;
  std::optional<std::chrono::steady_clock::time_point> locked_since;  // by another process
  bool is_lock_told = false;

  bool is_pending() const noexcept { return !is_done && !is_gone; }
  // There is something to be uploaded. What was queued again has another's contents by now.
  bool is_waiting() const noexcept { return is_pending() && !is_replaced && !is_older; }
  // What was in it is nowhere any more, and nobody asked for that.
  bool is_overwritten() const noexcept {
    return is_pending() && (is_lost || (is_older && !is_replaced));
  }
  // output.keep counts it, or will.
  bool is_kept_here() const {
    return keep >= 0 && !is_gone && !is_removed && !is_older && kind == "rank";
  }
  bool has_unwanted_parts() const {
    return target.starts_with("s3://") && (!to_abandon.empty() || (is_gone && !multipart.empty()));
  }
  // The server has none that are to be joined.
  void forget_parts() {
    multipart.clear();
    parts.clear();
    is_join_sent = false;
  }
  std::string where() const;            // for people
  std::string file_and_target() const;  // of two uploads with one such key only the later is wanted
};

struct Delivery {
  // later: the same may go well another time. refused: it needs somebody to repair it. locked: by
  // another process, which may be its rank, about to remove it: nothing has failed. replaced: what
  // was queued was overwritten.
  enum class Outcome { done, later, refused, gone, locked, replaced };
  Outcome outcome = Outcome::done;
  std::string what;  // why; or, where it is done, the ETag
  bool is_of_place =
      false;  // refused, and likely so all others that go there: the keys, the bucket
};

// Told of each step that must not be forgotten, before the next is made.
using Note = std::function<void(const trace::JsonObject&)>;

// `is_alone`: no other uploader may be at work on it.
Delivery copy_to_folder(const Upload& upload, const std::string& path, bool is_alone);
// What a killed uploader left of such a copy: nobody will go on with it.
void remove_half_copy(const Upload& upload);
// An exit code that is not 0 is tried again. So is a command that takes longer than `limit`: it is
// ended with its process group.
Delivery run_command(const Upload& upload, const std::string& path, std::chrono::nanoseconds limit);

}  // namespace traceagent::tools
