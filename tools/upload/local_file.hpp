#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace traceagent::tools {

inline constexpr const char* unreadable =
    "this user may not read it: chmod it, or upload as its owner";

// Why it cannot be uploaded before somebody changes it; empty: it can. Links are not followed: by
// one in a folder that others may write to, anything of this user's could be uploaded.
std::string unfit(const std::string& path, const struct stat& facts);

std::int64_t modified_ns(const struct stat& facts);
// Another has its name since the time that is known of it, and just now. Older ones may be copies
// of a whole folder.
bool was_just_replaced(const std::string& path, std::int64_t known_ns);
// False where another file has the name since, or it was written to. 0: nobody knows.
bool is_still(const std::string& path, std::int64_t known_ns);
// The same file was written to. Not where another has the name: who had it open read it whole.
bool was_written_to(const std::string& path, const struct stat& before);

}  // namespace traceagent::tools
