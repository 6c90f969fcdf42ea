#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::config {

// The variables of folder and file names. The first six are known everywhere; the others are of a
// batch, and a template that names one that is not set keeps it as it is: "{batch}".
struct NameVariables {
  std::string run_name = {};
  std::int64_t rank = 0;
  std::int64_t local_rank = 0;
  std::int64_t world_size = 1;
  std::int64_t local_world_size = 1;
  std::int64_t node_rank = 0;

  std::optional<std::int64_t> epoch = {};
  std::optional<std::int64_t> batch = {};  // the count after the batch: index 4 gives 5
  std::optional<std::int64_t> batch_in_epoch = {};
  std::optional<std::int64_t> sample = {};
  std::optional<std::int64_t> sample_in_epoch = {};
  std::optional<std::int64_t> token = {};
  std::optional<std::int64_t> token_in_epoch = {};
  std::optional<double> total_wct = {};  // seconds
  std::optional<double> epoch_wct = {};
  std::optional<double> batch_wct = {};
};

struct FormattedName {
  std::string name;     // empty when there is a problem
  std::string problem;  // empty: fine
};

// Replaces {variable} and {variable:specification}; specifications are Python's (06d, .2f, >4, x).
// {{ and }} are braces. A variable that does not exist stays as it is.
// The value of run_name cannot leave the folder the template puts it in: '/', control characters
// and a leading dot become '_', an empty name becomes '_'. The template's own '/' are kept.
FormattedName format_name(std::string_view name_template, const NameVariables& variables);

// The template whose name is this text: braces doubled. For parts that are not the user's template,
// such as a working folder put before it.
std::string as_template(std::string_view text);

// What is wrong with a template whatever the variables are: a brace, a specification; empty: fine.
std::string template_problem(std::string_view name_template);

// Ends in .json or .json.gz.
bool is_trace_name(std::string_view name);

// The names of the variables in a template, in order, known or not. Stops at a bad brace.
std::vector<std::string> variables_in(std::string_view name_template);

// Names that folder and merged file know; then those that only a rank's file knows.
const std::vector<std::string_view>& node_variable_names();
const std::vector<std::string_view>& batch_variable_names();

}  // namespace traceagent::config
