#include "tools/given_path.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

template <class IsWanted>
CLI::Validator path_check(const char* type_name, const char* otherwise, IsWanted is_wanted) {
  const auto check = [otherwise, is_wanted](const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    // CLI11 would call it a bad command line.
    if (error) {
      throw std::runtime_error("no such input: " + path + ": " + error.message() +
                               ": give files that are there");
    }
    return is_wanted(status) ? std::string() : path + ": " + otherwise;
  };
  return {check, type_name};
}

}  // namespace

CLI::Validator is_there() {
  return path_check("PATH", "", [](const fs::file_status&) { return true; });
}

CLI::Validator is_file() {
  return path_check("FILE", "is a folder: give a file",
                    [](const fs::file_status& status) { return !fs::is_directory(status); });
}

CLI::Validator is_folder() {
  return path_check("FOLDER", "is no folder",
                    [](const fs::file_status& status) { return fs::is_directory(status); });
}

}  // namespace traceagent::tools
