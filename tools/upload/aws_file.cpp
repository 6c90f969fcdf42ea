#include "tools/upload/aws_file.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>

namespace traceagent::tools {

namespace {

constexpr std::string_view blanks = " \t\r\f\v";

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class Reader {
 public:
  void take(const std::string& line) {
    const std::string text = trimmed(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') return;
    const std::size_t indent = line.find_first_not_of(blanks);
    if (!setting_.empty() && indent > indent_) return go_on(text);
    indent_ = indent;
    if (text.front() == '[') return begin_section(text);
    if (!file_.empty()) begin_setting(text);
  }

  AwsFile file() && { return std::move(file_); }

 private:
  void begin_section(const std::string& text) {
    setting_.clear();
    const std::string name = trimmed(std::string_view(text).substr(1, text.rfind(']') - 1));
    const auto at = std::find_if(file_.begin(), file_.end(),
                                 [&](const auto& section) { return section.first == name; });
    at_ = static_cast<std::size_t>(at - file_.begin());
    if (at == file_.end()) file_.emplace_back(name, AwsSection());
  }

  void begin_setting(const std::string& text) {
    const std::size_t end = text.find_first_of("=:");
    setting_ = end == std::string::npos ? "" : lower(trimmed(text.substr(0, end)));
    if (!setting_.empty()) section().settings[setting_] = trimmed(text.substr(end + 1));
  }

  // A table where nothing stood behind the "=".
  void go_on(const std::string& text) {
    std::string& value = section().settings[setting_];
    if (!value.empty()) {
      value += ' ' + text;
      return;
    }
    const std::size_t end = text.find('=');
    if (end == std::string::npos) return;
    section().tables[setting_][trimmed(text.substr(0, end))] = trimmed(text.substr(end + 1));
  }

  AwsSection& section() { return file_[at_].second; }

  AwsFile file_;
  std::size_t at_ = 0;
  std::string setting_;  // that a deeper line goes on with
  std::size_t indent_ = 0;
};

}  // namespace

AwsFile aws_file(const std::string& path) {
  Reader reader;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) reader.take(line);
  return std::move(reader).file();
}

}  // namespace traceagent::tools
