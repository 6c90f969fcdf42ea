#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/trace/event_shapes.hpp"
#include "tools/import/event_search.hpp"
#include "tools/import/object_scan.hpp"
#include "tools/import/text_window.hpp"

namespace traceagent::tools {

// Finds the events of any Chrome JSON trace, one after the other, in bounded memory: an array of
// events, closed or not or without brackets at all, or an object with "traceEvents" anywhere among
// its members; plain or gzip.
// Of a file that is cut or damaged it gives what is whole, and names the place of what is not.
class DocumentScan {
 public:
  static constexpr std::size_t most_event_bytes = EventSearch::most_event_bytes;

  enum class Item {
    event,          // see event()
    not_an_object,  // a value of another kind stands in its place
    broken,         // text that is no event, up to the next one
    too_long,       // an event of more than most_event_bytes
    too_deep,       // an event that is nested deeper than trace::deepest_json
    damaged_gzip,   // text that is missing, see trace::InputFile; any number of events
    hole,           // zeros in the place of text, as of a file system that crashed; likewise
    end,
  };
  // Members of the document beside "traceEvents"; a value of more than MemberValue::most_bytes is
  // cut. Of "distributedInfo", which tells the rank, what is nested within is left out where it has
  // no room: the groups of a large job.
  using Members = std::function<void(std::string_view key, std::string_view value)>;

  // Without `has_mark` the content is not marked.
  explicit DocumentScan(std::size_t read_bytes = TextWindow::first_bytes, bool has_mark = true)
      : window_(read_bytes, has_mark) {}
  DocumentScan(const DocumentScan&) = delete;
  DocumentScan& operator=(const DocumentScan&) = delete;

  // False: see problem().
  [[nodiscard]] bool open(const std::string& path, Members members,
                          std::uint64_t most_file_bytes = UINT64_MAX);
  Item next() {
    return place_ == Place::events && take_usual_event() ? Item::event : next_of_any_kind();
  }

  // JSON that a line of our own files may hold, perhaps over several lines. Valid until next().
  [[nodiscard]] const ScannedObject& event() const { return object_; }
  // It was not JSON as it stood: NaN, bytes that are not UTF-8, control characters and the like.
  [[nodiscard]] bool was_repaired() const { return was_repaired_; }
  // Whole JSON; perhaps nobody's trace. After Item::end.
  [[nodiscard]] bool is_well_formed() const { return problem_.empty(); }
  // It has events, or a list of them that is empty: else this is no trace.
  [[nodiscard]] bool is_trace() const { return is_trace_; }
  // The end of the file cut an event in two.
  [[nodiscard]] bool has_cut_event() const { return has_cut_event_; }
  // The first thing that is wrong: "<what>: <file>: at byte <n>: <remedy>"; empty: nothing.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Of text that ends behind a whole event: the byte. Chrome's form allows that, and what was cut
  // there looks the same.
  [[nodiscard]] const std::optional<std::uint64_t>& open_end() const { return open_end_; }
  // See TextWindow.
  [[nodiscard]] std::string content_mark() const { return window_.content_mark(); }
  [[nodiscard]] std::optional<std::uint64_t> text_bytes() const { return window_.text_bytes(); }
  [[nodiscard]] std::uint64_t file_bytes_read() const { return window_.file_bytes_read(); }
  [[nodiscard]] bool is_gzip() const { return window_.is_gzip(); }

 private:
  enum class Place { start, members, events, behind, end };
  static constexpr char give_a_trace[] = "give a trace in Chrome's JSON form";
  static constexpr char rest_is_used[] = "what is whole is used";

  bool take_usual_event();
  [[nodiscard]] bool has_swallowed_events() const;
  Item next_of_any_kind();
  bool peek(char& c);
  bool pass_start();
  bool begins_with_event();
  bool pass_member();
  bool pass_member_value(const std::string& key);
  std::optional<std::uint64_t> fault_in_head();
  bool pass_head_damage(std::uint64_t offset);
  bool read_head_again();
  bool begin_events();
  bool pass_behind();
  bool has_events_behind_damage();
  std::optional<Item> next_event();
  void open_array();
  void close_array();
  bool is_end_of_events();
  Item read_on();
  Item pass_object();
  bool take_whole_object();
  Item accept_object(const char* end, bool was_repaired);
  Item accept_repaired();
  bool repair();
  [[nodiscard]] bool is_followed_well(const char* end) const;
  Item skip_whole(const char* end, Item item);
  Item pass_other_value();
  Item leave_damage(Item item, std::uint64_t begin);
  Item leave_broken_object();
  bool is_array_end(std::size_t place);
  Item leave_hole(std::uint64_t begin);
  bool find_event(std::uint64_t array_end = UINT64_MAX);
  [[nodiscard]] bool is_at_zero() const;
  Item at_end_of_text();
  Item at_end_of_file();
  Item at_end_of_trace();
  Item pass_gap();
  void tell_gzip_damage();
  void remember(const char* what, std::uint64_t offset, const std::string& remedy);

  std::string path_;
  TextWindow window_;
  EventSearch search_{window_};
  Members members_;
  Place place_ = Place::start;
  trace::EventShapes shapes_;
  ScannedObject object_;
  std::string repaired_;
  bool is_unusual_ = false;  // the object ahead: it was judged, and is not to be again as it stands
  bool was_repaired_ = false;
  bool is_array_form_ = false;
  bool has_brackets_ = true;
  bool is_trace_ = false;
  bool has_others_ = false;  // values that are no events
  bool has_cut_event_ = false;
  bool has_passed_comma_ = false;  // see peek()
  std::uint64_t open_arrays_ = 0;  // among the events, around the next one
  std::optional<std::uint64_t> first_array_;
  std::optional<std::uint64_t> head_damage_;  // before the events: the first
  bool has_read_head_again_ = false;
  std::uint64_t last_value_ = 0;           // of a member, with brackets: where it begins
  std::optional<std::uint64_t> unpassed_;  // where an event begins whose end was not found
  std::string problem_;
  std::optional<std::uint64_t> open_end_;
};

}  // namespace traceagent::tools
