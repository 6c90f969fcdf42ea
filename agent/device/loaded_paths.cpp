#include "agent/device/loaded_paths.hpp"

#include <link.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <string_view>

#include "agent/event/fork_hold.hpp"

namespace traceagent::device {
namespace {

constexpr int newest_major = 13;
constexpr int oldest_major = 11;

// An exception may not pass through the loader: its unwinder is another than ours.
int collect(dl_phdr_info* object, std::size_t, void* paths) noexcept try {
  if (object->dlpi_name != nullptr && object->dlpi_name[0] != '\0') {
    static_cast<std::vector<std::string>*>(paths)->emplace_back(object->dlpi_name);
  }
  return 0;
} catch (...) {
  return 1;
}

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash + 1));
}

// libcudart.so.12.4.127 → 12, also libcudart-<hash>.so.12 as auditwheel names it; 0: no libcudart.
int cudart_major(std::string_view path) {
  constexpr std::string_view suffix = ".so.";
  const std::string_view file = file_of(path);
  if (!file.starts_with("libcudart")) return 0;
  const std::size_t at = file.find(suffix);
  if (at == std::string_view::npos) return 0;
  int major = 0;
  std::from_chars(file.data() + at + suffix.size(), file.data() + file.size(), major);
  return major;
}

void add_new(std::vector<int>& majors, int major) {
  if (major < oldest_major) return;
  if (std::find(majors.begin(), majors.end(), major) == majors.end()) majors.push_back(major);
}

}  // namespace

std::vector<std::string> loaded_paths() {
  std::vector<std::string> paths;
  const event::ForkHold hold;
  if (dl_iterate_phdr(collect, &paths) != 0) throw std::bad_alloc();
  return paths;
}

std::vector<int> cuda_majors(const std::vector<std::string>& loaded, int driver_major) {
  std::vector<int> majors;
  for (const std::string& path : loaded) add_new(majors, cudart_major(path));
  add_new(majors, driver_major);
  // A CUPTI newer than the driver refuses; older ones work.
  const int from = driver_major != 0 ? driver_major : newest_major;
  for (int major = from; major >= oldest_major; --major) add_new(majors, major);
  return majors;
}

std::vector<std::string> cupti_names(int major) {
  const std::string stem = "libcupti.so." + std::to_string(major);
  if (major != 11) return {stem};
  // Until 11.8 the minor version was part of the SONAME.
  std::vector<std::string> names;
  for (int minor = 8; minor >= 0; --minor) names.push_back(stem + "." + std::to_string(minor));
  return names;
}

std::vector<std::string> cupti_candidates(const std::vector<std::string>& loaded,
                                          int driver_major) {
  std::vector<std::string> candidates;
  for (const std::string& path : loaded) {
    const int major = cudart_major(path);
    if (major == 0) continue;
    const std::string folder = folder_of(path);
    for (const char* near : {"", "../extras/CUPTI/lib64/", "../../../extras/CUPTI/lib64/",
                             "../../cuda_cupti/lib/", "../../cu13/lib/"}) {
      for (const std::string& name : cupti_names(major)) candidates.push_back(folder + near + name);
    }
  }
  for (const int major : cuda_majors(loaded, driver_major)) {
    const std::string toolkit = "/usr/local/cuda-" + std::to_string(major);
    for (const std::string& name : cupti_names(major)) {
      candidates.push_back(name);
      candidates.push_back("/usr/local/cuda/extras/CUPTI/lib64/" + name);
      candidates.push_back(toolkit + "/extras/CUPTI/lib64/" + name);
    }
  }
  return candidates;
}

}  // namespace traceagent::device
