#include "config/reference.hpp"

#include <string_view>
#include <vector>

#include "config/name_template.hpp"
#include "config/option_keys.hpp"
#include "config/options.hpp"
#include "config/value.hpp"

namespace traceagent::config {
namespace {

constexpr std::size_t columns = 100;

std::string choices_in_words(std::string_view joined) {
  std::string words(joined);
  for (std::size_t bar = 0; (bar = words.find('|', bar)) != std::string::npos;) {
    words.replace(bar, 1, " or ");
  }
  return words;
}

std::string type_in_words(const OptionRow& row) {
  switch (row.type) {
    case OptionType::boolean:
      return "true or false";
    case OptionType::text:
      return "text";
    case OptionType::nullable_text:
      return "text or null";
    case OptionType::node_name_template:
    case OptionType::file_name_template:
      return "name";
    case OptionType::nullable_name_template:
      return "name or null";
    case OptionType::file_remote:
    case OptionType::node_remote:
      return "target or null";
    case OptionType::choice:
      return choices_in_words(row.rule.choices);
    case OptionType::integer:
      return "whole number";
    case OptionType::count:
      return "whole number from 0";
    case OptionType::bytes:
      return "size";
    case OptionType::duration:
      return "duration";
    case OptionType::percent:
      return "share or null";
    case OptionType::nullable_bytes:
      return "size or null";
    case OptionType::step_mark:
      return "step mark";
    case OptionType::signal_list:
      return "list of signals";
    case OptionType::counter_list:
      return "list of process, node, gpu";
    case OptionType::pattern_list:
      return "list of patterns";
  }
  return {};
}

std::string default_in_words(const OptionRow& row) {
  const std::string value = show(Options{}, row);
  return value.empty() ? "empty" : value;
}

// Breaks a paragraph at spaces into lines that begin with `indent`.
std::string wrapped(std::string_view paragraph, std::string_view indent) {
  std::string out;
  while (!paragraph.empty()) {
    const std::size_t room = columns - indent.size();
    std::size_t end = paragraph.size();
    if (end > room) {
      end = paragraph.rfind(' ', room);
      if (end == std::string_view::npos) end = paragraph.find(' ');
      if (end == std::string_view::npos) end = paragraph.size();
    }
    out += std::string(indent) + std::string(paragraph.substr(0, end)) + '\n';
    paragraph.remove_prefix(end == paragraph.size() ? end : end + 1);
  }
  return out;
}

std::string names_in_braces(const std::vector<std::string_view>& names, std::string_view quote) {
  std::string out;
  for (const std::string_view name : names) {
    if (!out.empty()) out += ", ";
    out += std::string(quote) + '{' + std::string(name) + '}' + std::string(quote);
  }
  return out;
}

// A paragraph of the introduction; `quote` is put around literal text: ` in Markdown, else nothing.
struct Paragraph {
  std::string_view heading;
  std::string text;
};

std::vector<Paragraph> introduction(std::string_view q) {
  const auto literal = [&](std::string_view text) {
    return std::string(q) + std::string(text) + std::string(q);
  };
  return {
      {"Where options come from",
       "A YAML file named by " + literal("TRACEAGENT_CONFIG") +
           ", then the environment, which wins. A key " + literal("a.b") + " is " + literal("b") +
           " under " + literal("a") + " in YAML (" + literal("a.b:") +
           " in one line works too) and " + literal("TRACEAGENT_A_B") +
           " in the environment. A wrong key or value is reported in one line and replaced by "
           "the default; it never stops the program."},
      {"Schedule",
       "In one line, in the environment and in YAML: " +
           literal("TRACEAGENT_SCHEDULE=\"skip_first=10,wait=5,warmup=1,active=3,repeat=2\"") +
           ". After skip_first steps, each cycle is wait steps idle, warmup steps switched on but "
           "not kept, active steps recorded; the last of them writes the cycle's file."},
      {"Values",
       "Sizes: bytes, or a number with KiB, MiB, GiB, TiB (powers of 1024), KB, MB, GB, TB (powers "
       "of 1000). Durations: a number with ns, us, ms, s, min, h, d. Shares: a number with %. "
       "true, yes, on, 1 and false, no, off, 0. Null: null, in YAML and in the environment. An "
       "empty variable is null for names and targets, and the empty text for run_name; for all "
       "others it is as if it were not set."},
      {"Names",
       "Folder, file and merged name may hold " + names_in_braces(node_variable_names(), q) +
           "; the file name also " + names_in_braces(batch_variable_names(), q) +
           ". batch counts the steps that are done: a cycle that ends in the fifth step has " +
           literal("{batch}") +
           " 5. The times are seconds since the start, of this epoch, of "
           "this step. Python's format specifications work but n, c and !: " +
           literal("{batch:06d}") + ", " + literal("{total_wct:.2f}") + "; " + literal("{{") +
           " and " + literal("}}") + " are braces."},
  };
}

std::string row_as_text(const OptionRow& row) {
  std::string head = "  " + std::string(row.key);
  if (head.size() < 30) head.resize(30, ' ');
  head += " " + type_in_words(row) + "; default " + default_in_words(row) + '\n';
  std::string name = "      " + environment_name(row.key);
  if (!row.alias.empty()) name += " or " + std::string(row.alias);
  return head + name + '\n' + wrapped(row.help, "      ");
}

std::string in_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string row_as_markdown(const OptionRow& row) {
  std::string variable = '`' + environment_name(row.key) + '`';
  if (!row.alias.empty()) variable += " or `" + std::string(row.alias) + '`';
  const std::string value = show(Options{}, row);
  return "| `" + std::string(row.key) + "` | " + in_cell(type_in_words(row)) + " | " +
         (value.empty() ? "empty" : '`' + in_cell(value) + '`') + " | " + in_cell(row.help) +
         " | " + variable + " |\n";
}

}  // namespace

std::string option_reference_text(const OptionRow& row) { return row_as_text(row); }

std::string group_reference_text(std::string_view group) {
  std::string out;
  if (!is_group(group)) return out;
  for (const OptionRow& row : option_rows()) {
    if (group_of(row.key) == group) out += row_as_text(row);
  }
  return out;
}

std::string options_reference_text() {
  std::string out;
  for (const Paragraph& paragraph : introduction("")) {
    out += std::string(paragraph.heading) + ":\n" + wrapped(paragraph.text, "  ") + '\n';
  }
  out += "Options:\n";
  std::string_view group;
  for (const OptionRow& row : option_rows()) {
    if (group_of(row.key) != group) out += '\n';
    group = group_of(row.key);
    out += row_as_text(row);
  }
  return out;
}

std::string options_reference_markdown() {
  std::string out =
      "# Options\n\n"
      "Generated from [options.def](options.def) by the build target `config_reference`; a test\n"
      "fails when it is out of date. Ready-made files are in [examples](examples).\n\n";
  for (const Paragraph& paragraph : introduction("`")) {
    out += "## " + std::string(paragraph.heading) + "\n\n" + wrapped(paragraph.text, "") + "\n";
  }
  out += "## All options\n";
  std::string_view group = "none yet";
  for (const OptionRow& row : option_rows()) {
    if (group_of(row.key) != group) {
      group = group_of(row.key);
      out += "\n### " + (group.empty() ? "The run" : std::string(group)) +
             "\n\n| key | type | default | meaning | variable |\n|---|---|---|---|---|\n";
    }
    out += row_as_markdown(row);
  }
  return out;
}

}  // namespace traceagent::config
