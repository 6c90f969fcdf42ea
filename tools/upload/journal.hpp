#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/trace/journal_reader.hpp"
#include "tools/upload/delivery.hpp"

namespace traceagent::tools {

// Why a file is left out, for who reads a count of them.
inline constexpr const char* left_out_causes =
    "(upload.queue, --forget, another run's or cycle's file, no file)";

// A host's journal in a folder, read as it grows.
class Journal {
 public:
  // Throws std::runtime_error for a journal that cannot be read, or that another user could have
  // written: what it names would be uploaded, and run.
  Journal(std::string folder, std::string path);

  // What has been appended since. False: it cannot be read; there may be more. That there is no
  // such file is none.
  bool read();
  // Why not, by errno, and the remedy.
  std::string unreadable() const;
  // `must_last`: on the disk before it returns. Throws std::runtime_error where it cannot be
  // written.
  void append(const trace::JsonObject& record, bool must_last);

  // Lets go of what is over where it is half of the journal or more, and that has `from_bytes`: a
  // run of weeks appends for weeks. Only for who has the uploader's lock. Where it fails the
  // journal stays as it was. See journal_compaction.cpp.
  void compact(std::uint64_t from_bytes);

  // How often others have asked for something: queued a file, or said that a run has ended.
  std::uint64_t asked() const noexcept { return asked_; }

  // Uploaded, removed here, or left out, and no more in the journal.
  std::uint64_t earlier_done() const noexcept { return earlier_done_; }
  std::uint64_t earlier_removed() const noexcept { return earlier_removed_; }
  // Of all that was ever queued.
  std::uint64_t left_out() const noexcept;
  // Whole records that cannot be read: the disk's fault, or an editor's.
  std::uint64_t damaged() const noexcept { return damaged_; }

  std::vector<Upload>& uploads() noexcept { return uploads_; }
  const std::vector<Upload>& uploads() const noexcept { return uploads_; }
  std::string path_of(const Upload& upload) const { return folder_ + "/" + upload.file; }
  const std::string& path() const noexcept { return path_; }

 private:
  void take(std::string_view line);
  void replace_older(const Upload& upload);
  void note_latest_of_file(const Upload& upload);
  std::vector<bool> which_are_over() const;
  void forget(const std::vector<bool>& over);
  std::string shorter_text(const std::vector<bool>& over) const;
  bool is_worth_compacting(const std::vector<bool>& over) const;
  bool try_to_compact();
  enum class Replaced { yes, no, not_now };
  Replaced replace_by(const std::string& shorter) const;

  const std::string folder_, path_;
  trace::JournalReader reader_;
  std::uint64_t compact_at_ = 0;  // not before it has so many bytes
  std::uint64_t asked_ = 0;
  std::uint64_t earlier_done_ = 0, earlier_removed_ = 0, earlier_left_out_ = 0, damaged_ = 0;
  std::vector<Upload> uploads_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::unordered_map<std::string, std::size_t> latest_;          // of each file and target
  std::unordered_map<std::string, std::size_t> latest_of_file_;  // of ranks' files
};

// Records that are neither uploaded nor gone, by the journal.
std::size_t pending_in(const Journal& journal, const std::set<std::string>& others = {});
// Those of which the server has parts that nobody will join.
std::size_t unwanted_in(const Journal& journal, const std::set<std::string>& others = {});

// "" where none of its records is damaged.
std::string damage_in_words(const Journal& journal);

// Those in the folder, by their paths. Throws std::runtime_error where they cannot be read.
std::vector<std::string> journals_in(const std::string& folder);

}  // namespace traceagent::tools
