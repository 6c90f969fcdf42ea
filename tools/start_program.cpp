#include "tools/start_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/command_line.hpp"

namespace traceagent::tools {

int start_program(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  const int error_number = errno;
  const bool missing = error_number == ENOENT;
  say("cannot run: " + command.front() + ": " + std::strerror(error_number) + ": " +
      (missing ? "give a program that exists or is in PATH" : "give a program that may be run"));
  return missing ? exit_not_found : exit_cannot_run;
}

}  // namespace traceagent::tools
