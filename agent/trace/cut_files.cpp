#include "agent/trace/cut_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/trace/input_file.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_metadata.hpp"
#include "agent/trace/trace_reader.hpp"
#include "agent/trace/zlib_memory.hpp"

namespace traceagent::trace {

namespace {

// No line before the last is only "}".
constexpr std::string_view document_end = "\n}\n";
constexpr std::string_view gzip_begin = "\x1f\x8b\x08";
// A member of ours holds about 1 MiB of text, and is never longer than that by much.
constexpr std::size_t most_member_bytes = std::size_t{2} << 20;

// The end of a text of which pieces are seen one after the other.
class TextEnd {
 public:
  void add(std::string_view piece) {
    end_.append(piece.substr(piece.size() - std::min(piece.size(), document_end.size())));
    end_.erase(0, end_.size() - std::min(end_.size(), document_end.size()));
  }
  // So much of it as was seen: the last member may be shorter.
  [[nodiscard]] bool is_documents() const { return !end_.empty() && document_end.ends_with(end_); }

 private:
  std::string end_;
};

// Its last bytes, up to `most`; fewer where it cannot be read.
std::string tail_of(const std::string& path, std::size_t most) {
  const int descriptor = event::open_high(path.c_str(), O_RDONLY | O_NOCTTY);
  struct stat status {};
  if (descriptor < 0) return {};
  std::string tail;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::size_t>(status.st_size);
    tail.resize(std::min(size, most));
    std::size_t done = 0;
    ssize_t got = 1;
    while (done < tail.size() && got > 0) {
      const auto offset = static_cast<off_t>(size - tail.size() + done);
      got = event::uninterrupted(
          [&] { return pread(descriptor, tail.data() + done, tail.size() - done, offset); });
      done += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    tail.resize(done);
  }
  ::close(descriptor);
  return tail;
}

// Whether whole members, and nothing else, are there. `end`: of what they hold.
bool are_members(std::string_view bytes, TextEnd& end) {
  z_stream stream{};
  use_held_memory(stream);
  constexpr int window_bits_gzip = 15 + 16;  // + 16: gzip framing only
  if (inflateInit2(&stream, window_bits_gzip) != Z_OK) return false;
  // zlib's interface wants a non-const pointer but does not write through it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::array<char, 16 << 10> text;
  int result = Z_OK;
  bool is_at_end = false;
  while (result == Z_OK && !is_at_end) {
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    result = inflate(&stream, Z_NO_FLUSH);
    end.add({text.data(), text.size() - stream.avail_out});
    is_at_end = result == Z_STREAM_END && stream.avail_in == 0;
    if (result == Z_STREAM_END && !is_at_end) result = inflateReset(&stream);
  }
  inflateEnd(&stream);
  return is_at_end;
}

bool last_member_ends_whole(std::string_view tail, bool& is_found) {
  for (std::size_t at = tail.rfind(gzip_begin); at != std::string_view::npos;
       at = at == 0 ? at - 1 : tail.rfind(gzip_begin, at - 1)) {
    TextEnd end;
    is_found = are_members(tail.substr(at), end);
    if (is_found) return end.is_documents();
  }
  return false;
}

bool all_of_it_ends_whole(const std::string& path) {
  InputFile file;
  if (!file.open(path)) return false;
  std::string block(std::size_t{64} << 10, '\0');
  TextEnd end;
  std::size_t size = 0;
  InputFile::Status status{};
  while ((status = file.read(block.data(), block.size(), size)) == InputFile::Status::data) {
    end.add({block.data(), size});
  }
  return status == InputFile::Status::end && end.is_documents();
}

bool is_gzip(const std::string& path) {
  InputFile file;
  return file.open(path) && file.is_gzip();
}

// True: nothing was wrong with it.
bool read_to_its_end(const std::string& path, TraceFooter& footer) {
  TraceReader reader;
  if (!reader.open(path)) return false;
  bool is_in_order = true;
  std::int64_t before_ns = std::numeric_limits<std::int64_t>::min();
  for (TraceLine line; (line = reader.next()).kind != TraceLine::Kind::end;) {
    if (line.kind != TraceLine::Kind::event) continue;
    is_in_order = is_in_order && line.ts_ns >= before_ns;
    before_ns = line.ts_ns;
  }
  footer = reader.footer();
  return is_in_order && footer.closed && reader.problem().empty();
}

}  // namespace

bool ends_whole(const std::string& path) {
  if (!is_gzip(path)) return tail_of(path, document_end.size()) == document_end;
  bool is_found = false;
  const std::string tail = tail_of(path, most_member_bytes);
  const bool is_whole = last_member_ends_whole(tail, is_found);
  // Less than that is all of the file, and was looked at.
  return is_found || tail.size() < most_member_bytes ? is_whole : all_of_it_ends_whole(path);
}

bool is_undamaged(const std::string& path) {
  TraceFooter footer;
  return read_to_its_end(path, footer);
}

std::uint64_t readable_events(const std::string& path) {
  TraceReader reader;
  if (!reader.open(path)) return 0;
  std::uint64_t events = 0;
  for (auto kind = reader.next().kind; kind != TraceLine::Kind::end; kind = reader.next().kind) {
    if (kind == TraceLine::Kind::event) ++events;
  }
  return events;
}

bool holds_all_of_its_sources(const std::string& path) {
  TraceFooter footer;
  return read_to_its_end(path, footer) && is_made_of_whole_files(footer.metadata);
}

namespace {

// Of what was read of none, or left out, nothing is a source. Whatever else is said of a file may
// have cost some of it.
bool was_never_put_in(std::string_view problem) noexcept {
  constexpr std::string_view beginnings[] = {"not a trace",
                                             "an empty file: ",
                                             "a folder: ",
                                             "not looked at: ",
                                             "merged files overlap: ",
                                             "corrected otherwise: ",
                                             "written otherwise: ",
                                             "cut at its edges: ",
                                             "saved again by another program: ",
                                             "a trace that has grown since it was merged: "};
  return std::ranges::any_of(
      beginnings, [problem](std::string_view beginning) { return problem.starts_with(beginning); });
}

// The files, JSON strings without quotes, that were cut or damaged.
template <typename Visit>
void for_each_cut_file(std::string_view metadata, const Visit& visit) {
  for_each_element(member(metadata, "incomplete").value_or(""), [&](std::string_view fault) {
    const std::string_view file = string_member(fault, "file").value_or("");
    const std::string_view problem = string_member(fault, "problem").value_or("");
    // What is wrong with a file names it, and what is missing of a rank that was killed does not.
    const bool is_whole = file.starts_with(include_mark) || problem == writer_lost_something ||
                          problem.starts_with(not_closed) || was_never_put_in(problem) ||
                          problem.find(file) == std::string_view::npos;
    if (!is_whole) visit(file);
  });
}

}  // namespace

std::string without_gz(std::string name) {
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name;
}

std::optional<std::vector<std::string>> cut_files_of(const std::string& path) {
  TraceFooter footer;
  if (!read_to_its_end(path, footer)) return std::nullopt;
  std::vector<std::string> cut;
  for_each_cut_file(footer.metadata,
                    [&](std::string_view file) { cut.push_back(unescaped(file)); });
  return cut;
}

bool is_made_of_whole_files(std::string_view metadata) {
  bool is_whole = true;
  for_each_cut_file(metadata, [&](std::string_view) { is_whole = false; });
  return is_whole;
}

}  // namespace traceagent::trace
