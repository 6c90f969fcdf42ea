#pragma once
// The paths of a run's files, from what the ring says: the same in the job and in `recover`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/ring/ring.hpp"
#include "config/name_template.hpp"

namespace traceagent::drain {

// What a file system takes is 255 bytes. The rest is for what a name gets on its way: a dot before
// it and ".tmp-4194304" behind it while it is written, "-rank1000", "-pid4194304-100".
inline constexpr std::size_t most_name_bytes = 205;

struct NamedFile {
  std::string path;
  std::string problem;
  bool is_of_several_ranks = false;  // by its template: another rank's has the name too
  bool is_shortened = false;         // its name was too long for a file system
};

// One line about a name that is_shortened.
std::string shortened_in_words(std::string_view option, const std::string& path);

// The variables that name folders and node files.
config::NameVariables run_variables(const ring::Ring& ring);

// The folder of the run's files.
std::string output_folder(const ring::Ring& ring);
// For who recovers rings whose own folder cannot be written: all go there. Not while others read.
void use_output_folder(const std::string& folder);

// Those that name a window's file: also batch, samples, times of its last step.
config::NameVariables window_variables(const ring::Ring& ring, const ring::Window& window);

// The rank's file for a window: folder and template of the options, variables of its last step.
NamedFile rank_file_name(const ring::Ring& ring, const ring::Window& window);

// Whether one of the ring's windows, of the last 64, was written under this name.
bool is_own_file(const ring::Ring& ring, const std::string& path);
// Whether a file of this name is compressed: by output.gzip, or since its name says so.
bool is_compressed(const ring::Ring& ring, const std::string& path) noexcept;

// ep0-ba5-rank0.json → ep0-ba5-rank0-pid1234.json
std::string with_pid(const std::string& path, std::uint32_t pid);
// The names a file may have, the later ones where the earlier are taken: by another process first,
// then by one that had the same pid: itself, with its pid, with its pid and -2, …
std::string name_at_attempt(const std::string& path, std::uint32_t pid, int attempt);
inline constexpr int most_names = 100;

// The node's merged file; empty where none is wanted.
NamedFile node_file_name(const ring::Ring& ring);

}  // namespace traceagent::drain
