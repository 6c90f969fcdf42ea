#include "tools/upload/journal.hpp"

#include <fcntl.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <set>
#include <stdexcept>

#include "agent/trace/upload_journal.hpp"
#include "config/command_words.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;
using Record = simdjson::dom::object;

std::string text_of(const Record& record, const char* name) {
  std::string_view value;
  return record[name].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
}

std::int64_t number_of(const Record& record, const char* name, std::int64_t otherwise) {
  std::int64_t value = 0;
  return record[name].get(value) == simdjson::SUCCESS ? value : otherwise;
}

bool is_true(const Record& record, const char* name) {
  bool value = false;
  return record[name].get(value) == simdjson::SUCCESS && value;
}

// Only what lies in the folder: a journal that somebody made up reads no other file.
bool is_inside(const std::string& file) {
  const fs::path path(file);
  return !file.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

Upload upload_of(const Record& record) {
  Upload upload;
  upload.id = text_of(record, "queue");
  upload.file = text_of(record, "file");
  upload.target = text_of(record, "target");
  simdjson::dom::array words;
  if (record["words"].get(words) == simdjson::SUCCESS) {
    for (const auto word : words) {
      std::string_view text;
      if (word.get(text) == simdjson::SUCCESS) upload.words.emplace_back(text);
    }
  }
  upload.kind = text_of(record, "kind");
  upload.run = text_of(record, "run");
  upload.process = number_of(record, "process", 0);
  upload.keep = number_of(record, "keep", -1);
  upload.merge = is_true(record, "merge");
  upload.queued_ns = number_of(record, "modified", 0);
  upload.index = text_of(record, "index");
  if (upload.index.find('/') != std::string::npos) upload.index.clear();
  upload.has_ended = is_true(record, "ended");
  upload.is_gone = !is_inside(upload.file) || (upload.target.empty() && upload.words.empty());
  return upload;
}

void take_progress(Upload& upload, const Record& record, std::string_view what) {
  if (what == "begin") {
    upload.is_begun = true;
    upload.bytes = static_cast<std::uint64_t>(number_of(record, "bytes", 0));
    upload.sha256 = text_of(record, "sha256");
    upload.multipart.clear();
    upload.parts.clear();
  } else if (what == "multipart") {
    upload.multipart = text_of(record, "upload");
    upload.part_bytes = static_cast<std::uint64_t>(number_of(record, "part_bytes", 0));
    upload.parts.clear();
  } else if (what == "part") {
    upload.parts[static_cast<int>(number_of(record, "number", 0))] = text_of(record, "etag");
  } else if (what == "abandon") {
    upload.to_abandon.insert(text_of(record, "upload"));
    if (upload.multipart == text_of(record, "upload")) {
      upload.multipart.clear();
      upload.parts.clear();
    }
  } else if (what == "abandoned") {
    upload.to_abandon.erase(text_of(record, "upload"));
  } else if (what == "done") {
    upload.is_done = true;
    upload.modified_ns = number_of(record, "modified", 0);
    upload.multipart.clear();
  } else if (what == "gone") {
    upload.is_gone = true;
    upload.is_refused = false;  // the file was; its parts are asked for by themselves
    upload.is_left_out |= is_true(record, "left_out");
    upload.why = text_of(record, "why");
  } else if (what == "removed") {
    upload.is_removed = true;
  }
}

// Of all that was queued before it, or of these files alone.
void take_end(std::vector<Upload>& uploads, const Record& record, std::string_view run) {
  std::set<std::string_view> files;
  simdjson::dom::array named;
  const bool is_of_all = record["files"].get(named) != simdjson::SUCCESS;
  if (!is_of_all) {
    for (const auto file : named) {
      std::string_view name;
      if (file.get(name) == simdjson::SUCCESS) files.insert(name);
    }
  }
  for (Upload& upload : uploads) {
    upload.has_ended |= upload.run == run && (is_of_all || files.count(upload.file) != 0);
  }
}

bool is_of_other_run(const Upload& one, const Upload& other) {
  return !one.run.empty() && !other.run.empty() && one.run != other.run;
}

// Who may write the folder may put another journal in this one's place.
bool is_safe(const std::string& folder) {
  struct stat facts {};
  if (lstat(folder.c_str(), &facts) != 0) return true;  // none yet
  return S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string not_own(const std::string& path) {
  return "upload: " + path +
         ": others may write it, or it is not yours: see what it names, then upload by hand: "
         "traceagent upload FILE --to TARGET";
}

}  // namespace

std::string Upload::file_and_target() const {
  std::string key = file + '\0' + target;
  for (const std::string& word : words) key += '\0' + word;
  return key;
}

std::string Upload::where() const {
  if (words.empty()) return target;
  return "exec:" + words.front();
}

Journal::Journal(std::string folder, std::string path)
    : folder_(std::move(folder)),
      path_(std::move(path)),
      reader_(path_, trace::JournalReader::no_limit, trace::JournalReader::From::own) {
  const std::string its_folder = fs::path(path_).parent_path().string();
  if (!is_safe(its_folder)) throw std::runtime_error(not_own(its_folder));
  if (!read()) throw std::runtime_error(unreadable());
}

std::string Journal::unreadable() const {
  if (errno == EPERM) return not_own(path_);
  return "upload: " + path_ + ": cannot be read: " + std::strerror(errno) +
         ": traceagent upload --resume " + config::shell_word(folder_);
}

// What a shorter one lacks is known from before.
bool Journal::read() {
  return reader_.read([this](std::string_view line) { take(line); }, [] {});
}

void Journal::take(std::string_view line) {
  if (line.front() != '{') return;
  thread_local simdjson::dom::parser parser;
  Record record;
  const simdjson::error_code error = parser.parse(line.data(), line.size()).get(record);
  if (error == simdjson::MEMALLOC) {
    // Such a parser may crash with the next line (3.1), and a line passed over would be a file not
    // sent.
    parser = simdjson::dom::parser();
    throw std::bad_alloc();
  }
  if (error != simdjson::SUCCESS) {
    // What was cut, by a kill or a full disk, has no end.
    const std::size_t end = line.find_last_not_of("\r\n");
    damaged_ += end != std::string_view::npos && line[end] == '}' ? 1 : 0;
    return;
  }
  const auto first = record.begin();
  std::string_view value;
  if (first == record.end() || first.value().get(value) != simdjson::SUCCESS) return;
  const std::string_view what = first.key();
  if (what == "queue" || what == "ended") ++asked_;
  if (what == "compacted") {
    earlier_done_ = static_cast<std::uint64_t>(number_of(record, "done", 0));
    earlier_removed_ = static_cast<std::uint64_t>(number_of(record, "removed", 0));
    earlier_left_out_ = static_cast<std::uint64_t>(number_of(record, "left_out", 0));
    damaged_ = static_cast<std::uint64_t>(number_of(record, "damaged", 0));
  } else if (what == "ended") {
    take_end(uploads_, record, value);
  } else if (what == "queue") {
    Upload upload = upload_of(record);
    if (const auto at = by_id_.find(upload.id); at != by_id_.end()) {
      uploads_[at->second].has_ended |= upload.has_ended;
      return;
    }
    replace_older(upload);
    note_latest_of_file(upload);
    by_id_[upload.id] = uploads_.size();
    uploads_.push_back(std::move(upload));
  } else if (const auto at = by_id_.find(std::string(value)); at != by_id_.end()) {
    take_progress(uploads_[at->second], record, what);
  }
}

// The file was written again since (a node's file that a late rank was added to): one upload, of
// what it is now.
void Journal::replace_older(const Upload& upload) {
  const auto [at, is_new] = latest_.try_emplace(upload.file_and_target(), uploads_.size());
  if (is_new) return;
  Upload& older = uploads_[at->second];
  older.is_replaced = older.is_pending();
  older.is_lost = older.is_replaced && is_of_other_run(older, upload);
  at->second = uploads_.size();
}

// What is here is the later one's, whatever its place.
void Journal::note_latest_of_file(const Upload& upload) {
  if (upload.kind != "rank") return;
  const auto [at, is_new] = latest_of_file_.try_emplace(upload.file, uploads_.size());
  if (is_new) return;
  Upload& older = uploads_[at->second];
  older.is_older = true;
  older.is_lost |= older.is_pending() && is_of_other_run(older, upload);
  at->second = uploads_.size();
}

// One that arrived all the same is not: where there are no locks, it was on its way.
std::uint64_t Journal::left_out() const noexcept {
  const auto here = std::count_if(uploads_.begin(), uploads_.end(), [](const Upload& each) {
    return (each.is_left_out && !each.is_done) || each.is_overwritten();
  });
  return earlier_left_out_ + static_cast<std::uint64_t>(here);
}

std::string damage_in_words(const Journal& journal) {
  const std::uint64_t records = journal.damaged();
  if (records == 0) return {};
  return std::to_string(records) +
         (records == 1 ? " damaged record: a file may not be queued"
                       : " damaged records: files may not be queued") +
         ": see what did not arrive, and upload it by hand";
}

void Journal::append(const trace::JsonObject& record, bool must_last) {
  const std::string problem = trace::append_record(path_, record);
  if (!problem.empty()) throw std::runtime_error("upload: " + problem);
  if (!must_last) return;
  const int fd = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  fdatasync(fd);
  close(fd);
}

std::size_t pending_in(const Journal& journal, const std::set<std::string>& others) {
  const auto& uploads = journal.uploads();
  return static_cast<std::size_t>(std::count_if(
      uploads.begin(), uploads.end(),
      [&](const auto& each) { return each.is_waiting() && others.count(each.id) == 0; }));
}

std::size_t unwanted_in(const Journal& journal, const std::set<std::string>& others) {
  const auto& uploads = journal.uploads();
  return static_cast<std::size_t>(std::count_if(
      uploads.begin(), uploads.end(),
      [&](const auto& each) { return each.has_unwanted_parts() && others.count(each.id) == 0; }));
}

std::vector<std::string> journals_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(trace::upload_folder(folder), error)) {
    if (entry.path().extension() == ".journal") paths.push_back(entry.path().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw std::runtime_error("upload: " + trace::upload_folder(folder) +
                             ": cannot be read: " + error.message() + ": ask as its owner");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace traceagent::tools
