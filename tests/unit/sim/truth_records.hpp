#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/sim/engine/record.hpp"

namespace traceagent::sim_test {

/// A folder of this process's own, and gone with it.
inline const std::filesystem::path& scratch() {
  struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("unit_sim-" + std::to_string(getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return folder.path;
}

/// The records of a truth file as they are now.
class TruthRecords {
 public:
  explicit TruthRecords(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }

  bool readable() const {
    return bytes_.size() >= sizeof(simgpu::TruthHeader) && header().magic == simgpu::truth_magic;
  }
  const simgpu::TruthHeader& header() const {
    return *reinterpret_cast<const simgpu::TruthHeader*>(bytes_.data());
  }

  template <class Wanted>
  std::vector<const simgpu::Record*> select(Wanted wanted) const {
    std::vector<const simgpu::Record*> records;
    const char* at = bytes_.data() + sizeof(simgpu::TruthHeader);
    for (std::uint64_t i = 0; readable() && i < header().claimed.load(); ++i) {
      const auto* record = reinterpret_cast<const simgpu::Record*>(at + i * sizeof(simgpu::Record));
      const bool of_another_form = record->kind == simgpu::RecordKind::name ||
                                   record->kind == simgpu::RecordKind::enabled ||
                                   record->kind == simgpu::RecordKind::cupti;
      if (!of_another_form && wanted(*record)) {
        records.push_back(record);
      }
    }
    return records;
  }

  /// What the simulated CUPTI says of itself: its account, or the periods of enabled kinds.
  std::vector<const simgpu::CuptiRecord*> cupti(simgpu::RecordKind kind) const {
    std::vector<const simgpu::CuptiRecord*> records;
    const char* at = bytes_.data() + sizeof(simgpu::TruthHeader);
    for (std::uint64_t i = 0; readable() && i < header().claimed.load(); ++i) {
      const char* found = at + i * sizeof(simgpu::CuptiRecord);
      const auto* record = reinterpret_cast<const simgpu::CuptiRecord*>(found);
      if (record->kind == kind) {
        records.push_back(record);
      }
    }
    return records;
  }

 private:
  std::vector<char> bytes_;
};

/// This process's truth file. It must be asked for before the first call into the simulation.
inline std::filesystem::path own_truth() {
  const std::filesystem::path path = scratch() / "own.truth";
  setenv("SIMGPU_TRUTH", path.c_str(), 1);
  return path;
}

}  // namespace traceagent::sim_test
