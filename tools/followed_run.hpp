#pragma once

#include <sys/types.h>

#include <string>

namespace traceagent::tools {

// A run's folder, wherever it is moved to meanwhile: the next run of its key that finds it dead
// sets it aside and takes its name (agent/process/older_run.hpp).
class FollowedRun {
 public:
  explicit FollowedRun(const std::string& folder);
  ~FollowedRun();
  FollowedRun(const FollowedRun&) = delete;
  FollowedRun& operator=(const FollowedRun&) = delete;

  // Leads to it while this lives: no name for people.
  const std::string& held() const noexcept { return held_; }
  // As it was given where that is it still, else its name now; held() where that cannot be known;
  // "": it is gone.
  std::string name() const;
  // A text for people, with its name in place of held().
  std::string shown(std::string text) const;

 private:
  bool is_at(const std::string& path) const;

  const std::string given_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  int fd_;  // -1: it cannot be held, and is looked for by its name
  std::string held_;
};

}  // namespace traceagent::tools
