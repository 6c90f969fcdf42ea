#include "tools/import/import.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tools/import/content_mark.hpp"
#include "tools/import/foreign_file.hpp"
#include "tools/import/import_folder.hpp"
#include "tools/import/sagemaker_names.hpp"
#include "tools/import/source_keys.hpp"

namespace traceagent::tools {

namespace {

constexpr unsigned most_threads = 4;

// What the import needs to know of our own files.
struct OwnFiles {
  std::set<std::int64_t> ranks;
  // Of files that were imported into them before: name and content with the rank they got.
  std::map<std::pair<std::string, std::string>, std::int64_t> imported;
  bool has_job = false;  // one at least holds what was not imported
  std::map<std::string, std::vector<std::string>> sources;  // source_keys(), by path
  std::map<std::string, std::vector<std::string>> parts;    // of what holds a part of them alone
  std::optional<std::int64_t> first_ns;
  std::int64_t world_size = 0;
  std::vector<std::pair<std::int64_t, std::string>> processes;  // pid and identity of others'

  explicit OwnFiles(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      trace::TraceReader reader;
      if (!reader.open(path)) continue;
      add_ranks(reader.header());
      // What holds only a part of them replaces nothing.
      (reader.header().selections.empty() ? sources : parts)
          .emplace(path, source_keys(reader.header()));
      world_size = std::max(world_size, reader.header().world_size);
      const std::int64_t base = reader.header().base_ns;
      first_ns = std::min(first_ns.value_or(base), base);
      if (!imported.empty()) add_processes(reader);
    }
  }

  // A job of one rank alone: what is beside it is that rank's.
  [[nodiscard]] bool is_of_one_rank() const {
    return has_job && ranks.size() == 1 && world_size <= 1;
  }

 private:
  // Their names stand before the events.
  void add_processes(trace::TraceReader& reader) {
    for (trace::TraceLine line = reader.next(); line.kind == trace::TraceLine::Kind::metadata;
         line = reader.next()) {
      if (trace::string_member(line.text, "name") != "process_name") continue;
      const auto args = trace::member(line.text, "args").value_or("");
      const auto pid = trace::integer_member(line.text, "pid");
      const auto identity = trace::string_member(args, imported_from);
      if (pid && identity) processes.emplace_back(*pid, *identity);
    }
  }

  void add_ranks(const trace::TraceHeader& header) {
    ranks.insert(header.rank);
    trace::for_each_element(trace::member(header.distributed_info, "ranks").value_or(""),
                            [this](std::string_view rank) {
                              std::int64_t number = 0;
                              if (whole_number(rank, number)) ranks.insert(number);
                            });
    has_job = has_job || header.sources.empty();
    for (const std::string& source : header.sources) {
      const auto name = trace::string_member(source, "name");
      const auto content = trace::string_member(source, "content");
      const auto rank = trace::integer_member(source, "rank");
      if (name && content && rank) {
        imported.try_emplace({std::string(*name), std::string(*content)}, *rank);
      } else {
        has_job = true;
      }
    }
  }
};

std::string between_quotes(const std::string& json) { return json.substr(1, json.size() - 2); }

class Import {
 public:
  Import(const std::vector<std::string>& paths, const ImportOptions& options,
         const std::string& folder, trace::JudgedFolder& judged)
      : options_(options), judged_(judged), own_(options.own_files) {
    for (const std::string& path : paths) {
      const auto given = options.ranks.find(path);
      const auto rank = given == options.ranks.end() ? std::nullopt : std::optional(given->second);
      const std::string prefix = folder + "/" + std::to_string(files_.size()) + "-";
      files_.push_back(std::make_unique<ForeignFile>(path, prefix, rank));
      std::error_code none;
      const std::uintmax_t size = std::filesystem::file_size(path, none);
      total_bytes_ += none ? 0 : size;
    }
    for (const auto& [pid, identity] : own_.processes) pids_.keep(pid, identity);
  }

  // Of our own files, those that are cut or damaged, with the one of these that holds all of each.
  [[nodiscard]] const std::map<std::string, std::string>& replaced() const { return replaced_; }

  // `made_of`: of each path that is returned, which file it is of.
  std::vector<std::string> run(std::vector<ImportedFile>& reports,
                               std::map<std::string, std::size_t>& made_of) {
    find_ranks();
    read_all();
    leave_out_doubles();
    leave_out_copies();
    leave_out_composers_merges();
    for (const auto& file : files_) {
      if (file->report().is_trace) file->set_older_states(older_states_of(*file).sources);
    }
    place_without_clock();
    std::vector<std::string> paths;
    for (const auto& file : files_) {
      const std::vector<std::string> written = file->write_headers();
      paths.insert(paths.end(), written.begin(), written.end());
      for (const std::string& path : written) made_of.emplace(path, reports.size());
      if (const auto source = file->source(); source && !written.empty()) {
        judged_.make_events_of(file->run_path(), source->bytes,
                               [source] { return std::make_unique<ImportedEvents>(source); });
      }
      reports.push_back(file->report());
    }
    return paths;
  }

 private:
  void find_ranks() {
    std::set<std::int64_t> taken = own_.ranks;
    for (const auto& file : files_) {
      file->peek();
      if (file->rank()) taken.insert(*file->rank());
      taken.insert(file->own_ranks().begin(), file->own_ranks().end());
    }
    find_ranks_of_processes(taken);
    std::int64_t free = 0;
    for (const auto& file : files_) {
      if (file->rank()) continue;
      if (const auto rank = rank_before(*file)) {
        file->set_rank(*rank);
        continue;
      }
      if (own_.is_of_one_rank()) {
        file->set_rank(*own_.ranks.begin());
        continue;
      }
      while (taken.contains(free) || is_anothers(free)) ++free;
      if (file->report().is_trace && !file->is_empty()) taken.insert(free);
      file->set_rank(free);
    }
  }

  [[nodiscard]] bool is_anothers(std::int64_t rank) const {
    const auto& ranges = options_.others_ranks;
    return std::any_of(ranges.begin(), ranges.end(), [rank](const auto& range) {
      return range.first <= rank && rank <= range.second;
    });
  }

  // All files of one are of one rank.
  void find_ranks_of_processes(std::set<std::int64_t>& taken) {
    SageMakerRanks ranks;
    for (const auto& file : files_) {
      if (file->process() == nullptr || !file->report().is_trace) continue;
      ranks.add(*file->process());
      if (file->rank()) ranks.add_known(file->process()->process, *file->rank());
    }
    for (const auto& [source, rank] : own_.imported) {
      if (const auto name = sagemaker_name(source.first)) ranks.add_known(name->process, rank);
    }
    // Left to who sees that it is beside a job of one rank.
    if (ranks.count() == 1 && own_.is_of_one_rank()) return;
    ranks.find(taken);
    for (const auto& file : files_) {
      const SageMakerName* const process = file->process();
      if (process == nullptr || !file->report().is_trace || file->rank()) continue;
      file->set_rank(ranks.rank(process->process), ranks.is_number(*process) ? "name" : "none");
    }
  }

  // Merged again, beside or within what it went into: the same rank, or all of it would be there
  // under two.
  [[nodiscard]] std::optional<std::int64_t> rank_before(ForeignFile& file) const {
    if (own_.imported.empty() || !file.report().is_trace) return std::nullopt;
    const auto found = own_.imported.find({quoted_name(file), file.content()});
    return found == own_.imported.end() ? older_states_of(file).rank : std::optional(found->second);
  }

  static std::string quoted_name(const ForeignFile& file) {
    return between_quotes(trace::JsonValue(file.trace_name()).text());
  }

  struct OlderStates {
    std::string sources;  // JSON array; empty: none
    std::optional<std::int64_t> rank;
  };

  // What was imported of it before, when somebody who writes to it still had written less: those
  // bytes are the first that it has now.
  [[nodiscard]] OlderStates older_states_of(ForeignFile& file) const {
    const std::string name = quoted_name(file);
    const auto is_of_file = [&name](std::string_view source_name) {
      return source_name.substr(0, source_name.rfind('#')) == name || source_name == name;
    };
    const auto mark_of = [](const std::string& content) {
      return content.substr(0, content.find('#'));
    };
    std::set<std::string> marks;
    for (const auto& [source, rank] : own_.imported) {
      if (is_of_file(source.first)) marks.insert(mark_of(source.second));
    }
    marks = marks_of_beginnings(file.report().path, marks);
    constexpr std::size_t most_bytes = std::size_t{16} << 10;  // they stand in RunFile's heads
    OlderStates older;
    trace::JsonArray sources;
    for (const auto& [source, rank] : own_.imported) {
      const auto& [source_name, content] = source;
      if (!is_of_file(source_name) || !marks.contains(mark_of(content))) continue;
      trace::JsonObject state;
      state.add("name", trace::JsonValue::raw("\"" + source_name + "\"")).add("content", content);
      if (sources.text().size() + state.text().size() > most_bytes) continue;
      older.rank = rank;
      sources.add(state);
    }
    if (older.rank) older.sources = sources.text();
    return older;
  }

  // Files of a rank are read one after the other: the numbers of its processes must not depend on
  // who is first. So those that turn out to be another rank's are read once more behind all, and
  // those of ours that another program has saved before all: they have such numbers already.
  void read_all() {
    groups_ = due_by_rank([](const ForeignFile& file) { return file.is_ours(); });
    read_groups();
    do {
      groups_ = due_by_rank([](const ForeignFile&) { return true; });
      read_groups();
    } while (!groups_.empty() && goes_on_);
  }

  template <typename Wanted>
  [[nodiscard]] std::vector<std::vector<ForeignFile*>> due_by_rank(Wanted is_wanted) const {
    std::map<std::int64_t, std::vector<ForeignFile*>> by_rank;
    for (const auto& file : files_) {
      const bool is_due = file->report().is_trace && file->is_due();
      if (is_due && is_wanted(*file)) by_rank[*file->rank()].push_back(file.get());
    }
    std::vector<std::vector<ForeignFile*>> groups;
    for (auto& [rank, files] : by_rank) groups.push_back(std::move(files));
    return groups;
  }

  void read_groups() {
    next_group_ = 0;
    const unsigned wanted = options_.threads != 0
                                ? options_.threads
                                : std::min(most_threads, std::thread::hardware_concurrency());
    const std::size_t most = std::min<std::size_t>(wanted, groups_.size());
    std::vector<std::thread> threads;
    threads.reserve(most);
    try {
      while (threads.size() + 1 < most) threads.emplace_back([this] { work(false); });
    } catch (const std::exception&) {
      // A limit on threads, or no memory: those there are do.
    }
    work(true);
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  void work(bool tells_progress) {
    const auto on_bytes = [this, tells_progress](std::uint64_t bytes) {
      const std::uint64_t done = done_bytes_ += bytes;
      if (tells_progress && options_.progress && !options_.progress(done, total_bytes_)) {
        goes_on_ = false;
      }
      return goes_on_.load();
    };
    try {
      for (std::size_t i = next_group_++; i < groups_.size() && goes_on_; i = next_group_++) {
        for (ForeignFile* const file : groups_[i]) file->read(pids_, on_bytes);
      }
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      failure_ = std::current_exception();
      goes_on_ = false;
    }
  }

  // Files of ours that another program has saved, beside those that they were made of. Of others'
  // files that such a one holds, but not all of it, the merge leaves out those.
  void leave_out_doubles() {
    std::set<std::string> known;
    for (const auto& [path, keys] : own_.sources) known.insert(keys.begin(), keys.end());
    std::set<std::string> imported;
    for (const auto& file : files_) {
      if (file->report().is_trace) imported.insert(content_key(file->content()));
    }
    for (const auto& file : files_) {
      if (file->is_part()) continue;
      const std::vector<std::string> keys = file->source_keys();
      const auto is_known = [&](const std::string& key) { return known.contains(key); };
      const auto is_held = [&](const std::string& key) {
        return is_known(key) || imported.contains(key);
      };
      if (replace_damaged(*file, keys)) {
        known.insert(keys.begin(), keys.end());
      } else if (!keys.empty() && std::all_of(keys.begin(), keys.end(), is_held)) {
        file->leave_out(!holds_more(*file, keys));
      } else if (std::any_of(keys.begin(), keys.end(), is_known)) {
        file->leave_out(false);
      } else if (const std::string part = own_part_beside(*file); !part.empty()) {
        file->leave_out_beside(part);
      } else {
        known.insert(keys.begin(), keys.end());
      }
    }
    leave_out_parts();
  }

  // Than ours, of which one was made of cut or damaged files, or is such a one.
  [[nodiscard]] bool holds_more(const ForeignFile& file,
                                const std::vector<std::string>& keys) const {
    if (!file.is_all_there()) return false;
    return std::any_of(own_.sources.begin(), own_.sources.end(), [&](const auto& own) {
      return are_shared(keys, own.second) && !trace::holds_all_of_its_sources(own.first);
    });
  }

  // The merge leaves out a part of ours of which a whole file that another program has saved holds
  // all. Where that may not be so it would hold both.
  [[nodiscard]] std::string own_part_beside(const ForeignFile& file) const {
    const std::vector<std::string> keys = file.source_keys();
    if (keys.empty() || file.is_all_there()) return "";
    const auto is_beside = [&keys](const auto& part) { return are_shared(keys, part.second); };
    const auto found = std::find_if(own_.parts.begin(), own_.parts.end(), is_beside);
    return found == own_.parts.end() ? std::string() : found->first;
  }

  static bool are_shared(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
  }

  struct Holder {
    std::string path;
    std::vector<std::string> keys;
    bool is_all_there;  // of its sources
  };

  // Who holds any of what the part holds. One into which it was imported before is left to the
  // merge: its lines were written alike.
  [[nodiscard]] std::vector<Holder> holders_of(ForeignFile& part) const {
    const std::vector<std::string> keys = part.source_keys();
    const std::string own_key = content_key(part.content());
    std::vector<Holder> holders;
    const auto add = [&](const std::string& path, const std::vector<std::string>& held,
                         const auto& is_all_there) {
      const bool has_part = std::find(held.begin(), held.end(), own_key) != held.end();
      if (!has_part && are_shared(keys, held)) holders.push_back({path, held, is_all_there()});
    };
    for (const auto& [path, held] : own_.sources) {
      const std::string& file = path;  // clang 14 takes no parts of a pair along
      if (!replaced_.contains(path))
        add(path, held, [&] { return trace::holds_all_of_its_sources(file); });
    }
    for (const auto& [path, held] : own_.parts) add(path, held, [] { return false; });
    bool is_behind = false;
    for (const auto& file : files_) {
      is_behind = is_behind || file.get() == &part;
      // Of two parts the first stays.
      const bool is_other = file.get() != &part && !(is_behind && file->is_part());
      if (!is_other || !is_taken(*file) || part.is_copy_of(*file)) continue;
      const bool is_saved = !file->source_keys().empty();
      add(file->report().path,
          is_saved ? file->source_keys() : std::vector{content_key(file->content())}, [&] {
            return !file->is_part() && (is_saved ? file->is_all_there() : has_no_fault(*file));
          });
    }
    return holders;
  }

  static bool has_no_fault(ForeignFile& file) {
    return file.report().problem.empty() && file.report().dropped.empty();
  }

  // Chosen parts that another program has saved: behind all others, of which each event is as it
  // was.
  void leave_out_parts() {
    for (const auto& file : files_) {
      if (!file->is_part() || !is_taken(*file)) continue;
      const std::vector<Holder> holders = holders_of(*file);
      if (holders.empty()) continue;
      std::set<std::string> whole;
      for (const Holder& holder : holders) {
        if (holder.is_all_there) whole.insert(holder.keys.begin(), holder.keys.end());
      }
      const std::vector<std::string> keys = file->source_keys();
      const bool is_all_held = std::all_of(keys.begin(), keys.end(),
                                           [&](const auto& key) { return whole.contains(key); });
      if (is_all_held) {
        file->leave_out(true);
      } else {
        file->leave_out_beside(holders.front().path);
      }
    }
  }

  void leave_out_copies() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!is_taken(*files_[i])) continue;
      for (std::size_t j = 0; j < i; ++j) {
        if (!is_taken(*files_[j]) || !files_[i]->is_copy_of(*files_[j])) continue;
        files_[i]->report().left_out = "a copy of " + files_[j]->report().path;
        break;
      }
    }
  }

  // It writes one beside the files of its ranks. The last that were given go first: of two files of
  // the same events, which a job of one rank has, the first stays.
  void leave_out_composers_merges() {
    const FilesOfRanks of_ranks = files_of_one_rank();
    for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
      if (!is_taken(**file) || (*file)->fingerprints().empty()) continue;
      (*file)->leave_out_or_warn(held_by_others(**file, of_ranks));
    }
  }

  using FilesOfRanks = std::map<std::int64_t, std::vector<ForeignFile*>>;

  // One behind the other in time.
  [[nodiscard]] FilesOfRanks files_of_one_rank() const {
    FilesOfRanks of_ranks;
    for (const auto& file : files_) {
      const Fingerprints& ranks = file->fingerprints();
      const bool is_of_one = ranks.size() == 1 && !is_anothers(ranks.begin()->first);
      if (is_of_one && is_taken(*file)) of_ranks[ranks.begin()->first].push_back(file.get());
    }
    const auto first_ns = [](const ForeignFile* file) {
      return file->fingerprints().begin()->second.first_ns;
    };
    for (auto& [rank, files] : of_ranks) {
      std::sort(files.begin(), files.end(), [&](const ForeignFile* a, const ForeignFile* b) {
        return first_ns(a) < first_ns(b);
      });
    }
    return of_ranks;
  }

  static HeldRanks held_by_others(const ForeignFile& file, const FilesOfRanks& of_ranks) {
    std::map<std::int64_t, std::vector<RankFingerprint>> others;
    for (const auto& [rank, fingerprint] : file.fingerprints()) {
      const auto found = of_ranks.find(rank);
      if (found == of_ranks.end()) continue;
      for (ForeignFile* const other : found->second) {
        if (other == &file || !is_taken(*other)) continue;
        others[rank].push_back(other->fingerprints().at(rank));
      }
    }
    return held_ranks(file.fingerprints(), others);
  }

  static bool is_taken(ForeignFile& file) {
    return file.report().is_trace && file.report().left_out.empty();
  }

  // Where what is damaged of ours is in a whole file that another program has saved: all of ours
  // that this one holds gives way, and where it does not hold all of such a one, nothing does.
  bool replace_damaged(ForeignFile& file, const std::vector<std::string>& keys) {
    if (file.is_part() || !file.is_all_there()) return false;
    const auto is_in_file = [&](const std::string& key) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    std::vector<std::string> held;
    for (const auto& [path, own_keys] : own_.sources) {
      if (std::none_of(own_keys.begin(), own_keys.end(), is_in_file)) continue;
      const bool is_all_there = std::all_of(own_keys.begin(), own_keys.end(), is_in_file);
      if (!is_all_there || replaced_.contains(path)) return false;
      held.push_back(path);
    }
    std::set<std::string> damaged;
    std::set<std::string> whole;
    for (const std::string& path : held) {
      const std::vector<std::string>& own_keys = own_.sources.at(path);
      (trace::holds_all_of_its_sources(path) ? whole : damaged)
          .insert(own_keys.begin(), own_keys.end());
    }
    if (std::includes(whole.begin(), whole.end(), damaged.begin(), damaged.end())) return false;
    for (const std::string& path : held) replaced_.emplace(path, file.report().path);
    return true;
  }

  // By clocks that do not show 1970.
  void place_without_clock() {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    std::int64_t first = none;
    const auto take = [&first](const std::optional<std::int64_t>& ns) {
      if (ns.value_or(0) >= EventTimes::epoch_ns) first = std::min(first, *ns);
    };
    take(own_.first_ns);
    for (const auto& file : files_) take(file->first_ns());
    if (first == none) return;
    for (const auto& file : files_) {
      if (file->report().is_trace && !file->first_ns()) file->place(first);
    }
  }

  const ImportOptions& options_;
  trace::JudgedFolder& judged_;
  OwnFiles own_;
  std::map<std::string, std::string> replaced_;
  std::vector<std::unique_ptr<ForeignFile>> files_;
  std::vector<std::vector<ForeignFile*>> groups_;
  ForeignPids pids_;
  std::uint64_t total_bytes_ = 0;
  std::atomic<std::uint64_t> done_bytes_ = 0;
  std::atomic<std::size_t> next_group_ = 0;
  std::atomic<bool> goes_on_ = true;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace

ImportedTraces::ImportedTraces(const std::vector<std::string>& files,
                               const ImportOptions& options) {
  if (files.empty()) return;
  folder_ = make_import_folder(options.folder, problem_);
  if (folder_.empty()) return;
  try {
    judged_.emplace(folder_);
    Import import(files, options, folder_, *judged_);
    paths_ = import.run(files_, made_of_);
    replaced_ = import.replaced();
  } catch (...) {
    remove_import_folder(folder_);
    throw;
  }
}

const ImportedFile* ImportedTraces::made_of(const std::string& path) const {
  const auto found = made_of_.find(path);
  return found == made_of_.end() ? nullptr : &files_[found->second];
}

ImportedTraces::~ImportedTraces() { remove_import_folder(folder_); }

}  // namespace traceagent::tools
