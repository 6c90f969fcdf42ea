#pragma once
// The device's work in a rank file that is written from a crafted ring.

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "agent/drain/rank_file.hpp"
#include "tests/unit/drain/crafted_device.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::drain {

using api::Function;
using event::DeviceKind;
using event::Layout;
using event::Record;

inline constexpr std::uint32_t thread = 500;
inline constexpr std::uint64_t us = 1000;

class WrittenDeviceFile : public testing::Test {
 protected:
  std::string write(ring::Window& window) {
    const RankFileReport report = write_rank_file(crafted.ring(), window, {});
    EXPECT_EQ(report.problem, "");
    window.state.store(ring::WindowState::written);
    return text = trace::read_whole(report.path);
  }
  ring::Window& window(std::uint64_t begin = 100, std::uint64_t end = 200, std::uint64_t step = 1) {
    return crafted.window(begin * us, end * us, step, step);
  }
  // Lines that hold all of these.
  std::vector<std::string> lines(std::initializer_list<std::string> parts) const {
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      if (line.back() == ',') line.pop_back();
      const bool fits = std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
        return line.find(part) != std::string::npos;
      });
      if (fits) found.push_back(line);
    }
    return found;
  }
  std::string line(std::initializer_list<std::string> parts) const {
    const auto found = lines(parts);
    EXPECT_EQ(found.size(), 1u) << text;
    return found.empty() ? "" : found.front();
  }
  static std::string correlation(std::uint64_t id) {
    return "\"correlation\":" + std::to_string(id);
  }
  static std::string flow(std::uint64_t id) {
    return "\"id\":" + std::to_string(id | std::uint64_t{3} << 36) + ",";
  }
  std::uint64_t place(const Record& record) const {
    return ring::correlation_of(crafted.ring(), record);
  }

  trace::ScratchFolder scratch;
  CraftedDevice crafted{scratch / "out"};
  std::string text;
};

}  // namespace traceagent::drain
