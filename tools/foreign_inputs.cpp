#include "tools/foreign_inputs.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "agent/event/hash.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_metadata.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tools/command_line.hpp"
#include "tools/losses.hpp"

namespace traceagent::tools {

namespace {

std::string ranks_in_words(const std::vector<std::int64_t>& ranks, const std::string& from) {
  if (ranks.size() > 1) return std::to_string(ranks.size()) + " ranks";
  const std::string rank = "rank " + std::to_string(ranks.front());
  if (from == "name") return rank + " (by its name)";
  return from == "none" ? rank + " (it names none)" : rank;
}

using FileIdentity = std::pair<dev_t, ino_t>;

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity(status.st_dev, status.st_ino);
}

// What is wrong: a match that cannot be looked at could be a trace.
std::string add_if_foreign(const std::string& path, std::vector<std::string>& foreign,
                           std::set<std::string>& matching) {
  const bool is_new = std::find(foreign.begin(), foreign.end(), path) == foreign.end();
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (error && type != std::filesystem::file_type::not_found) {
    return "not looked at: " + path + ": " + error.message() +
           ": let it be read, or do not include it";
  }
  const bool is_file = type == std::filesystem::file_type::regular;
  // What cannot be opened is told of as others' files are: nobody else would.
  if (is_new && is_file && !is_own_if_open(path).value_or(false)) {
    foreign.push_back(path);
    matching.insert(path);
  }
  return "";
}

struct Search {
  std::vector<std::string> found;
  std::string problem;
};

Search search_for(const std::string& pattern) {
  glob_t found{};
  Search search;
  const int result = glob(pattern.c_str(), 0, nullptr, &found);
  if (result != 0 && result != GLOB_NOMATCH) {
    search.problem =
        "not looked for: --include " + pattern + ": name the files, or free some memory";
  }
  if (result == 0) search.found.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return search;
}

bool names_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// By its path, however that is written; else by the name alone, of which there may be several.
std::vector<std::string> inputs_named(const std::string& name,
                                      const std::vector<std::string>& inputs) {
  const auto identity = identity_of(name);
  std::vector<std::string> named;
  for (const std::string& path : inputs) {
    if (path == name || (identity && identity_of(path) == identity)) return {path};
    if (name_of(path) == name) named.push_back(path);
  }
  return named;
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string folder_problem(const std::string& path) {
  return "a folder: " + path + ": name the files in it, such as " + path + "/*.json";
}

// index/index.json and index/index-node<n>.json (agent/trace/index_file.hpp).
bool is_index_of_run(const std::filesystem::path& path) {
  return path.parent_path().filename() == "index" &&
         path.filename().string().starts_with("index") && path.extension() == ".json";
}

}  // namespace

void add_foreign_options(CLI::App& command, ForeignOptions& options) {
  command.add_flag(
      "--strict", options.strict,
      "Write nothing when an input is no trace, or cut or damaged (single events that are "
      "lost are counted, as ever)");
  command
      .add_option("--include", options.include,
                  "Also the traces of others (not TraceAgent's own) whose paths match; may be "
                  "given again")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  command
      .add_option("--include-except", options.include_except,
                  "Of what --include finds, no file that is of these ranks alone, such as 8-15: "
                  "those of other nodes; a file that names no rank is included")
      ->type_name("LIST")
      ->allow_extra_args(false)
      ->check([](const std::string& list) {
        return parse_ranks(list).empty()
                   ? "not a list of ranks: " + list + ": give one such as 0,3-7"
                   : std::string();
      });
  command
      .add_option("--include-once", options.include_once,
                  "Of what --include finds and is of no node alone (it names no rank, or one that "
                  "the run has not), nothing that another node of the run has included, for which "
                  "all nodes give this folder. Without --include-except that is all it finds")
      ->type_name("FOLDER")
      ->check([](const std::string& folder) {
        return names_folder(folder) ? std::string()
                                    : "not a folder: " + folder + ": give one that all nodes see";
      });
  // The agent's, for what it starts.
  command.add_option("--claimant", options.claimant)->group("");
}

ForeignInputs::ForeignInputs(const TraceFiles& files, const ForeignOptions& options,
                             const std::string& output, const Progress& progress)
    : strict_(options.strict),
      has_unread_(!files.problems.empty()),
      not_looked_at_(files.unread),
      has_patterns_(!options.include.empty()) {
  for (const std::string& path : files.paths) {
    (is_own_trace(path) ? own_ : named_).push_back(path);
  }
  std::vector<std::string> foreign = named_;
  foreign.insert(foreign.end(), files.foreign.begin(), files.foreign.end());
  for (const std::string& pattern : options.include) {
    add_matching(pattern, foreign);
  }
  for (const std::string& list : options.include_except) {
    const auto ranges = parse_ranks(list);
    excepted_.ranks.insert(excepted_.ranks.end(), ranges.begin(), ranges.end());
  }
  leave_out_same_files(foreign);
  ImportOptions import;
  import.folder = std::filesystem::path(output).parent_path().string();
  import.ranks = ranks_by_path(foreign, options.ranks);
  if (!usage_problem_.empty()) foreign.clear();
  import.others_ranks = excepted_.ranks;
  import.own_files = own_;
  import.progress = progress;
  imported_ = std::make_unique<ImportedTraces>(foreign, import);
  if (!options.include_once.empty()) claim_files_of_nobody(options);
  std::erase_if(own_,
                [this](const std::string& path) { return imported_->replaced().contains(path); });
  paths_ = own_;
  std::copy_if(imported_->paths().begin(), imported_->paths().end(), std::back_inserter(paths_),
               [this](const std::string& path) {
                 const ImportedFile* const file = imported_->made_of(path);
                 return file == nullptr || exception_of(*file).empty();
               });
}

void ForeignInputs::add_matching(const std::string& pattern, std::vector<std::string>& foreign) {
  const Search search = search_for(pattern);
  std::string problem = search.problem;
  for (std::size_t i = 0; i < search.found.size() && problem.empty(); ++i) {
    problem = add_if_foreign(search.found[i], foreign, matching_);
  }
  if (usage_problem_.empty()) usage_problem_ = problem;
  if (search.found.empty()) {
    matchless_.push_back(pattern);
  } else if (std::all_of(search.found.begin(), search.found.end(), names_folder)) {
    // Beside files folders are what a "*" finds; alone they are a mistake.
    folders_.push_back(without_slashes(search.found.front()));
  }
}

bool ForeignInputs::is_excepted(const ImportedFile& file) const {
  return file.rank_from != "none" && !excepted_.ranks.empty() &&
         std::all_of(file.ranks.begin(), file.ranks.end(),
                     [this](std::int64_t rank) { return excepted_.has_rank(rank); });
}

// Without --include-except nobody knows whose the ranks of the run are.
bool ForeignInputs::is_surely_of_node(const ImportedFile& file, std::int64_t world_size) const {
  return file.rank_from != "none" && !excepted_.ranks.empty() &&
         std::all_of(file.ranks.begin(), file.ranks.end(), [&](std::int64_t rank) {
           return rank < world_size && !excepted_.has_rank(rank);
         });
}

std::string ForeignInputs::exception_of(const ImportedFile& file) const {
  if (file.ranks.empty() || !matching_.contains(file.path)) return "";
  if (is_excepted(file)) return "--include-except";
  const auto claim = claims_.find(file.path);
  const auto other = claim == claims_.end() ? std::nullopt : claim->second->other_node();
  return other ? "--include-once: node " + std::to_string(*other) + " has it" : "";
}

// Nodes that share a folder all find them, and no node is the one whose they are: those that name
// no rank, one that the run has not (which an earlier run left), or ranks of several nodes. In two
// node files they would overlap, and a merge of these would lose one. By their content: each node
// may have one of that name for itself. The node is that of the file they are to go into.
void ForeignInputs::claim_files_of_nobody(const ForeignOptions& options) {
  trace::TraceReader reader;
  if (own_.empty() || !reader.open(own_.front())) return;
  const std::string& info = reader.header().distributed_info;
  const auto run_key = trace::string_member(info, "run_key").value_or("");
  const std::int64_t node = trace::integer_member(info, "node_rank").value_or(0);
  for (const ImportedFile& file : imported_->files()) {
    if (!file.is_trace || !matching_.contains(file.path)) continue;
    if (is_excepted(file) || is_surely_of_node(file, reader.header().world_size)) continue;
    const std::string text = name_of(file.path) + "\n" + file.content;
    const std::string mark = std::to_string(event::hash_text(text));
    const std::string claimed =
        options.include_once + "/" + std::string(drain::included_name) + mark;
    const std::int64_t nodes = std::max(reader.header().world_size, node + 1);
    claims_.emplace(file.path, std::make_unique<drain::NodeClaim>(claimed, run_key, node, nodes,
                                                                  options.claimant));
  }
}

void ForeignInputs::keep_claims() const {
  for (const auto& [path, claim] : claims_) claim->keep();
}

// Links, and other ways to write a path, are the same file.
void ForeignInputs::leave_out_same_files(std::vector<std::string>& foreign) {
  std::set<FileIdentity> seen;
  std::erase_if(foreign, [&](const std::string& path) {
    const auto identity = identity_of(path);
    const bool is_known = identity && !seen.insert(*identity).second;
    if (is_known) given_twice_.push_back(path);
    return is_known;
  });
}

std::map<std::string, std::int64_t> ForeignInputs::ranks_by_path(
    const std::vector<std::string>& foreign, const std::map<std::string, std::int64_t>& given) {
  std::map<std::string, std::int64_t> ranks;
  for (const auto& [name, rank] : given) {
    const std::vector<std::string> meant = inputs_named(name, foreign);
    if (meant.size() == 1) {
      ranks[meant.front()] = rank;
    } else if (meant.empty()) {
      usage_problem_ = "--rank names no input: " + name +
                       ": give one that others wrote, by its path as the merge names it, or by its "
                       "file's name";
    } else {
      usage_problem_ = "--rank names several inputs: " + name +
                       ": give the path of one: " + meant[0] + " or " + meant[1];
    }
  }
  return ranks;
}

// That something was meant to be in it and is not, the output is to say.
bool ForeignInputs::adds_nothing_to(const std::string& output) const {
  return has_patterns_ && paths_ == std::vector{output} && unread().empty();
}

// Of one file of ours alone: it lacks what the patterns find. Of several nobody knows which.
bool ForeignInputs::settles(std::string_view lacking) const {
  if (!has_patterns_ || own_.size() != 1 || !imported_->problem().empty()) return false;
  if (lacking.starts_with(trace::include_mark)) return true;
  return std::any_of(
      imported_->files().begin(), imported_->files().end(), [&](const ImportedFile& file) {
        const bool is_here = file.is_trace && file.problem.empty() && file.left_out.empty();
        return is_here && matching_.contains(file.path) && exception_of(file).empty() &&
               name_of(file.path) == lacking;
      });
}

// Other JSON that lies in a folder is nobody's mistake, unless nothing may be left out. A run's own
// index never is one.
bool ForeignInputs::has_problem(const ImportedFile& file) const {
  const bool is_named = std::find(named_.begin(), named_.end(), file.path) != named_.end();
  const bool is_expected = !strict_ || is_index_of_run(file.path);
  return !file.problem.empty() && (is_named || !file.is_other_json || !is_expected);
}

bool ForeignInputs::may_be_cut(const ImportedFile& file) const {
  return file.open_end && file.left_out.empty() && exception_of(file).empty();
}

bool ForeignInputs::is_nothing_read() const {
  return !imported_->problem().empty() && paths_.empty();
}

bool ForeignInputs::is_refused() const {
  return strict_ && (has_unread_ || !folders_.empty() || !imported_->problem().empty() ||
                     std::any_of(imported_->files().begin(), imported_->files().end(),
                                 [this](const ImportedFile& file) {
                                   return has_problem(file) || may_be_cut(file);
                                 }));
}

std::vector<trace::Unfinished> ForeignInputs::unread() const {
  std::vector<trace::Unfinished> unread = not_looked_at_;
  for (const ImportedFile& file : imported_->files()) {
    const bool is_in = file.is_trace && !file.is_lost;
    if (is_in || !has_problem(file) || !exception_of(file).empty()) continue;
    unread.push_back({name_of(file.path), file.problem});
  }
  for (const std::string& folder : folders_) {
    unread.push_back({name_of(folder), folder_problem(folder)});
  }
  const std::vector<trace::Unfinished> mixed = this->mixed();
  unread.insert(unread.end(), mixed.begin(), mixed.end());
  return unread;
}

// As the merge says it of our own (trace::MergeReport::mixed).
std::vector<trace::Unfinished> ForeignInputs::mixed() const {
  const auto& files = imported_->files();
  const auto is_left_out = [&](const std::string& path) {
    const auto file = std::ranges::find(files, path, &ImportedFile::path);
    return file != files.end() && !exception_of(*file).empty();
  };
  std::vector<trace::Unfinished> mixed;
  for (const MixedRank& rank : imported_->mixed()) {
    if (is_left_out(rank.first) || is_left_out(rank.second)) continue;
    mixed.push_back({"rank " + std::to_string(rank.rank),
                     rank.why + ", whose lanes and arrows are mixed: " + name_of(rank.first) +
                         " and " + name_of(rank.second) +
                         ": tell their ranks by --rank FILE=N, or merge each by itself"});
  }
  return mixed;
}

bool ForeignInputs::print() const {
  bool ok = imported_->problem().empty();
  if (!ok) say(imported_->problem());
  for (const std::string& pattern : matchless_) {
    std::cout << "--include: " << pattern << ": no file matches\n";
  }
  for (const std::string& folder : folders_) {
    say(folder_problem(folder));
    ok = false;
  }
  for (const std::string& path : given_twice_) {
    std::cout << "left out: " << path << ": given twice\n";
  }
  for (const auto& [path, holder] : imported_->replaced()) {
    std::cout
        << "left out: " << path << ": " << holder
        << ", which is given too, holds all of it, and what is given of it is not all whole\n";
  }
  for (const ImportedFile& file : imported_->files()) {
    if (const std::string exception = exception_of(file); !exception.empty()) {
      std::cout << "left out: " << file.path << ": " << ranks_in_words(file.ranks, file.rank_from)
                << ": " << exception << "\n";
      continue;
    }
    if (has_problem(file)) {
      say(file.problem);
      ok = false;
    } else if (!file.left_out.empty()) {
      std::cout << "left out: " << file.path << ": " << file.left_out << "\n";
    } else if (!file.is_trace) {
      std::cout << "left out: " << file.path << ": not a trace: at byte 0: it holds no events\n";
    }
    if (strict_ && may_be_cut(file)) say(not_closed(file));
    if (file.is_trace && file.left_out.empty()) print_file(file);
  }
  for (const trace::Unfinished& rank : mixed()) {
    std::cout << "mixed: " << rank.who << " " << rank.why << "\n";
  }
  if (is_refused()) say("nothing was written: --strict: leave out the files named above");
  return ok;
}

trace::GivenPaths ForeignInputs::given_paths() const {
  trace::GivenPaths given;
  for (const std::string& path : imported_->paths()) {
    if (const ImportedFile* const file = imported_->made_of(path)) given[path] = file->path;
  }
  return given;
}

std::vector<trace::MergedInput> ForeignInputs::as_given(
    const std::vector<trace::MergedInput>& inputs) const {
  std::vector<trace::MergedInput> given;
  std::set<std::tuple<std::string, std::string, std::string>> said;
  for (trace::MergedInput input : inputs) {
    if (const ImportedFile* const file = imported_->made_of(input.path)) {
      input.path = file->path;
      if (!said.emplace(input.path, input.left_out, input.problem).second) continue;
    }
    given.push_back(std::move(input));
  }
  return given;
}

void ForeignInputs::print_file(const ImportedFile& file) const {
  const bool has_rank = file.rank_from != "none" || file.events > 0;
  std::cout << "read: " << file.path << ": " << file.kind << ", "
            << (has_rank ? ranks_in_words(file.ranks, file.rank_from) + ", " : "")
            << in_words(file.events, "event");
  for (const auto& [cause, count] : file.dropped) {
    std::cout << ", " << count << " lost: " << cause;
  }
  if (file.repaired > 0) std::cout << ", " << file.repaired << " repaired";
  if (file.crowded > 0) {
    std::cout << ", " << file.crowded << " in shared lanes: it has too many processes or threads";
  }
  if (file.placed > 0) {
    std::cout << ", " << file.placed << " placed where the others begin: they have no real time";
  }
  if (file.open_end) std::cout << ", not closed: perhaps cut at byte " << *file.open_end;
  if (!file.has_clock && file.events > 0) std::cout << ", its times are relative";
  std::cout << "\n";
}

}  // namespace traceagent::tools
