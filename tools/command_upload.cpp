#include <spawn.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "tools/command_line.hpp"

extern char** environ;

namespace traceagent::tools {

void add_upload_command(CLI::App& app) {
  app.add_subcommand("upload", "Upload trace files, and go on with what was interrupted");
}

namespace {

constexpr char build_it[] =
    ": build it (cmake --build --preset release), or keep traceagent-upload beside traceagent";

// Empty, with a line said, where it is not known where we are: a name alone could be anybody's.
std::string uploader_beside_us() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return (self.parent_path() / "traceagent-upload").string();
  say("upload: /proc/self/exe: " + error.message() + ": call traceagent-upload itself");
  return "";
}

}  // namespace

void start_uploader(const std::string& folder) {
  const std::string uploader = uploader_beside_us();
  if (uploader.empty()) return;
  const std::string words[] = {uploader, "--beside-job", "--resume", folder};
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, uploader.c_str(), nullptr, nullptr, arguments.data(), environ);
  if (error != 0) say("upload: " + uploader + ": " + std::strerror(error) + build_it);
}

int become_uploader(char** argv) {
  const std::string uploader = uploader_beside_us();
  if (uploader.empty()) return exit_bad_data;
  std::string name = "traceagent-upload";
  argv[1] = name.data();
  execv(uploader.c_str(), argv + 1);
  say("upload: " + uploader + ": " + std::strerror(errno) + build_it);
  return exit_bad_data;
}

}  // namespace traceagent::tools
