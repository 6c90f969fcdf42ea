#pragma once

#include <string>

// CLI11 is seconds of work for a compiler: only who parses includes it.
namespace CLI {
class App;
}  // namespace CLI

namespace traceagent::tools {

inline constexpr int exit_ok = 0;
inline constexpr int exit_bad_data = 1;
inline constexpr int exit_usage = 2;

// Each adds its subcommand; when the command line names it, it runs and leaves its exit code.
void add_check_command(CLI::App& app, int& exit_code);
void add_merge_command(CLI::App& app, int& exit_code);
void add_options_command(CLI::App& app, int& exit_code);
void add_recover_command(CLI::App& app, int& exit_code);
// For the list of subcommands only: run_main() does it.
void add_run_command(CLI::App& app);
void add_upload_command(CLI::App& app);  // become_uploader() does it

// "traceagent upload …": becomes bin/traceagent-upload beside us. Returns only where that fails.
int become_uploader(char** argv);
// Beside us, on what is queued in the folder; it goes on when we end.
void start_uploader(const std::string& folder);

// All of "traceagent run" and of traceagent-run: argv[0] is not looked at.
int run_main(const std::string& name, int argc, const char* const* argv);

// Parses and runs. Help and version go to standard output; a bad command line becomes one line on
// standard error and exit_usage. What a command throws becomes one line and exit_bad_data. Then
// if_printed().
int parse_and_run(CLI::App& app, int argc, const char* const* argv, const int& exit_code);

// The exit code once standard output has all that was printed; where it has not, one line and
// exit_bad_data.
int if_printed(int exit_code);

// "traceagent: <line>" on standard error.
void say(const std::string& line);

}  // namespace traceagent::tools
