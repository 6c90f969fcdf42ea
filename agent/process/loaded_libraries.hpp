#pragma once
// Which of CUDA's libraries this process has loaded, and which of them went round our doors: a
// partial trace must say that it is one.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/json_object.hpp"

namespace traceagent::process {

// A file that lies in memory, once for each copy of it.
struct MappedLibrary {
  std::string path;
  std::uint64_t base = 0;  // address of its first byte
};

// Those of CUDA's and NCCL's libraries, out of the text of /proc/<pid>/maps.
std::vector<MappedLibrary> cuda_libraries_in(std::string_view maps);

// A library whose functions our wrappers call.
struct WrappedLibrary {
  std::string name;  // its SONAME
  std::string path;
  std::uint64_t base = 0;
  std::uint64_t functions = 0;  // that somebody asked for
};

std::vector<WrappedLibrary> wrapped_libraries();

// Why a loaded library's calls do not pass our wrappers. Written into files: append only.
//   other_copy    a second copy of a wrapped library: RTLD_DEEPBIND, dlmopen, two versions at once
//   namespace     loaded by dlmopen
//   unknown_major of a version that this agent does not know
//   own_runtime   carries a CUDA runtime of its own: seen through the driver door and CUPTI only
struct WayRound {
  std::string path;
  const char* why;
};

// `is_visible(base)`: whether the loader shows the copy to us.
std::vector<WayRound> ways_round(const std::vector<MappedLibrary>& mapped,
                                 const std::vector<WrappedLibrary>& wrapped,
                                 const std::function<bool(std::uint64_t)>& is_visible);

// "libraries": [{"name", "path", "functions"}], "went_round": [{"path", "why"}], of this process
// now. Reads /proc/self/maps: milliseconds.
void add_loaded_libraries(trace::JsonObject& coverage);

}  // namespace traceagent::process
