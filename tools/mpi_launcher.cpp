#include "tools/mpi_launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "config/options.hpp"
#include "tools/agent_library.hpp"

namespace traceagent::tools {

namespace {

constexpr std::size_t max_version_bytes = 65536;
constexpr std::string_view preload = "LD_PRELOAD";

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

struct Answer {
  std::string text;
  int error_number = 0;  // it is not whole
};

Answer answer_to(const std::string& shell_command) {
  Answer answer;
  errno = 0;
  FILE* const pipe = popen(shell_command.c_str(), "re");
  if (pipe == nullptr) return {"", errno};
  char piece[512];
  while (answer.text.size() < max_version_bytes && answer.error_number == 0 &&
         std::feof(pipe) == 0) {
    if (std::fgets(piece, sizeof piece, pipe) != nullptr) {
      answer.text += piece;
    } else if (std::feof(pipe) == 0) {
      answer.error_number = errno;
    }
  }
  pclose(pipe);
  return answer;
}

Answer version_of(const std::string& program) {
  return answer_to(shell_quoted(program) + " --version 2>&1 </dev/null");
}

Answer path_of(const std::string& program) {
  return answer_to("command -v " + shell_quoted(program) + " 2>/dev/null");
}

std::string not_asked(const std::string& program, int error_number) {
  return "launcher cannot be asked: " + program + ": " + std::strerror(error_number) +
         ": try again, or put traceagent-run before the program instead";
}

// Ranks under Hydra have the launcher's own variables, unless its user wants fewer.
bool keeps_variables_back(const std::vector<std::string>& arguments) {
  for (const char* name : {"HYDRA_ENV", "I_MPI_HYDRA_ENV"}) {
    const char* which = std::getenv(name);
    if (which != nullptr && std::string_view(which) != "all") return true;
  }
  return std::ranges::any_of(arguments, [](std::string_view word) {
    if (!word.starts_with('-')) return false;
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    if (word.starts_with('g')) word.remove_prefix(1);
    return word == "envnone" || word == "envlist" || word == "envexcl";
  });
}

// Values only of what the launcher itself must not have: all users can read its command line.
std::vector<std::string> words_for_open_mpi(const Variables& variables) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) {
    words.insert(words.end(), {"-x", name == preload ? name + "=" + value : name});
  }
  return words;
}

// A -genvlist of ours would keep all others back, and Hydra refuses a second one: where its user
// wants fewer there is no way but values.
std::vector<std::string> words_for_hydra(const Variables& variables,
                                         const std::vector<std::string>& arguments) {
  const bool needs_all = keeps_variables_back(arguments);
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) {
    if (needs_all || name == preload) words.insert(words.end(), {"-genv", name, value});
  }
  return words;
}

}  // namespace

bool recognise_mpi(std::string_view version_text, MpiKind& kind) {
  const auto says = [version_text](std::string_view word) {
    return version_text.find(word) != std::string_view::npos;
  };
  if (says("Open MPI") || says("OpenRTE") || says("open-mpi") || says("PRRTE")) {
    kind = MpiKind::open_mpi;
    return true;
  }
  kind = MpiKind::hydra;
  return says("HYDRA") || says("Hydra") || says("MPICH") || says("Intel(R) MPI") || says("mpich");
}

MpiLauncher find_mpi_launcher() {
  MpiLauncher launcher;
  const char* named = std::getenv("TRACEAGENT_MPIRUN");
  const std::vector<std::string> names = named != nullptr && *named != '\0'
                                             ? std::vector<std::string>{named}
                                             : std::vector<std::string>{"mpirun", "mpiexec"};
  for (const std::string& name : names) {
    const Answer path = path_of(name);
    if (path.error_number != 0) {
      launcher.problem = not_asked(name, path.error_number);
      return launcher;
    }
    if (!path.text.empty()) {
      launcher.program = name;
      break;
    }
  }
  if (launcher.program.empty()) {
    launcher.problem = "launcher not found: " + names.front() +
                       ": install Open MPI or MPICH, or set TRACEAGENT_MPIRUN to its mpirun";
    return launcher;
  }
  const Answer version = version_of(launcher.program);
  if (version.error_number != 0) {
    launcher.problem = not_asked(launcher.program, version.error_number);
  } else if (!recognise_mpi(version.text, launcher.kind)) {
    launcher.problem =
        "unknown launcher: " + launcher.program +
        ": neither Open MPI nor MPICH: put traceagent-run before the program instead";
  }
  return launcher;
}

void make_config_whole() {
  const std::string variable = config::environment_name("config");
  const char* named = std::getenv(variable.c_str());
  if (named == nullptr || *named == '\0') return;
  std::error_code error;
  const std::string whole = std::filesystem::absolute(named, error).string();
  if (!error) setenv(variable.c_str(), whole.c_str(), 1);
}

Variables rank_environment(const std::string& library, const char* const* environment) {
  Variables variables;
  std::string_view present;
  for (; *environment != nullptr; ++environment) {
    const std::string_view line = *environment;
    const std::size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : line.substr(equals + 1);
    if (name == preload) {
      present = value;
    } else if (name.starts_with("TRACEAGENT_")) {
      variables.emplace_back(name, value);
    }
  }
  variables.emplace(variables.begin(), preload, joined_preload(library, present));
  return variables;
}

std::vector<std::string> mpi_command(const MpiLauncher& launcher, const Variables& variables,
                                     const std::vector<std::string>& arguments) {
  const bool is_open_mpi = launcher.kind == MpiKind::open_mpi;
  const std::vector<std::string> inserted =
      is_open_mpi ? words_for_open_mpi(variables) : words_for_hydra(variables, arguments);
  std::vector<std::string> command = {launcher.program};
  command.insert(command.end(), inserted.begin(), inserted.end());
  for (const std::string& argument : arguments) {
    command.push_back(argument);
    // -x holds for one program of the list only, -genv for all.
    if (argument == ":" && is_open_mpi) {
      command.insert(command.end(), inserted.begin(), inserted.end());
    }
  }
  return command;
}

}  // namespace traceagent::tools
