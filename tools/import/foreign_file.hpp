#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/import/event_lines.hpp"
#include "tools/import/file_facts.hpp"
#include "tools/import/import.hpp"
#include "tools/import/imported_events.hpp"
#include "tools/import/order_check.hpp"
#include "tools/import/own_files.hpp"
#include "tools/import/pytorch_name.hpp"
#include "tools/import/rank_fingerprint.hpp"
#include "tools/import/sagemaker_names.hpp"
#include "tools/import/sorted_runs.hpp"

namespace traceagent::tools {

struct FileReading;

// One foreign file on its way into our own form: a head with all that is no event, and runs of
// events. Their headers are written last: a document may tell its base and rank behind its events.
class ForeignFile {
 public:
  using OnBytes = std::function<bool(std::uint64_t)>;

  // `prefix` begins the names of its files, `rank` is what the user says.
  ForeignFile(std::string path, std::string prefix, std::optional<std::int64_t> rank);

  // A number alone in its name ("_3.json") tells no rank. Before peek().
  void take_no_number_alone() { takes_number_alone_ = false; }

  // Looks at the beginning of the file: is_trace, kind, and the rank if the content, the name or
  // the user tells it.
  void peek();
  [[nodiscard]] std::optional<std::int64_t> rank() const { return rank_; }
  [[nodiscard]] bool is_trace() const { return report_.is_trace; }
  // A list of events in which there is none: nobody's rank is needed for it.
  [[nodiscard]] bool is_empty() const { return is_empty_; }
  // `from`: see ImportedFile.
  void set_rank(std::int64_t rank, const char* from = "none");
  // Whose it is by its name alone; null where that says nothing, or the content says more.
  [[nodiscard]] const SageMakerName* process() const;
  [[nodiscard]] bool has_numbered_process() const;
  // Whose clock it is of: where it says it, or its name does; or empty. After read().
  [[nodiscard]] std::string host() const;
  // After read(), of a PyTorch file: the numbers of the programs in it.
  [[nodiscard]] const std::set<std::int64_t>& program_pids() const { return program_pids_; }
  // CLOCK_REALTIME that its times count from, if they are not from 1970 themselves.
  [[nodiscard]] std::optional<std::int64_t> base_ns() const;
  // See trace::begins_member; as far as it is read.
  [[nodiscard]] std::string begins() const { return facts_.first_events().marks(base_ns()); }
  // After read(), for "sources": the mark (content_mark.hpp) of its text, of its bytes where that
  // is not known, or what know_as() told.
  [[nodiscard]] const std::string& content() const { return content_; }
  // Of its text, as far as it is known, and of its bytes, where those are as many as one of `sizes`
  // tells: the file may be read for that.
  [[nodiscard]] std::vector<std::string> marks(const std::set<std::uint64_t>& sizes);
  // Whether this may be the file that has been imported, where its text is that one's: of the same
  // rank, where both tell theirs; else of the same name, or of times that no two processes share.
  // Of two ranks equal texts are two files: of a simulation without real times.
  [[nodiscard]] bool may_be(const ImportedSource& source) const;
  // The same where its text begins with that one's.
  [[nodiscard]] bool may_have_been(const ImportedSource& source) const;
  // See marks_of_beginnings(); asked again for some of them it is not read again.
  std::set<std::string> beginnings_among(const std::set<std::string>& marks);
  // A merged file that is given has it as that one.
  void know_as(const ImportedSource& source);
  [[nodiscard]] const std::string& path() const { return path_; }
  // Its own, without the folder, or what know_as() told.
  [[nodiscard]] std::string trace_name() const;
  // Sources that others hold of it as it was when it was shorter: a JSON array, or empty.
  void set_older_states(std::string states) { older_states_ = std::move(states); }

  // Reads it all. Where its events are nearly in order they are to be made of it again when they
  // are wanted; else it writes them, in runs. `on_bytes` is told of the file's bytes as they are
  // read; false from it gives up.
  void read(ForeignPids& pids, const OnBytes& on_bytes);
  // It is to be read, or once more: it told behind its events, which are written for another
  // process by now, whose they are.
  [[nodiscard]] bool is_due() const { return is_due_; }
  // Another program has saved it again.
  [[nodiscard]] bool is_ours() const { return facts_.kind() == ForeignKind::traceagent; }

  // Of a file of ours that another program has saved: its ranks, and after read() what all it holds
  // (source_keys.hpp). Else none.
  [[nodiscard]] const std::set<std::int64_t>& own_ranks() const { return facts_.own_ranks(); }
  [[nodiscard]] std::vector<std::string> source_keys() const;
  [[nodiscard]] std::vector<std::string> saved_sources()
      const;  // after peek(), as ours are written
  // Of such a one: whether all was read that its writer, ours, says is in it, and all of the files
  // that it was made of.
  [[nodiscard]] bool is_all_there() const;
  // It holds a chosen part of them alone.
  [[nodiscard]] bool is_part() const { return !facts_.selections().empty(); }
  // Others that are given hold all of it too, or a part.
  void leave_out(bool is_all_held);
  // Another one holds a part of what it holds a part of: events may be in both, and none of its
  // lines is as it was.
  void leave_out_beside(const std::string& holder);
  // After read(): one of the two is enough. The same text, plain or compressed, of the same
  // rank; where one of them tells none also under the same name, or of times that no two processes
  // share.
  [[nodiscard]] bool is_copy_of(const ForeignFile& other) const;
  // After read(), of the times as they stand in it, all of which the other one has a place for: it
  // may be the beginning of that one, which is of the same rank or, where nothing tells that, of
  // the same name or of absolute times.
  [[nodiscard]] bool may_begin(const ForeignFile& longer) const;
  // Nothing of it is lost, and that it ends too early is no fault.
  void leave_out_as_beginning_of(const ForeignFile& longer);
  // All that is known of its events, but for their text, is as in the other one.
  [[nodiscard]] bool seems_written_anew(const ForeignFile& other) const;
  void warn_of_twin(const ForeignFile& other);
  // How many bytes read() has seen; 0: they were compressed.
  [[nodiscard]] std::uint64_t plain_bytes() const { return plain_bytes_; }
  // In Composer's files, by rank, of all their events.
  [[nodiscard]] const Fingerprints& fingerprints() const { return fingerprints_; }
  // Files of one rank that are given hold so many of its ranks.
  void leave_out_or_warn(const HeldRanks& held);

  // After read(), absolute; nothing where it has no clock (see place()) or no events.
  [[nodiscard]] std::optional<std::int64_t> first_ns() const;
  [[nodiscard]] std::optional<std::int64_t> last_ns() const;
  // The first event of a file without clock belongs here.
  void place(std::int64_t first_ns);
  // Completes the files. Returns their paths; none where the file is no trace.
  std::vector<std::string> write_headers();
  // After write_headers(): what the events of run_path() are made of, which that file has not
  // itself. Null: all files have theirs.
  [[nodiscard]] const std::shared_ptr<const EventSource>& source() const { return source_; }
  [[nodiscard]] std::string run_path() const { return prefix_ + "run0"; }

  [[nodiscard]] ImportedFile& report() { return report_; }
  // So far.
  [[nodiscard]] bool is_taken() const { return report_.is_trace && report_.left_out.empty(); }

 private:
  const std::string& file_mark();
  [[nodiscard]] std::optional<std::int64_t> told_rank() const;
  [[nodiscard]] bool has_name_of(const ImportedSource& source) const;
  [[nodiscard]] trace::JsonObject identity_json() const;
  [[nodiscard]] bool is_anyones() const;
  void read_once(ForeignPids& pids, const OnBytes& on_bytes);
  bool read_in_order(ForeignPids& pids, const OnBytes& on_bytes);
  void read_into_runs(ForeignPids& pids, const OnBytes& on_bytes);
  [[nodiscard]] EventOwner owner() const;
  [[nodiscard]] std::string merged_clock_json() const;
  void take(FileReading& reading);
  void tell_missing_events();
  void take_rank(const FileFacts& facts);
  // False: they were not what the lines have been written for.
  bool take_times(const EventLines& lines);
  [[nodiscard]] bool has_real_base() const;  // that counts from 1970 itself
  void finish_report(EventLines& lines);
  [[nodiscard]] std::int64_t first_relative_ns() const;
  [[nodiscard]] std::int64_t last_relative_ns() const;
  [[nodiscard]] std::string distributed_info_json() const;
  [[nodiscard]] std::vector<std::string> own_sources_json() const;
  [[nodiscard]] std::string metadata_json() const;
  [[nodiscard]] trace::JsonObject metadata_of_import() const;
  [[nodiscard]] std::string problem_in_metadata() const;
  [[nodiscard]] std::string own_metadata_json() const;
  bool write_head(const std::string& path);

  std::string path_;
  std::string prefix_;
  std::optional<SageMakerName> process_;
  std::optional<PyTorchName> pytorch_name_;
  std::optional<std::int64_t> begin_ns_;  // SageMakerProfile's
  std::optional<std::int64_t> rank_;
  bool rank_is_given_ = false;
  bool takes_number_alone_ = true;
  std::optional<std::int64_t> named_rank_;  // that it itself, or its name, tells
  bool is_empty_ = false;
  bool is_due_ = true;
  bool is_read_ = false;
  bool is_gzip_ = false;
  bool must_read_again_ = false;
  bool lacks_events_ = false;  // that it says it has; and that is all its problem
  bool may_have_collectives_ = false;
  FileFacts facts_;
  std::string file_mark_;  // of its bytes
  std::string text_mark_;  // of the uncompressed text, where it is known; else file_mark_
  std::string content_;    // see content()
  std::optional<ImportedSource> known_;  // see know_as()
  std::set<std::string> asked_marks_;    // beginnings_among()
  std::set<std::string> beginnings_;
  Fingerprints fingerprints_;
  std::string older_states_;
  ImportedFile report_;
  EventCounts counts_;
  std::vector<SortedRuns::Run> runs_;
  std::shared_ptr<const EventSource> source_;
  std::vector<std::string> metadata_lines_;
  std::map<std::string, std::string> described_;
  std::set<std::int64_t> program_pids_;
  std::optional<EventTimes> times_;  // where the first event cannot decide on them
  std::int64_t base_ns_ = 0;
  std::int64_t shift_ns_ = 0;  // EventLines'
  // Of read(): see plain_bytes(), and from when until when it has events, as their times stand
  // there.
  std::uint64_t plain_bytes_ = 0;
  std::pair<std::int64_t, std::int64_t> bounds_ns_;
};

using ForeignFiles = std::vector<std::unique_ptr<ForeignFile>>;

}  // namespace traceagent::tools
