#include "tools/import/json_repair.hpp"

#include "agent/trace/json_bytes.hpp"
#include "agent/trace/json_syntax.hpp"
#include "tools/import/object_scan.hpp"

namespace traceagent::tools {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool is_word_end(char c) {
  return is_json_space(c) || c == ',' || c == ':' || c == '"' || c == '{' || c == '}' || c == '[' ||
         c == ']';
}

class Repair {
 public:
  Repair(std::string_view text, std::string& repaired) : rest_(text), repaired_(repaired) {}

  bool run() {
    repaired_.clear();
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '"') {
        if (!string()) return false;
      } else if (is_word_end(c)) {
        punctuation(c);
      } else {
        word();
      }
    }
    return trace::is_whole_value(repaired_);
  }

 private:
  void punctuation(char c) {
    rest_.remove_prefix(1);
    if ((c == '}' || c == ']') && repaired_.find_last_not_of(" \t\r\n") != std::string::npos) {
      const std::size_t last = repaired_.find_last_not_of(" \t\r\n");
      if (repaired_[last] == ',') repaired_.resize(last);
    }
    repaired_.push_back(c);
  }

  void word() {
    std::size_t size = 0;
    while (size < rest_.size() && !is_word_end(rest_[size])) ++size;
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (trace::is_whole_value(word)) {
      repaired_.append(word);
    } else if (word == "NaN" || word == "nan" || word.ends_with("Infinity") ||
               word.ends_with("inf")) {
      repaired_.append("null");
    } else {
      repaired_.push_back('"');
      for (std::string_view left = word; !left.empty();) character(left);
      repaired_.push_back('"');
    }
  }

  bool string() {
    repaired_.push_back('"');
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\') {
        escape();
      } else {
        character(rest_);
      }
    }
    if (rest_.empty()) return false;
    rest_.remove_prefix(1);
    repaired_.push_back('"');
    return true;
  }

  void escape() {
    // A pair of surrogates is one character, each alone none.
    for (const std::size_t size : {std::size_t{2}, std::size_t{6}, std::size_t{12}}) {
      const std::string_view part = rest_.substr(0, size);
      if (trace::is_whole_value("\"" + std::string(part) + "\"")) {
        repaired_.append(part);
        rest_.remove_prefix(part.size());
        return;
      }
    }
    repaired_.append("\\\\");
    rest_.remove_prefix(1);
  }

  void character(std::string_view& text) {
    constexpr char hex[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(text.front());
    std::size_t size = 1;
    if (byte < 0x20) {
      repaired_.append("\\u00").append(1, hex[byte >> 4U]).append(1, hex[byte & 15U]);
    } else if (byte < 0x80) {
      repaired_.push_back(text.front());
    } else if (const std::size_t length = trace::utf8_sequence_length(text); length > 0) {
      repaired_.append(text.substr(0, length));
      size = length;
    } else {
      repaired_.append(replacement);
    }
    text.remove_prefix(size);
  }

  std::string_view rest_;
  std::string& repaired_;
};

}  // namespace

bool repair_json(std::string_view text, std::string& repaired) {
  return Repair(text, repaired).run();
}

}  // namespace traceagent::tools
