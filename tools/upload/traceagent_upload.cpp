// Uploads what a run's ranks have queued, and files by hand. An executable of its own: it alone
// needs libcurl, and `traceagent` is carried to machines that have none.
#include <curl/curl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <set>

#include "agent/trace/upload_journal.hpp"
#include "config/command_words.hpp"
#include "config/remote_target.hpp"
#include "config/units.hpp"
#include "tools/command_line.hpp"
#include "tools/given_path.hpp"
#include "tools/out_of_memory.hpp"
#include "tools/plain_output.hpp"
#include "tools/upload/forget.hpp"
#include "tools/upload/low_priority.hpp"
#include "tools/upload/queue_by_hand.hpp"
#include "tools/upload/status.hpp"
#include "tools/upload/work_off.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::vector<std::string> files;
  std::string to;
  std::string forget;
  std::string resume;
  std::string status;
  std::string host;
  std::string patience;  // empty: by hand a little, beside a job as upload.patience is by default
  std::string command_time = "10min";
  std::string multipart_from = "64MiB";
  std::string part_size = "16MiB";
  std::uint64_t compact_from = UploaderOptions().compact_from;
  bool beside_job = false;
  bool allow_commands = false;
  std::set<std::string> others;  // of what is queued: who uploads by hand has not asked for it
};

// Throws CLI::ValidationError.
std::uint64_t quantity(const char* option, const std::string& text,
                       config::Quantity (*parse)(std::string_view)) {
  const config::Quantity read = parse(text);
  if (read.problem.empty()) return read.value;
  throw CLI::ValidationError(option, "\"" + text + "\": " + read.problem);
}

std::chrono::nanoseconds duration(const char* option, const std::string& text) {
  constexpr std::uint64_t for_ever = std::uint64_t{10 * 365 * 86'400} * 1'000'000'000;
  return std::chrono::nanoseconds(
      std::min(quantity(option, text, config::parse_duration), for_ever));
}

UploaderOptions options_of(const Arguments& arguments) {
  UploaderOptions options;
  const char* const usual_patience = arguments.beside_job ? "1h" : "5min";
  options.patience =
      duration("--patience", arguments.patience.empty() ? usual_patience : arguments.patience);
  options.command_time = duration("--command-time", arguments.command_time);
  if (options.command_time.count() == 0) {
    throw CLI::ValidationError("--command-time", "0 leaves a command no time");
  }
  options.sizes.multipart_from =
      quantity("--multipart-from", arguments.multipart_from, config::parse_bytes);
  options.sizes.part = quantity("--part-size", arguments.part_size, config::parse_bytes);
  if (options.sizes.part < 5 << 20) {
    throw CLI::ValidationError("--part-size", "less than 5MiB, the least that S3 takes");
  }
  options.compact_from = arguments.compact_from;
  options.beside_job = arguments.beside_job;
  options.allow_commands = arguments.allow_commands || arguments.beside_job;
  options.others = arguments.others;
  return options;
}

// Of those whose journals they are.
std::string hosts_in_words(const std::vector<std::string>& journals) {
  std::string words;
  for (const std::string& journal : journals) {
    words += (words.empty() ? "give " : " or ") + fs::path(journal).stem().string();
  }
  return words.empty() ? "no host has" : words;
}

// False where there is some.
bool tell_damage(const Journal& journal) {
  const std::string words = damage_in_words(journal);
  if (!words.empty()) say(journal.path() + ": " + words);
  return words.empty();
}

int resume(const Arguments& arguments, const Tell& tell) {
  std::vector<std::string> journals = journals_in(arguments.resume);
  if (!arguments.host.empty()) {
    const std::string wanted = trace::journal_path(arguments.resume, arguments.host);
    const bool is_known =
        std::any_of(journals.begin(), journals.end(), [&](const std::string& journal) {
          return fs::path(journal).filename() == fs::path(wanted).filename();
        });
    // Beside a job it may be there in a moment.
    if (!is_known && !arguments.beside_job) {
      say("--host: " + arguments.host + ": has queued nothing in " + arguments.resume + ": " +
          hosts_in_words(journals));
      return exit_usage;
    }
    journals = {wanted};
  }
  if (journals.empty()) {
    std::cout << arguments.resume << ": no uploads are queued there\n";
    return exit_ok;
  }
  bool ok = true;
  for (const std::string& journal : journals) {
    try {
      ok = work_off(arguments.resume, journal, options_of(arguments), tell) && ok;
      ok = tell_damage(Journal(arguments.resume, journal)) && ok;
    } catch (const std::runtime_error& error) {  // the others' files wait for none of it
      say(error.what());
      ok = false;
    }
  }
  return ok ? exit_ok : exit_bad_data;
}

std::set<std::string> queued_before(const std::set<std::string>& folders) {
  std::set<std::string> ids;
  for (const std::string& folder : folders) {
    const Journal journal(folder, own_journal(folder));
    for (const Upload& upload : journal.uploads()) ids.insert(upload.id);
  }
  return ids;
}

int upload_by_hand(const Arguments& arguments, const Tell& tell) {
  const std::vector<fs::path> files = files_of(arguments.files);
  if (files.empty()) {
    say("no trace: " + arguments.files.front() +
        ": give files, or a folder that holds *.json or *.json.gz");
    return exit_bad_data;
  }
  const auto all = targets_of(files, arguments.to);
  if (!all) return exit_usage;
  std::set<std::string> folders;
  for (const Delivered& each : *all) folders.insert(each.file.parent_path().string());
  Arguments allowed = arguments;
  allowed.others = queued_before(folders);
  allowed.allow_commands = true;  // named just now
  for (const Delivered& each : *all) queue(each);
  bool ok = true;
  for (const std::string& folder : folders) {
    ok = work_off(folder, own_journal(folder), options_of(allowed), tell) && ok;
  }
  return ok ? exit_ok : exit_bad_data;
}

// Of these alone, and once: it may be away for good. One that cannot be told now is told of, and
// by whoever uploads next.
bool remove_parts(const std::string& folder, const std::set<std::string>& ids,
                  const Arguments& arguments, const Tell& tell) {
  bool ok = true;
  for (const std::string& path : journals_in(folder)) {
    Arguments once = arguments;
    once.patience = "0s";
    const Journal journal(folder, path);
    for (const Upload& upload : journal.uploads()) {
      if (!ids.contains(upload.id)) once.others.insert(upload.id);
    }
    if (unwanted_in(journal, once.others) != 0)
      ok = work_off(folder, path, options_of(once), tell) && ok;
  }
  return ok;
}

int forget(const Arguments& arguments, const Tell& tell) {
  for (const std::string& folder : arguments.files) {
    if (!fs::is_directory(folder)) {
      say("--forget: " + folder + ": give the folder of the traces");
      return exit_usage;
    }
  }
  bool is_any = false, ok = true;
  for (const std::string& folder : arguments.files) {
    const Forgotten forgotten = forget_uploads(folder, arguments.forget, tell);
    const bool is_any_here = !forgotten.ids.empty();
    is_any |= is_any_here || forgotten.on_their_way != 0;
    ok = remove_parts(folder, forgotten.ids, arguments, tell) && forgotten.on_their_way == 0 && ok;
    forget_problems(folder, is_any_here);
  }
  if (is_any) return ok ? exit_ok : exit_bad_data;
  say("--forget: " + config::shown_target(arguments.forget) +
      ": nothing waits for it: see traceagent upload --status " +
      config::shell_word(arguments.files.front()));
  return exit_bad_data;
}

int upload(const Arguments& arguments) {
  const int ways = (arguments.files.empty() ? 0 : 1) + (arguments.resume.empty() ? 0 : 1) +
                   (arguments.status.empty() ? 0 : 1);
  const bool has_target = !arguments.to.empty() != !arguments.forget.empty();
  const bool names_target = !arguments.to.empty() || !arguments.forget.empty();
  if (ways != 1 || (arguments.files.empty() ? names_target : !has_target)) {
    say("give FILE... --to TARGET, FOLDER --forget TARGET, --resume FOLDER, or --status FOLDER: "
        "see traceagent upload --help");
    return exit_usage;
  }
  (void)options_of(arguments);  // a wrong one is told before anything is queued
  // Beside a job its output is nobody's, and the job's CPUs are the job's.
  if (arguments.beside_job) take_low_priority();
  const Tell tell = [](const std::string& line) { std::cout << line << std::endl; };
  if (!arguments.status.empty()) return print_status(arguments.status) ? exit_ok : exit_bad_data;
  if (!arguments.resume.empty()) return resume(arguments, tell);
  if (!arguments.forget.empty()) return forget(arguments, tell);
  return upload_by_hand(arguments, tell);
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("files", arguments.files, "Files, or folders of traces")->check(is_there());
  app.add_option("--to", arguments.to,
                 "s3://bucket/prefix/, /folder/ or exec:COMMAND {}; the files' names are added");
  app.add_option("--forget", arguments.forget,
                 "Take out of a folder's queue what waits for this target: the files stay, parts "
                 "that the server has of them go");
  app.add_option("--resume", arguments.resume,
                 "Upload what a run has queued in the folder of its traces, and is not there yet")
      ->check(is_folder());
  app.add_option("--status", arguments.status, "Say what is uploaded and what waits")
      ->check(is_folder());
  app.add_option("--patience", arguments.patience,
                 "How long to try again while none succeeds [5min]");
  app.add_option("--command-time", arguments.command_time,
                 "How long a command may take for a file, and a second more for each MiB of it")
      ->capture_default_str();
  app.add_flag("--allow-commands", arguments.allow_commands,
               "With --resume: run the commands that the queue names (output.remote: exec:...)");
  app.add_option("--multipart-from", arguments.multipart_from, "Files of this size go in parts")
      ->capture_default_str();
  app.add_option("--part-size", arguments.part_size, "Size of a part, at least 5MiB")
      ->capture_default_str();
  app.add_option("--host", arguments.host, "Only what this host has queued");
  app.add_flag("--beside-job", arguments.beside_job)->group("");
  app.add_option("--compact-from", arguments.compact_from)->group("");
  app.footer(
      "Endpoint, region and credentials: AWS_ENDPOINT_URL(_S3), AWS_REGION, AWS_ACCESS_KEY_ID, …,\n"
      "web identity, AWS_PROFILE in ~/.aws (roles, credential_process), a container's or "
      "machine's.\n"
      "Exits with 1 while files wait. What --resume finds to be there whole it does not send "
      "again; "
      "files that are\n"
      "given by name or folder are sent each time.\n"
      "examples:\n"
      "  traceagent upload my-run/traces --to s3://traces/my-run/\n"
      "  traceagent upload --resume my-run/traces\n"
      "  traceagent upload --status my-run/traces\n"
      "  traceagent upload my-run/traces --forget s3://gone/\n"
      "  traceagent upload node0.json.gz --to 'exec:rclone copy {} store:traces'");
}

int run_uploader(int argc, char** argv) {
  const PlainOutput output(std::cout);
  const PlainOutput errors(std::cerr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // EFBIG says it
  // A job may ignore it, and so would we: then nobody is told how a command ended.
  std::signal(SIGCHLD, SIG_DFL);
  CLI::App app("Upload trace files, and go on with what was interrupted", "traceagent upload");
  app.set_version_flag("--version", "traceagent upload " TRACEAGENT_VERSION);
  Arguments arguments;
  int exit_code = exit_ok;
  add_options(app, arguments);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  app.callback([&] { exit_code = upload(arguments); });
  return parse_and_run(app, argc, argv, exit_code);
}

}  // namespace

}  // namespace traceagent::tools

// Before what is made while the program is loaded: there may be no memory for that either.
[[gnu::constructor(101)]] static void prepare_to_terminate() noexcept {
  traceagent::tools::end_with_a_line_at_terminate();
}

int main(int argc, char** argv) try {
  return traceagent::tools::run_uploader(argc, argv);
} catch (const std::bad_alloc&) {
  traceagent::tools::say_out_of_memory();
  return traceagent::tools::exit_bad_data;
}
