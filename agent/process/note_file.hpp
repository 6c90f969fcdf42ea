#pragma once
// Small files in the run's folder, by which its ranks tell each other something.

#include <string>

namespace traceagent::process {

// False, with errno set, where the file cannot be made: EEXIST, if another was first. No link is
// followed.
bool make_note(const std::string& path, const std::string& text);

// Empty where there is none.
std::string read_note(const std::string& path);

}  // namespace traceagent::process
