#include "tools/import/import.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "tools/import/composer_merges.hpp"
#include "tools/import/file_beginnings.hpp"
#include "tools/import/file_ranks.hpp"
#include "tools/import/foreign_file.hpp"
#include "tools/import/import_folder.hpp"
#include "tools/import/known_files.hpp"
#include "tools/import/mixed_ranks.hpp"
#include "tools/import/older_states.hpp"
#include "tools/import/own_files.hpp"
#include "tools/import/parallel_reading.hpp"
#include "tools/import/saved_files.hpp"

namespace traceagent::tools {

namespace {

class Import {
 public:
  Import(const std::vector<std::string>& paths, const ImportOptions& options,
         const std::string& folder, trace::JudgedFolder& judged)
      : options_(options), judged_(judged), own_(options.own_files), saved_(files_, own_) {
    for (const std::string& path : paths) {
      const auto given = options.ranks.find(path);
      const auto rank = given == options.ranks.end() ? std::nullopt : std::optional(given->second);
      const std::string prefix = folder + "/" + std::to_string(files_.size()) + "-";
      files_.push_back(std::make_unique<ForeignFile>(path, prefix, rank));
    }
    for (const auto& [pid, identity] : own_.processes) pids_.keep(pid, identity);
    for (const auto& file : files_) {
      if (own_.is_of_one_rank()) file->take_no_number_alone();
      file->peek();
      for (const std::string& source : file->saved_sources()) own_.add_imported(source);
    }
  }

  [[nodiscard]] const std::map<std::string, std::string>& replaced() const {
    return saved_.replaced();
  }

  // After run().
  [[nodiscard]] std::vector<MixedRank> mixed() const { return mixed_ranks(files_); }

  // `made_of`: of each path that is returned, which file it is of.
  std::vector<std::string> run(std::vector<ImportedFile>& reports,
                               std::map<std::string, std::size_t>& made_of) {
    const KnownFiles known(own_);
    FileRanks(files_, own_, known, options_.others_ranks).find();
    ParallelReading(files_, pids_, options_).read_all();
    find_known(known);
    saved_.leave_out_doubles();
    leave_out_copies();
    leave_out_composers_merges(files_, options_.others_ranks);
    leave_out_beginnings(files_);
    warn_of_twins();
    for (const auto& file : files_) {
      if (file->report().is_trace) file->set_older_states(older_states_of(*file, own_).sources);
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
  void find_known(const KnownFiles& known_files) {
    for (const auto& file : files_) {
      const ImportedSource* const known = file->is_taken() ? known_files.find(*file) : nullptr;
      if (known != nullptr) file->know_as(*known);
    }
  }

  void leave_out_copies() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!files_[i]->is_taken()) continue;
      for (std::size_t j = 0; j < i; ++j) {
        if (!files_[j]->is_taken() || !files_[i]->is_copy_of(*files_[j])) continue;
        files_[i]->report().left_out = "a copy of " + files_[j]->report().path;
        break;
      }
    }
  }

  // What another program has written anew of others' files is no copy to the letter.
  void warn_of_twins() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (!files_[i]->is_taken()) continue;
      const auto end = files_.begin() + static_cast<std::ptrdiff_t>(i);
      const auto twin = std::find_if(files_.begin(), end, [&](const auto& other) {
        return other->is_taken() && files_[i]->seems_written_anew(*other);
      });
      if (twin != end) files_[i]->warn_of_twin(**twin);
    }
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
  ForeignFiles files_;
  SavedFiles saved_;
  ForeignPids pids_;
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
    mixed_ = import.mixed();
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
