#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/line_judge.hpp"
#include "agent/trace/line_reader.hpp"
#include "agent/trace/made_events.hpp"
#include "agent/trace/trace_line.hpp"

namespace traceagent::trace {

// Why events are lost of which the file says that they were written, and nothing is damaged.
inline constexpr char missing_lines[] = "missing_lines";

struct TraceHeader {
  std::int64_t rank = 0;
  std::int64_t world_size = 0;  // 0: it does not say
  std::int64_t base_ns = 0;
  std::string distributed_info;   // JSON text
  std::string device_properties;  // JSON text
  std::string trace_name;         // as written between the quotes
  // Of a merged file: one JSON object for each rank file that it was made of.
  std::vector<std::string> sources;
  // JSON array: what was chosen of the sources, where that was not all; or empty.
  std::string selections;
};

struct TraceFooter {
  std::string metadata;   // the JSON text of "traceagent"; may span lines in a merged file
  bool closed = false;    // the document ends as it should
  bool complete = false;  // and says that nothing is missing
};

// Reads the files that document.hpp and event_writer.hpp write (and no others), plain or gzip, line
// by line in bounded memory. A file that ends too early gives what it holds, then problem(). So
// does one with damaged lines, which are left out.
class TraceReader {
 public:
  // Reads up to the first line of "traceEvents". False: see problem().
  [[nodiscard]] bool open(const std::string& path);
  // After open(): the rest of the file is read, and its lines are judged, by others beforehand.
  void read_beside(SideReads& reads);

  // The next line; Kind::end at the end of the events, wherever and however that is.
  TraceLine next() { return made_at_ != made_.end ? next_made() : next_read(); }

  [[nodiscard]] const TraceHeader& header() const { return header_; }
  // Of use after next() gave Kind::end.
  [[nodiscard]] const TraceFooter& footer() const { return footer_; }
  // "<what>: <file>: <remedy>", one line; empty while all is well.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Events in damaged lines, or whose lines are gone (missing_lines), by cause. Of damaged gzip
  // data the file's own count tells how many there were (damaged_gzip); where that is lost, the
  // places are counted (damaged_gzip_places).
  [[nodiscard]] const std::map<std::string, std::uint64_t>& lost() const { return lost_; }
  // All that problem() says is that lines are gone (missing_lines), or were put in.
  [[nodiscard]] bool is_whole_but_for_lines() const { return has_told_missing_; }
  // Then what next() has given is of no use (MadeEvents::problem()).
  [[nodiscard]] bool is_void() const { return maker_ && !maker_->problem().empty(); }

  [[nodiscard]] std::uint64_t file_bytes() const {
    return lines_.file_bytes() + (maker_ ? maker_->file_bytes() : 0);
  }
  [[nodiscard]] std::uint64_t file_bytes_read() const {
    return lines_.file_bytes_read() + (maker_ ? maker_->file_bytes_read() : 0);
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return lines_.memory_bytes() + judge_.memory_bytes() + (maker_ ? maker_->memory_bytes() : 0);
  }

 private:
  bool read_header_line(std::string_view line);
  bool read_sources();
  TraceLine next_read();
  TraceLine next_made();
  bool make_more();
  bool take_judged();
  TraceLine end_of_events(std::string_view line);
  void note_gap();
  void count_missing();
  void tell_other_number(std::uint64_t written);
  void count_places();
  void look_for_damage();
  void look_behind();
  void leave_out(const char* cause, std::uint64_t events);
  void leave_out_long_line();
  TraceLine fail(const char* what);
  TraceLine fail_reading(LineReader::Status status);
  void tell_damage();
  void set_problem(const std::string& what, std::uint64_t offset, const char* remedy);

  std::string path_;
  LineReader lines_;
  LineJudge judge_;
  std::unique_ptr<MadeEvents> maker_;  // of the events; null: they stand in the file
  MadeEvents::Lines made_;             // of the maker, or judged by others
  const MadeEvents::Line* made_at_ = nullptr;
  TraceHeader header_;
  TraceFooter footer_;
  std::string problem_;
  std::map<std::string, std::uint64_t> lost_;
  std::uint64_t damaged_lines_ = 0;
  std::uint64_t first_damage_ = 0;  // its offset
  GzipDamage gzip_damage_;          // as far as it was met
  std::uint64_t events_ = 0;        // that stood in the file and were given
  std::uint64_t line_offset_ = 0;
  bool has_events_ = false;
  bool has_base_ = false;
  bool has_told_missing_ = false;
  bool ended_ = false;
};

}  // namespace traceagent::trace
