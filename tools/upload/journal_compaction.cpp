// A journal without what is over, under a temporary name, on the disk before it gets the journal's:
// whoever is killed at whatever point, one of the two is there whole. Nobody appends to the old one
// from the time that it is read for the last time until it has lost its name: appenders hold a lock
// of theirs on it, and look whether it still has the name (agent/trace/upload_journal.cpp). Ranks
// of a job that began with a library older than that lock do not: see README.md.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/trace/journal_room.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tools/upload/journal.hpp"
#include "tools/upload/new_file.hpp"
#include "tools/upload/open_file.hpp"

namespace traceagent::tools {

namespace {

void add_line(std::string& text, const trace::JsonObject& record) { text += record.text() + "\n"; }

trace::JsonObject queue_record(const Upload& upload) {
  trace::JsonObject record;
  record.add("queue", upload.id).add("file", upload.file);
  if (upload.words.empty()) {
    record.add("target", upload.target);
  } else {
    record.add("words", upload.words);
  }
  return record.add("kind", upload.kind)
      .add("run", upload.run)
      .add("process", upload.process)
      .add("keep", upload.keep)
      .add("merge", upload.merge)
      .add("modified", upload.queued_ns)
      .add("index", upload.index)
      .add("ended", upload.has_ended);
}

void add_records(std::string& text, const Upload& upload) {
  add_line(text, queue_record(upload));
  const auto of = [&](const char* what) { return trace::JsonObject().add(what, upload.id); };
  if (!upload.sha256.empty()) {
    add_line(text, of("begin").add("bytes", upload.bytes).add("sha256", upload.sha256));
  }
  if (!upload.multipart.empty()) {
    add_line(text,
             of("multipart").add("upload", upload.multipart).add("part_bytes", upload.part_bytes));
  }
  for (const auto& [number, etag] : upload.parts) {
    add_line(text, of("part").add("number", number).add("etag", etag));
  }
  for (const std::string& id : upload.to_abandon) {
    add_line(text, of("abandon").add("upload", id));
  }
  if (upload.is_done) add_line(text, of("done").add("modified", upload.modified_ns));
  if (upload.is_removed) add_line(text, of("removed"));
  if (upload.is_gone) {
    add_line(text, of("gone").add("left_out", upload.is_left_out).add("why", upload.why));
  }
}

}  // namespace

// No record of it will be asked for again. Not those that output.keep may remove: they are counted.
std::vector<bool> Journal::which_are_over() const {
  std::vector<bool> over;
  for (const Upload& upload : uploads_) {
    const bool is_over = upload.is_gone || (upload.is_done && !upload.is_kept_here());
    over.push_back(is_over && !upload.has_unwanted_parts());
  }
  return over;
}

void Journal::forget(const std::vector<bool>& over) {
  std::vector<Upload> left;
  by_id_.clear();
  latest_.clear();
  latest_of_file_.clear();
  for (std::size_t i = 0; i < over.size(); ++i) {
    Upload& upload = uploads_[i];
    if (over[i]) {
      earlier_done_ += upload.is_done ? 1 : 0;
      earlier_removed_ += upload.is_removed ? 1 : 0;
      earlier_left_out_ += upload.is_left_out && !upload.is_done ? 1 : 0;
      continue;
    }
    by_id_[upload.id] = left.size();
    latest_[upload.file_and_target()] = left.size();
    if (upload.kind == "rank") latest_of_file_[upload.file] = left.size();
    left.push_back(std::move(upload));
  }
  uploads_ = std::move(left);
}

std::string Journal::shorter_text(const std::vector<bool>& over) const {
  std::uint64_t done = earlier_done_, removed = earlier_removed_, left_out = earlier_left_out_;
  std::string records;
  for (std::size_t i = 0; i < over.size(); ++i) {
    if (!over[i]) add_records(records, uploads_[i]);
    done += over[i] && uploads_[i].is_done ? 1 : 0;
    removed += over[i] && uploads_[i].is_removed ? 1 : 0;
    left_out += over[i] && uploads_[i].is_left_out && !uploads_[i].is_done ? 1 : 0;
  }
  std::string text;
  trace::JsonObject first;
  first.add("compacted", trace::new_upload_id())
      .add("done", done)
      .add("removed", removed)
      .add("left_out", left_out)
      .add("damaged", damaged_);
  add_line(text, first);
  return text + records;
}

// Half of it is over. Not while something waits that was queued again: by what replaced it, which
// may be over, it is known not to be uploaded: soon it is given up.
bool Journal::is_worth_compacting(const std::vector<bool>& over) const {
  const bool is_any_replaced =
      std::any_of(uploads_.begin(), uploads_.end(),
                  [](const Upload& each) { return each.is_pending() && !each.is_waiting(); });
  const auto count = std::count(over.begin(), over.end(), true);
  return !is_any_replaced && 2 * count >= static_cast<std::ptrdiff_t>(over.size());
}

// Under the lock no more than this: the ranks' threads wait for it, and the uploader is last in
// line for CPUs.
Journal::Replaced Journal::replace_by(const std::string& shorter) const {
  const OpenFile journal(path_, O_RDWR);
  if (journal.fd() < 0 || !trace::lock_journal_alone(journal.fd(), path_)) return Replaced::not_now;
  struct stat facts {};
  if (fstat(journal.fd(), &facts) != 0) return Replaced::no;
  if (static_cast<std::uint64_t>(facts.st_size) != reader_.end()) return Replaced::not_now;
  return rename(shorter.c_str(), path_.c_str()) == 0 ? Replaced::yes : Replaced::no;
}

// False: something was appended while the shorter one was written. That takes as long as the disk
// does, so it is done before appenders, which wait for two seconds at most, are kept out.
bool Journal::try_to_compact() {
  if (!read()) return true;
  const std::vector<bool> over = which_are_over();
  if (!is_worth_compacting(over)) return true;
  const std::string text = shorter_text(over);
  const NewFile shorter(path_, text);
  if (!shorter.is_on_disk()) return true;
  const Replaced replaced = replace_by(shorter.path());
  if (replaced != Replaced::yes) return replaced == Replaced::no;
  reader_.replace_by(text);
  forget(over);
  compact_at_ = 2 * text.size();
  return true;
}

void Journal::compact(std::uint64_t from_bytes) {
  const std::uint64_t known_bytes = reader_.offset();
  if (known_bytes < std::max(from_bytes, compact_at_)) return;
  compact_at_ =
      known_bytes + known_bytes / 8;  // where there is nothing to gain it is not tried each time
  if (!is_worth_compacting(which_are_over())) return;
  constexpr int most_attempts = 3;
  int attempts = 0;
  while (++attempts <= most_attempts && !try_to_compact()) {
  }
  trace::reserve_room(path_);
  const OpenFile folder(trace::upload_folder(folder_), O_RDONLY | O_DIRECTORY);
  if (folder.fd() >= 0) fsync(folder.fd());
}

}  // namespace traceagent::tools
