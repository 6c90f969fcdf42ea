#include "config/name_template.hpp"

#include <algorithm>
#include <span>
#include <variant>

#include "config/format_spec.hpp"
#include "config/plain_text.hpp"

namespace traceagent::config {
namespace {

// A component of a path has at most 255 bytes; this leaves room for the rest of the template.
constexpr std::size_t longest_value = 200;

// Whatever the value, it stays one part of a path: no separator, and no dot at its beginning, so
// that neither "." nor ".." comes out of it. And text: queue and index tell files by their names.
std::string as_path_part(std::string_view value) {
  std::string part;
  while (!value.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(value));
    if (part.size() + length > longest_value) break;
    const bool is_forbidden =
        utf8_length(value) == 0 || value[0] == '/' || has_control_character(value.substr(0, 1));
    const bool is_leading_dot = value[0] == '.' && part.empty();
    part += is_forbidden || is_leading_dot ? "_" : value.substr(0, length);
    value.remove_prefix(length);
  }
  return part.empty() ? "_" : part;
}

using Value = std::variant<std::monostate, std::string, std::int64_t, double>;

struct Variable {
  std::string_view name;
  Value (*read)(const NameVariables&);
};

template <auto member>
Value read(const NameVariables& variables) {
  const auto& value = variables.*member;
  if constexpr (requires { value.has_value(); }) {
    return value ? Value(*value) : Value();
  } else {
    return value;
  }
}

#define VARIABLE(name) \
  { #name, read < &NameVariables::name> }
constexpr Variable node_variables[] = {
    VARIABLE(run_name),         VARIABLE(rank),      VARIABLE(local_rank), VARIABLE(world_size),
    VARIABLE(local_world_size), VARIABLE(node_rank),
};
constexpr Variable batch_variables[] = {
    VARIABLE(epoch),           VARIABLE(batch),     VARIABLE(batch_in_epoch), VARIABLE(sample),
    VARIABLE(sample_in_epoch), VARIABLE(token),     VARIABLE(token_in_epoch), VARIABLE(total_wct),
    VARIABLE(epoch_wct),       VARIABLE(batch_wct),
};
#undef VARIABLE

Value value_of(std::string_view name, const NameVariables& variables) {
  for (const Variable& variable : node_variables) {
    if (variable.name == name) return variable.read(variables);
  }
  for (const Variable& variable : batch_variables) {
    if (variable.name == name) return variable.read(variables);
  }
  return {};
}

// A piece of a template: plain text, or what stands between two braces.
struct Piece {
  bool is_field = false;
  std::string_view text;  // without the braces
};

struct Pieces {
  std::vector<Piece> pieces;
  std::string problem;
};

Pieces bad_brace(Pieces so_far, std::string_view what) {
  so_far.problem = what;
  return so_far;
}

Pieces split(std::string_view rest) {
  Pieces out;
  while (!rest.empty()) {
    const std::size_t brace = rest.find_first_of("{}");
    if (brace != 0) out.pieces.push_back({false, rest.substr(0, brace)});
    if (brace == std::string_view::npos) break;
    const bool is_doubled = rest.size() > brace + 1 && rest[brace + 1] == rest[brace];
    if (is_doubled) {
      out.pieces.push_back({false, rest.substr(brace, 1)});
      rest.remove_prefix(brace + 2);
      continue;
    }
    if (rest[brace] == '}') return bad_brace(std::move(out), "a '}' has no '{' before it");
    const std::string_view field = rest.substr(brace + 1);
    const std::size_t end = field.find_first_of("{}");
    if (end == std::string_view::npos) {
      return bad_brace(std::move(out), "a '{' has no '}' after it");
    }
    if (field[end] == '{') return bad_brace(std::move(out), "a '{' stands inside braces");
    out.pieces.push_back({true, field.substr(0, end)});
    rest = field.substr(end + 1);
  }
  return out;
}

struct Field {
  std::string_view name;
  std::string_view spec;
};

Field field_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

FormattedValue format_value(const Value& value, const FormatSpec& spec) {
  if (const auto* const text = std::get_if<std::string>(&value)) {
    return format_text(as_path_part(*text), spec);
  }
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    return format_integer(*number, spec);
  }
  return format_real(std::get<double>(value), spec);
}

FormattedName refused(std::string_view field, const std::string& problem) {
  return {{}, "{" + printable(field) + "}: " + printable(problem)};
}

std::vector<std::string_view> names_of(std::span<const Variable> variables) {
  std::vector<std::string_view> names;
  for (const Variable& variable : variables) names.push_back(variable.name);
  return names;
}

}  // namespace

FormattedName format_name(std::string_view name_template, const NameVariables& variables) {
  const Pieces split_template = split(name_template);
  if (!split_template.problem.empty()) return {{}, split_template.problem};
  FormattedName result;
  for (const Piece& piece : split_template.pieces) {
    if (!piece.is_field) {
      result.name += piece.text;
      continue;
    }
    const Field field = field_of(piece.text);
    const Value value = value_of(field.name, variables);
    if (std::holds_alternative<std::monostate>(value)) {
      result.name += "{" + std::string(piece.text) + "}";
      continue;
    }
    const ParsedFormatSpec spec = parse_format_spec(field.spec);
    if (!spec.problem.empty()) return refused(piece.text, spec.problem);
    FormattedValue text = format_value(value, spec.spec);
    if (!text.problem.empty()) return refused(piece.text, text.problem);
    // {run_name:.0} would turn "{run_name}/x" into a path from the root.
    result.name += text.text.empty() ? "_" : text.text;
  }
  return result;
}

std::string as_template(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '{' || c == '}') out += c;
  }
  return out;
}

std::string template_problem(std::string_view name_template) {
  NameVariables variables;
  for (auto* number :
       {&variables.epoch, &variables.batch, &variables.batch_in_epoch, &variables.sample,
        &variables.sample_in_epoch, &variables.token, &variables.token_in_epoch}) {
    *number = 0;
  }
  for (auto* seconds : {&variables.total_wct, &variables.epoch_wct, &variables.batch_wct}) {
    *seconds = 0;
  }
  return format_name(name_template, variables).problem;
}

bool is_trace_name(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

std::vector<std::string> variables_in(std::string_view name_template) {
  std::vector<std::string> names;
  for (const Piece& piece : split(name_template).pieces) {
    if (piece.is_field) names.emplace_back(field_of(piece.text).name);
  }
  return names;
}

const std::vector<std::string_view>& node_variable_names() {
  static const std::vector<std::string_view> names = names_of(node_variables);
  return names;
}

const std::vector<std::string_view>& batch_variable_names() {
  static const std::vector<std::string_view> names = names_of(batch_variables);
  return names;
}

}  // namespace traceagent::config
