#pragma once
// S3's answers: flat XML without attributes, of which a few elements are wanted.

#include <string>
#include <string_view>
#include <vector>

namespace traceagent::tools {

// What is in the first <name>, entities resolved; "" where there is none.
std::string element(std::string_view xml, std::string_view name);
// What is in each <name>, as it stands.
std::vector<std::string> elements(std::string_view xml, std::string_view name);
std::string as_xml(std::string_view text);

}  // namespace traceagent::tools
