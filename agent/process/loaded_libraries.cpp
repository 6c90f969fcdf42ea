#include "agent/process/loaded_libraries.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include "agent/door/targets.hpp"
#include "agent/event/fork_hold.hpp"
#include "agent/process/proc_file.hpp"

namespace traceagent::process {

using trace::JsonArray;
using trace::JsonObject;

namespace {

constexpr std::size_t largest_maps_bytes = 64 << 20;

// The libraries that our wrappers stand in front of.
constexpr std::array wrapped_stems = {std::string_view("libcudart.so."),
                                      std::string_view("libnccl.so.")};
// NVIDIA's libraries that are linked to a static CUDA runtime (seen in CUDA 11 to 13).
constexpr std::array own_runtime_stems = {
    std::string_view("libcublas.so."),   std::string_view("libcublasLt.so."),
    std::string_view("libcudnn"),        std::string_view("libcufft.so."),
    std::string_view("libcurand.so."),   std::string_view("libcusolver.so."),
    std::string_view("libcusparse.so."), std::string_view("libcusparseLt.so."),
    std::string_view("libnccl.so."),     std::string_view("libnvshmem_host.so.")};

std::string_view file_name(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);
}

template <class Stems>
std::string_view stem_of(const Stems& stems, std::string_view path) noexcept {
  const std::string_view name = file_name(path);
  const auto found = std::find_if(stems.begin(), stems.end(),
                                  [&](std::string_view stem) { return name.starts_with(stem); });
  return found == stems.end() ? std::string_view() : *found;
}

// Of libcudart.so.13.0.96 it is 13.
std::string_view major_of(std::string_view path, std::string_view stem) noexcept {
  const std::string_view version = file_name(path).substr(stem.size());
  return version.substr(0, version.find('.'));
}

bool is_known_major(std::string_view stem, std::string_view major) noexcept {
  for (const door::LibraryName& known : door::library_names) {
    const std::string_view soname = known.soname;
    if (soname.starts_with(stem) && major_of(soname, stem) == major) return true;
  }
  return false;
}

// "7f1c-7f2d r--p 00000000 08:01 131 /usr/lib/libcudart.so.13.0.96"
bool read_first_mapping(std::string_view line, MappedLibrary& library) {
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view path = line.substr(slash);
  if (stem_of(wrapped_stems, path).empty() && stem_of(own_runtime_stems, path).empty()) {
    return false;
  }
  const auto [end, error] =
      std::from_chars(line.data(), line.data() + line.size(), library.base, 16);
  const std::size_t flags = line.find(' ');
  if (error != std::errc() || end == line.data() || flags == std::string_view::npos) return false;
  // "r--p 00000000": a mapping of the file's first bytes.
  if (line.substr(flags + 6, 9) != "00000000 ") return false;
  library.path = path;
  return true;
}

}  // namespace

std::vector<MappedLibrary> cuda_libraries_in(std::string_view maps) {
  std::vector<MappedLibrary> libraries;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    MappedLibrary library;
    if (read_first_mapping(line, library)) libraries.push_back(std::move(library));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
  }
  return libraries;
}

std::vector<WrappedLibrary> wrapped_libraries() {
  std::vector<WrappedLibrary> libraries;
  for (std::size_t i = 0; i < door::library_count; ++i) {
    WrappedLibrary library;
    for (const door::Target& target : door::targets[i]) {
      const void* const address = target.load(std::memory_order_relaxed);
      if (address == nullptr) continue;
      ++library.functions;
      Dl_info info{};
      if (library.base == 0 && dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
        library.path = info.dli_fname;
        library.base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
      }
    }
    library.name = door::library_names[i].soname;
    if (library.functions != 0) libraries.push_back(std::move(library));
  }
  return libraries;
}

namespace {

// Why the copy's calls pass no wrapper; nullptr where they do, or where nobody seems to call it.
const char* why_round(const MappedLibrary& library, const std::vector<WrappedLibrary>& wrapped,
                      bool is_visible) {
  const std::string_view stem = stem_of(wrapped_stems, library.path);
  if (stem.empty()) return "own_runtime";
  const auto has_base = [&](const WrappedLibrary& known) { return known.base == library.base; };
  if (std::any_of(wrapped.begin(), wrapped.end(), has_base)) return nullptr;
  const std::string_view major = major_of(library.path, stem);
  if (!is_known_major(stem, major)) return "unknown_major";
  if (!is_visible) return "namespace";
  const bool other = std::any_of(wrapped.begin(), wrapped.end(), [&](const WrappedLibrary& known) {
    const std::string_view name = known.name;
    return name.starts_with(stem) && major_of(name, stem) == major;
  });
  return other ? "other_copy" : nullptr;
}

}  // namespace

std::vector<WayRound> ways_round(const std::vector<MappedLibrary>& mapped,
                                 const std::vector<WrappedLibrary>& wrapped,
                                 const std::function<bool(std::uint64_t)>& is_visible) {
  std::vector<WayRound> ways;
  for (const MappedLibrary& library : mapped) {
    const char* const why = why_round(library, wrapped, is_visible(library.base));
    if (why != nullptr) ways.push_back({library.path, why});
  }
  return ways;
}

namespace {

std::string own_maps() {
  return read_proc_file("/proc/self/maps", largest_maps_bytes).value_or(std::string());
}

// An exception may not pass through the loader: its unwinder is another than ours.
int collect_base(dl_phdr_info* object, std::size_t, void* bases) noexcept try {
  static_cast<std::vector<std::uint64_t>*>(bases)->push_back(object->dlpi_addr);
  return 0;
} catch (...) {
  return 1;
}

std::vector<std::uint64_t> visible_bases() {
  std::vector<std::uint64_t> bases;
  const event::ForkHold hold;
  if (dl_iterate_phdr(collect_base, &bases) != 0) throw std::bad_alloc();
  return bases;
}

}  // namespace

void add_loaded_libraries(JsonObject& coverage) {
  const std::vector<WrappedLibrary> wrapped = wrapped_libraries();
  JsonArray libraries;
  for (const WrappedLibrary& library : wrapped) {
    libraries.add(JsonObject()
                      .add("name", library.name)
                      .add("path", library.path)
                      .add("functions", library.functions));
  }
  const std::vector<std::uint64_t> bases = visible_bases();
  const auto is_visible = [&](std::uint64_t base) {
    return std::find(bases.begin(), bases.end(), base) != bases.end();
  };
  JsonArray went_round;
  for (const WayRound& way : ways_round(cuda_libraries_in(own_maps()), wrapped, is_visible)) {
    went_round.add(JsonObject().add("path", way.path).add("why", way.why));
  }
  coverage.add("libraries", libraries).add("went_round", went_round);
}

}  // namespace traceagent::process
