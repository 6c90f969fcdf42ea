// A journal without what is over, under a temporary name, on the disk before it gets the journal's:
// whoever is killed at whatever point, one of the two is there whole. Nobody appends to the old one
// from the time that it is read for the last time until it has lost its name: appenders hold a lock
// of theirs on it, and look whether it still has the name (agent/trace/upload_journal.cpp).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/trace/upload_journal.hpp"
#include "tools/upload/journal.hpp"
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
  if (upload.is_done) add_line(text, of("done"));
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

// No record of it will be asked for again. Not those that output.keep may remove: they are counted.
std::vector<bool> Journal::which_are_over() const {
  std::unordered_map<std::string, const Upload*> latest;
  for (const Upload& upload : uploads_) {
    if (upload.kind == "rank") latest[upload.file] = &upload;
  }
  std::vector<bool> over;
  for (const Upload& upload : uploads_) {
    const bool may_be_removed = upload.kind == "rank" && upload.keep >= 0 && !upload.is_removed &&
                                latest[upload.file] == &upload;
    over.push_back(upload.is_gone || (upload.is_done && !may_be_removed));
  }
  return over;
}

void Journal::forget(const std::vector<bool>& over) {
  std::vector<Upload> left;
  by_id_.clear();
  latest_.clear();
  for (std::size_t i = 0; i < over.size(); ++i) {
    Upload& upload = uploads_[i];
    if (over[i]) {
      earlier_done_ += upload.is_done ? 1 : 0;
      earlier_removed_ += upload.is_removed ? 1 : 0;
      continue;
    }
    by_id_[upload.id] = left.size();
    latest_[upload.file + '\n' + upload.where()] = left.size();
    left.push_back(std::move(upload));
  }
  uploads_ = std::move(left);
}

bool Journal::write_shorter(const std::vector<bool>& over) {
  std::uint64_t done = earlier_done_, removed = earlier_removed_;
  std::string text;
  for (std::size_t i = 0; i < over.size(); ++i) {
    if (!over[i]) add_records(text, uploads_[i]);
    done += over[i] && uploads_[i].is_done ? 1 : 0;
    removed += over[i] && uploads_[i].is_removed ? 1 : 0;
  }
  trace::JsonObject first;
  std::string head;
  add_line(
      head,
      first.add("compacted", trace::new_upload_id()).add("done", done).add("removed", removed));
  text.insert(0, head);
  const std::string temporary = path_ + ".new";
  unlink(temporary.c_str());  // of an uploader that was killed
  const OpenFile file(temporary, O_WRONLY | O_CREAT | O_EXCL);
  const bool ok = file.fd() >= 0 && write_all(file.fd(), text) && fsync(file.fd()) == 0 &&
                  rename(temporary.c_str(), path_.c_str()) == 0;
  if (!ok) {
    unlink(temporary.c_str());
    return false;
  }
  const OpenFile folder(trace::upload_folder(folder_), O_RDONLY | O_DIRECTORY);
  if (folder.fd() >= 0) fsync(folder.fd());
  offset_ = text.size();
  head_ = text.substr(0, head_.size());
  return true;
}

void Journal::compact(std::uint64_t from_bytes) {
  if (offset_ < std::max(from_bytes, compact_at_)) return;
  compact_at_ = offset_ + offset_ / 8;  // where there is nothing to gain it is not tried each time
  const auto is_half = [](const std::vector<bool>& over) {
    return 2 * std::count(over.begin(), over.end(), true) >=
           static_cast<std::ptrdiff_t>(over.size());
  };
  const bool is_any_replaced =
      std::any_of(uploads_.begin(), uploads_.end(),
                  [](const Upload& each) { return each.is_replaced && each.is_pending(); });
  // By what replaced it, which may be over, it is known not to be uploaded: soon it is given up.
  if (is_any_replaced || !is_half(which_are_over())) return;
  const OpenFile journal(path_, O_RDWR);
  if (journal.fd() < 0 || !trace::lock_journal_alone(journal.fd())) return;
  read();  // what was appended until then
  const std::vector<bool> over = which_are_over();
  if (!write_shorter(over)) return;
  forget(over);
  compact_at_ = 2 * offset_;
}

}  // namespace traceagent::tools
