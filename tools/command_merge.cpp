#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "agent/trace/file_problem.hpp"
#include "agent/trace/input_runs.hpp"
#include "agent/trace/merge.hpp"
#include "agent/trace/merge_input.hpp"
#include "tools/clocks/align_options.hpp"
#include "tools/command_line.hpp"
#include "tools/damaged_inputs.hpp"
#include "tools/ending_signals.hpp"
#include "tools/folder_options.hpp"
#include "tools/foreign_inputs.hpp"
#include "tools/held_folders.hpp"
#include "tools/merge_choice.hpp"
#include "tools/merge_outputs.hpp"
#include "tools/merge_report.hpp"
#include "tools/missing_ranks.hpp"
#include "tools/open_files.hpp"
#include "tools/progress_bar.hpp"
#include "tools/reading_threads.hpp"
#include "tools/side_thread.hpp"
#include "tools/temporary_files.hpp"
#include "tools/trace_files.hpp"
#include "tools/unfinished_ranks.hpp"

namespace traceagent::tools {

namespace {

struct MergeArguments {
  std::vector<std::string> inputs;
  FolderOptions folders;
  std::string output;  // empty: the usual name
  bool per_node = false;
  bool force = false;
  bool mix_runs = false;
  bool gzip = false;
  int level = 1;
  ChoiceOptions choice;
  ForeignOptions foreign;
  AlignOptions align = {};
};

constexpr char usual_name[] = "merged.json";

// One call of the command.
class MergeCommand {
 public:
  explicit MergeCommand(const MergeArguments& arguments) : arguments_(arguments) {}

  int run();

 private:
  [[nodiscard]] std::function<bool(std::uint64_t, std::uint64_t)> progress();
  // Which is said. A merge alone finds it out itself; of several the first would be written
  // already.
  bool are_damaged(const std::vector<std::string>& files);
  // `output`: a template where there is one for each node.
  bool merge_files(const ForeignInputs& foreign, const std::string& output);
  bool is_any_its_own_input(const MergeOutputs& outputs, const ForeignInputs& foreign);
  bool is_refused_at_once(const MergeOutputs& outputs);
  bool is_of_several_runs(const MergeOutputs& outputs);
  bool merge_into(const MergeOutput& output, const Choice& choice, const ForeignInputs& foreign);
  // Ranks that still run or were killed are not said to be missing too. Of several nodes what is
  // missing is told once, of all together.
  void tell_unfinished(const std::vector<trace::Unfinished>& unfinished,
                       trace::MergeReport& report);
  bool tell_empty(const MergeOutput& output, const Choice& choice, const SelectionCounts& counts,
                  const trace::MergeReport& report);
  void tell_unwanted() const;
  // That are read, once the clocks are known.
  [[nodiscard]] std::uint64_t merging_bytes(const std::vector<std::string>& files) const {
    return bytes_of(files) * (1 + arguments_.choice.first_readings());
  }

  const MergeArguments& arguments_;
  trace::MergeOptions options_;
  ProgressBar bar_;
  bool is_any_written_ = false;
  std::set<std::int64_t> told_ranks_;  // that are in an output, or of which it said that they miss
  trace::JobRanks job_;                // of all outputs
  bool is_job_known_ = true;           // each of them has read its inputs
  std::vector<std::string> unwanted_;  // why nodes have no file: nothing of them was asked for
};

void print_choice(const Choice& choice, const SelectionCounts& counts) {
  print_selection(counts);
  for (const std::string& line : counts.categories.missing_in_words(choice.rules.categories)) {
    std::cout << line << "\n";
  }
}

// Of the inputs none has a rank that was asked for.
bool are_unwanted(const trace::MergeReport& report) {
  return std::ranges::any_of(report.inputs, &trace::MergedInput::unwanted) &&
         std::ranges::all_of(report.inputs, [](const trace::MergedInput& input) {
           return !input.left_out.empty() && input.problem.empty();
         });
}

// A file with its rank, as in --rank FILE=N.
std::map<std::string, std::int64_t> ranks_of_files(const std::vector<std::string>& words) {
  std::map<std::string, std::int64_t> ranks;
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    if (equals != std::string::npos) {
      ranks[word.substr(0, equals)] = parse_ranks(word.substr(equals + 1)).front().first;
    }
  }
  return ranks;
}

// What others hold is left out, damaged or not, and its times are on no other's clock.
std::vector<std::string> used_of(const std::vector<std::string>& files) {
  std::vector<std::string> used;
  for (const trace::MergeInput& input : trace::scan_inputs(files, nullptr)) {
    if (input.is_used()) used.push_back(input.report.path);
  }
  return used;
}

// Those of `files`, in their order, that are in an output: what is left out decides nothing.
std::vector<std::string> inputs_of(const MergeOutputs& outputs,
                                   const std::vector<std::string>& files) {
  std::set<std::string> taken;
  for (const MergeOutput& each : outputs.outputs) {
    taken.insert(each.inputs.begin(), each.inputs.end());
  }
  std::vector<std::string> inputs;
  std::ranges::copy_if(files, std::back_inserter(inputs),
                       [&](const std::string& file) { return taken.contains(file); });
  return inputs;
}

std::function<bool(std::uint64_t, std::uint64_t)> MergeCommand::progress() {
  return [this, before = std::uint64_t{0}](std::uint64_t done, std::uint64_t) mutable {
    bar_.add(done - std::min(before, done));
    before = done;
    return !is_ending();
  };
}

int MergeCommand::run() {
  trace::word_file_problems(trace::Wording::of_merge);
  NodeTemplate output{arguments_.output.empty() ? usual_name : arguments_.output};
  if (arguments_.per_node) {
    output = node_template(arguments_.output, arguments_.gzip);
  }
  if (!arguments_.per_node && output.text.find("{node_rank}") != std::string::npos) {
    output.problem = "bad output: " + output.text +
                     ": one file is written: give --per-node, or a name without {node_rank}";
  }
  if (output.text == "-") {
    output.problem = "bad output: -: only files are written: give a name, such as merged.json";
  }
  if (!output.problem.empty()) {
    say(output.problem);
    return exit_usage;
  }
  const HeldFolders held = hold_folders(arguments_.inputs, arguments_.folders.recursive);
  const TraceFiles files = trace_files(arguments_.inputs, arguments_.folders);
  for (const std::string& problem : files.problems) {
    say(problem);
  }
  const bool is_nothing = files.paths.empty() && files.foreign.empty();
  if (is_nothing && arguments_.foreign.include.empty()) {
    return exit_bad_data;  // which was said
  }
  ForeignOptions foreign_options = arguments_.foreign;
  foreign_options.ranks = ranks_of_files(arguments_.choice.ranks);
  // Others' are read once more than ours.
  bar_.expect(bytes_of(files.foreign) + merging_bytes(files.paths) + merging_bytes(files.foreign));
  const ForeignInputs foreign(files, foreign_options, output.text, progress());
  bar_.clear();
  if (!foreign.usage_problem().empty()) {
    say(foreign.usage_problem());
    return exit_usage;
  }
  const bool is_fine = foreign.print() && files.problems.empty();
  if (foreign.is_refused() || foreign.is_nothing_read()) {
    return exit_bad_data;  // which was said
  }
  if (arguments_.foreign.strict && arguments_.per_node && are_damaged(foreign.own())) {
    say("nothing was written: --strict: leave out the files named above");
    return exit_bad_data;
  }
  if (foreign.adds_nothing_to(output.text)) {
    return is_fine ? exit_ok : exit_bad_data;
  }
  return merge_files(foreign, output.text) && is_fine ? exit_ok : exit_bad_data;
}

bool MergeCommand::are_damaged(const std::vector<std::string>& files) {
  const std::vector<std::string> used = used_of(files);
  bar_.leave_for_later(merging_bytes(used));
  bar_.expect(bytes_of(used));
  const auto damages = damages_of(used, [this](std::uint64_t bytes) { bar_.add(bytes); });
  bar_.clear();
  for (const std::string& damage : damages) say(damage);
  return !damages.empty();
}

// Our own files, and those that have become such.
bool MergeCommand::merge_files(const ForeignInputs& foreign, const std::string& output) {
  const std::vector<std::string>& given = foreign.paths();
  const MergeOutputs outputs =
      arguments_.per_node ? outputs_of_nodes(given, output) : MergeOutputs{{{output, given}}};
  if (!outputs.problem.empty()) {
    say(outputs.problem);
    return false;
  }
  for (const std::string& problem : outputs.problems) say(problem);
  if (!outputs.problems.empty() && (arguments_.foreign.strict || outputs.outputs.empty())) {
    say("nothing was written: leave out the files named above, or give the rank files");
    return false;
  }
  options_.given_paths = foreign.given_paths();
  if (is_refused_at_once(outputs)) return false;
  for (const std::string& note : outputs.notes) std::cout << note << "\n";
  options_.gzip_level = arguments_.level;
  options_.overwrite = arguments_.force;
  options_.strict = arguments_.foreign.strict;
  options_.mix_runs = arguments_.mix_runs;
  const std::vector<std::string> files = inputs_of(outputs, given);
  bar_.leave_for_later(merging_bytes(files));
  if (!put_clocks_together(files, arguments_.align, options_, bar_)) {
    return false;
  }
  bar_.leave_for_later(0);
  bar_.expect(merging_bytes(files));
  const Choice choice =
      choice_of(arguments_.choice, arguments_.choice.is_everything() ? files : used_of(files),
                options_.corrections, [this](std::uint64_t bytes) { bar_.add(bytes); });
  if (!choice.problem.empty()) {
    bar_.clear();
    say(choice.problem);
    return false;
  }
  if (!arguments_.choice.is_everything() && is_any_its_own_input(outputs, foreign)) {
    return false;
  }
  bool ok = outputs.problems.empty();
  for (const MergeOutput& each : outputs.outputs) {
    ok = merge_into(each, choice, foreign) && ok;
  }
  const bool is_of_all_ranks = choice.rules.ranks.empty();
  if (arguments_.per_node && is_of_all_ranks && is_job_known_) print_missing_ranks(job_);
  tell_unwanted();
  const std::string missing = missing_ranks_in_words(choice.rules, told_ranks_);
  if (ok && !told_ranks_.empty() && !missing.empty()) std::cout << missing << "\n";
  return ok && (is_any_written_ || unwanted_.empty());
}

// What can be said before minutes of reading; who writes looks again.
bool MergeCommand::is_refused_at_once(const MergeOutputs& outputs) {
  std::error_code ignored;
  for (const MergeOutput& each : outputs.outputs) {
    // Of several nodes some may be new: each says it for itself.
    if (arguments_.per_node || arguments_.force ||
        !std::filesystem::is_regular_file(each.path, ignored)) {
      continue;
    }
    bar_.clear();
    say(trace::file_problem("refused to replace a trace", each.path, EEXIST));
    return true;
  }
  return is_of_several_runs(outputs);
}

// Of a part who merges looks, when the ranks are known.
bool MergeCommand::is_of_several_runs(const MergeOutputs& outputs) {
  if (arguments_.mix_runs || !arguments_.choice.is_everything()) return false;
  for (const MergeOutput& each : outputs.outputs) {
    if (trace::different_runs(trace::read_headers(each.inputs, options_.given_paths)).empty())
      continue;
    // What others hold does not count; that is looked at within the files.
    const std::string runs =
        trace::different_runs(trace::scan_inputs(each.inputs, nullptr, options_.given_paths));
    if (runs.empty()) continue;
    bar_.clear();
    say(trace::different_runs_problem(runs));
    return true;
  }
  return false;
}

// What was not chosen would be lost.
bool MergeCommand::is_any_its_own_input(const MergeOutputs& outputs, const ForeignInputs& foreign) {
  for (const MergeOutput& each : outputs.outputs) {
    std::vector<trace::MergedInput> inputs(each.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].path = each.inputs[i];
    for (const trace::MergedInput& input : foreign.as_given(inputs)) {
      std::error_code ignored;
      if (!std::filesystem::equivalent(input.path, each.path, ignored)) continue;
      bar_.clear();
      say("refused to replace an input by a part of it: " + each.path +
          ": give another output (-o)");
      return true;
    }
  }
  return false;
}

void MergeCommand::tell_unfinished(const std::vector<trace::Unfinished>& unfinished,
                                   trace::MergeReport& report) {
  told_ranks_.insert(report.ranks.begin(), report.ranks.end());
  told_ranks_.insert(report.missing_ranks.begin(), report.missing_ranks.end());
  job_.add(report.job_ranks);
  is_job_known_ = is_job_known_ && (report.problem.empty() || report.is_empty);
  if (arguments_.per_node) {
    report.missing_ranks.clear();
    report.missing_of_node.clear();
  }
  for (const trace::Unfinished& process : unfinished) {
    std::cout << "missing: " << process.who << " " << process.why << "\n";
    const auto rank = trace::rank_in_words(process.who);
    if (!rank) continue;
    std::erase(report.missing_ranks, *rank);
    job_.add_rank(*rank);
  }
}

bool MergeCommand::tell_empty(const MergeOutput& output, const Choice& choice,
                              const SelectionCounts& counts, const trace::MergeReport& report) {
  const bool ok = print_inputs(report);
  print_missing_ranks(report);
  print_choice(choice, counts);
  unwanted_.push_back("nothing was written into " + output.path + ": " +
                      emptiness_in_words(choice, counts));
  return ok;
}

// No error of the others'.
void MergeCommand::tell_unwanted() const {
  for (const std::string& line : unwanted_) {
    if (is_any_written_) {
      std::cout << line << "\n";
    } else {
      say(line);
    }
  }
}

bool MergeCommand::merge_into(const MergeOutput& output, const Choice& choice,
                              const ForeignInputs& foreign) {
  trace::MergeOptions options = options_;
  options.gzip = arguments_.gzip || output.path.ends_with(".gz");
  const std::vector<trace::Unfinished> unfinished = unfinished_ranks(output.inputs);
  options.unfinished = foreign.unread();
  options.unfinished.insert(options.unfinished.end(), unfinished.begin(), unfinished.end());
  options.is_settled = [&foreign](std::string_view lacking) { return foreign.settles(lacking); };
  options.progress = progress();
  make_room_for_open_files(2 * output.inputs.size());
  SideThread writer;
  options.side_work = &writer;
  ReadingThreads readers(output.inputs.size());
  options.side_reads = readers.are_any() ? &readers : nullptr;
  options.ranks_wanted =
      arguments_.per_node ? trace::RanksWanted::of_told_node : trace::RanksWanted::of_job;
  std::optional<EventSelection> selection;
  if (!arguments_.choice.is_everything()) {
    options.refuse_empty = arguments_.choice.has_window() || !choice.rules.categories.empty();
    selection.emplace(choice.rules, choice.asked, [this](std::uint64_t bytes) { bar_.add(bytes); });
    options.selection = &*selection;
  }
  // Of merges that were killed.
  remove_old_temporaries(std::filesystem::path(output.path).parent_path().string());
  const GuardedOutput guarded(output.path);
  trace::MergeReport report = trace::merge(output.inputs, output.path, options);
  if (report.problem.empty()) foreign.keep_claims();
  report.inputs = foreign.as_given(report.inputs);
  bar_.clear();
  if (are_unwanted(report)) {
    unwanted_.push_back(report.problem);
    return true;
  }
  tell_unfinished(unfinished, report);
  if (report.is_empty) return tell_empty(output, choice, selection->counts(), report);
  is_any_written_ = true;
  const bool ok = print_report(report, output.path);
  const bool is_of_all_ranks = choice.rules.ranks.empty() && report.problem.empty();
  if (is_of_all_ranks && !arguments_.per_node) print_other_nodes(report);
  if (selection && report.problem.empty()) {
    print_choice(choice, selection->counts());
    // Ranks that have a file and no event in it.
    if (report.events == 0) std::cout << emptiness_in_words(choice, selection->counts()) << "\n";
  }
  return ok;
}

void add_input_options(CLI::App& command, MergeArguments& arguments) {
  command
      .add_option("inputs", arguments.inputs,
                  "Files that TraceAgent or others (PyTorch, Composer, ...) wrote, or folders of "
                  "them; in any order")
      ->required();
  add_recursive_option(command, arguments.folders);
  command
      .add_option("--suffix", arguments.folders.suffixes,
                  "Of folders, only files whose names end in one of these; may be given again")
      ->type_name("LIST")
      ->delimiter(',')
      ->transform(without_outer_spaces())
      ->transform(CLI::Validator(
          [](std::string& word) {
            if (word.starts_with('*')) word.erase(0, 1);  // as the messages have it
            return std::string();
          },
          ""))
      ->allow_extra_args(false)
      ->capture_default_str();
}

void add_output_options(CLI::App& command, MergeArguments& arguments) {
  CLI::Option* const output = command.add_option(
      "-o,--output", arguments.output,
      "The file to write [merged.json]; .gz compresses it. With --per-node a folder [.], or a name "
      "with {node_rank}");
  output->type_name("FILE");
  command.add_flag("--per-node", arguments.per_node,
                   "One file for each node, node{node_rank}.json, not one for all");
  command.add_flag("--force", arguments.force, "Replace the output if it exists");
  command.add_flag(
      "--mix-runs", arguments.mix_runs,
      "Join files of different runs all the same; a rank's lanes and arrows are mixed then, "
      "and told of");
  command.add_flag("--gzip", arguments.gzip, "Compress whatever the output's name is");
  command.add_option("--level", arguments.level, "Compression, 1 (fast) to 9 (small)")
      ->transform(whole_number())
      ->check(CLI::Range(1, 9))
      ->capture_default_str();
}

// Of "a, ,b" two are meant; of an empty one, as a shell makes of a variable that is not set,
// nothing.
void check_list(const CLI::Option& option, std::vector<std::string>& words) {
  std::erase(words, "");
  if (option.count() > 0 && words.empty()) {
    throw CLI::ValidationError(option.get_name(),
                               "it is empty: leave the option out, or name some");
  }
}

void check_level(const CLI::Option& option, const MergeArguments& arguments) {
  if (option.count() == 0 || arguments.gzip || arguments.output.ends_with(".gz")) return;
  throw CLI::ValidationError(option.get_name(),
                             "nothing is compressed: end the output's name in .gz, or add --gzip");
}

}  // namespace

void add_merge_command(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("merge", "Join trace files of ranks, cycles and nodes into one");
  const auto arguments = std::make_shared<MergeArguments>();
  add_input_options(*command, *arguments);
  add_output_options(*command, *arguments);
  add_choice_options(*command, arguments->choice);
  add_foreign_options(*command, arguments->foreign);
  add_align_options(*command, arguments->align);
  command->footer(
      "Exits with 1 when an input was not there, cut, unreadable or no trace; the others are "
      "merged.\n"
      "So it does where no event is of what was asked for: then nothing is written. Ranks of the\n"
      "job that are missing are told: of one node's files, of that node; else of all nodes.\n"
      "Files of different runs are refused where they have a node or a rank in common, unless\n"
      "--mix-runs; else they are joined, and that is told.\n"
      "An event overlaps a window that it only touches. Metadata events are always kept. An arrow\n"
      "stays where the slices at both its ends do. With --clip a counter begins with its last "
      "value\n"
      "before the window.\n"
      "examples:\n"
      "  traceagent merge my-run/traces\n"
      "  traceagent merge node0.json node1.json -o all.json.gz --force\n"
      "  traceagent merge my-run/traces -o steps.json --steps 20 22 --rank 0,3-7\n"
      "  traceagent merge my-run/traces -o end.json --time -500ms end --clip\n"
      "  traceagent merge -r runs/7 --per-node -o merged --category kernel,nccl\n"
      "  traceagent merge node*.json --align collectives\n"
      "  traceagent merge my-run/traces host_*.pt.trace.json.gz odd.json --rank odd.json=3\n"
      "  traceagent merge -r profiler-output --suffix timeline.json,trace.json.gz -o all.json");
  command->callback([command, arguments, &exit_code] {
    check_list(*command->get_option("--category"), arguments->choice.categories);
    check_list(*command->get_option("--suffix"), arguments->folders.suffixes);
    check_choice(arguments->choice);
    check_level(*command->get_option("--level"), *arguments);
    exit_code = MergeCommand(*arguments).run();
  });
}

}  // namespace traceagent::tools
