#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "config/environment.hpp"

namespace traceagent::config {

// An environment of a test's own: no setenv, so tests run in parallel.
class Variables {
 public:
  Variables(std::initializer_list<std::string> lines) : Variables(std::vector(lines)) {}
  explicit Variables(std::vector<std::string> lines) : lines_(std::move(lines)) {
    for (const std::string& line : lines_) pointers_.push_back(line.c_str());
    pointers_.push_back(nullptr);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  Environment environment() const { return Environment(pointers_.data()); }

 private:
  std::vector<std::string> lines_;
  std::vector<const char*> pointers_;
};

}  // namespace traceagent::config
