#include "tools/demo_program/rendezvous.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace traceagent::demo {
namespace {

namespace fs = std::filesystem;
constexpr auto poll = std::chrono::milliseconds(5);
constexpr auto patience = std::chrono::seconds(120);

std::string new_nonce() {
  std::random_device random;
  return std::to_string(random()) + "-" + std::to_string(random());
}

// Renamed into place, so that nobody reads half a file.
void write_file(const fs::path& path, const std::string& text) {
  const fs::path part = path.string() + ".part" + std::to_string(getpid());
  std::ofstream(part, std::ios::binary) << text;
  fs::rename(part, path);
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Deadline {
 public:
  void wait(const fs::path& folder) const {
    if (std::chrono::steady_clock::now() > end_) {
      throw std::runtime_error("the other ranks did not come within 120 s: " + folder.string());
    }
    std::this_thread::sleep_for(poll);
  }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + patience;
};

fs::path hello_file(const fs::path& folder, int rank) {
  return folder / ("hello." + std::to_string(rank));
}

fs::path thanks_file(const fs::path& folder, int rank) {
  return folder / ("thanks." + std::to_string(rank));
}

// Answers hellos until everyone thanks for *this* launch's message: a hello of an earlier launch
// is answered in vain and replaced by its owner's new one.
void serve(const Ranks& ranks, const fs::path& folder, const std::string& message) {
  const std::string nonce = new_nonce();
  const Deadline deadline;
  std::string answered;
  for (bool all_thanked = false; !all_thanked; deadline.wait(folder)) {
    std::string answer = nonce + "\n";
    all_thanked = true;
    for (int rank = 1; rank < ranks.size; ++rank) {
      answer += read_file(hello_file(folder, rank)) + "\n";
      all_thanked = all_thanked && read_file(thanks_file(folder, rank)) == nonce;
    }
    if (answer != answered) {
      write_file(folder / "message", answer + message);
      answered = answer;
    }
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

std::string fetch(const Ranks& ranks, const fs::path& folder) {
  const std::string nonce = new_nonce();
  write_file(hello_file(folder, ranks.rank), nonce);
  const Deadline deadline;
  for (;;) {
    std::istringstream lines(read_file(folder / "message"));
    std::string server;
    std::string line;
    std::getline(lines, server);
    bool mine = false;
    for (int rank = 1; rank < ranks.size && std::getline(lines, line); ++rank) {
      mine = mine || (rank == ranks.rank && line == nonce);
    }
    if (mine) {
      std::ostringstream message;
      message << lines.rdbuf();
      write_file(thanks_file(folder, ranks.rank), server);
      return message.str();
    }
    deadline.wait(folder);
  }
}

}  // namespace

std::string rendezvous_folder(const Ranks& ranks, const std::string& wanted) {
  if (!wanted.empty()) {
    return wanted + "/" + "train_demo-" + ranks.launch;
  }
  const char* temporary = std::getenv("TMPDIR");
  const std::string fallback = temporary == nullptr ? "/tmp" : temporary;
  const std::string base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fallback;
  return base + "/train_demo-" + std::to_string(getuid()) + "-" + ranks.launch;
}

std::string exchange(const Ranks& ranks, const std::string& folder, const std::string& message) {
  if (ranks.size == 1) {
    return message;
  }
  fs::create_directories(folder);
  if (ranks.rank != 0) {
    return fetch(ranks, folder);
  }
  serve(ranks, folder, message);
  return message;
}

}  // namespace traceagent::demo
