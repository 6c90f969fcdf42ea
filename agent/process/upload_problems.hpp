#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace traceagent::process {

// For the job's end, of what an uploader left in its problem file: the newest of the problems of
// places (tools/upload/problems.hpp), with what waits in the queue by now and what goes on with it,
// and what concerns all.
std::vector<std::string> upload_problems(std::string_view text, const std::string& journal,
                                         const std::string& folder);

}  // namespace traceagent::process
