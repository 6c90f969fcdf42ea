// Any template and any run name: the name stays in the folder that the template puts it in.
#include <string>

#include "config/name_template.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/scratch.hpp"

namespace {

using namespace traceagent;

// Parts between slashes that are ".." ; the template's own may be so.
int parents_in(std::string_view path) {
  int parents = 0;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    if (path.substr(start, end - start) == "..") ++parents;
    start = end + 1;
  }
  return parents;
}

long slashes_in(std::string_view text) { return std::count(text.begin(), text.end(), '/'); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  config::NameVariables variables;
  variables.rank = input.number<std::int64_t>();
  if ((variables.rank & 1) != 0) {
    variables.batch = variables.sample = input.number<std::int64_t>();
    variables.total_wct = input.number<double>();
  }
  variables.run_name = input.take_until('\n');
  const std::string_view text = input.rest();
  const config::FormattedName formatted = config::format_name(text, variables);
  fuzz::expect_one_line(config::template_problem(text));
  fuzz::expect_one_line(formatted.problem);
  config::variables_in(text);
  if (!formatted.problem.empty()) {
    if (!formatted.name.empty()) fuzz::fail("a name and a problem");
    return 0;
  }
  // A specification may fill with any character, a slash too: that is the template's own.
  if (text.find(':') != std::string_view::npos) return 0;
  variables.run_name = "x";
  const config::FormattedName plain = config::format_name(text, variables);
  if (slashes_in(formatted.name) != slashes_in(plain.name))
    fuzz::fail("the run's name has a slash");
  if (parents_in(formatted.name) > parents_in(plain.name)) fuzz::fail("the run's name goes up");
  const config::FormattedName copied = config::format_name(config::as_template(text), variables);
  if (copied.name != text && copied.problem.empty()) fuzz::fail("as_template() changes the text");
  return 0;
}
