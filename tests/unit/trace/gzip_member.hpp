#pragma once

#include <gtest/gtest.h>

#include <string>

#include "agent/trace/gzip_members.hpp"

namespace traceagent::trace {

inline std::string gzip_member(const std::string& text) {
  GzipMembers members(1);
  std::string packed;
  EXPECT_TRUE(members.compress(text, [&packed](const char* bytes, std::size_t size) {
    packed.append(bytes, size);
    return true;
  }));
  return packed;
}

}  // namespace traceagent::trace
