#include "config/yaml_entries.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "config/plain_text.hpp"

namespace traceagent::config {
namespace {

// The parser recurses with the nesting, and may run on a thread with a small stack.
constexpr std::size_t deepest_nesting = 16;
constexpr std::size_t most_entries = 1000;
constexpr std::size_t most_faults = 20;
constexpr std::size_t longest_list = 4096;

struct Refused {
  YamlFault fault;
};

int line_of(const YAML::Mark& mark) { return mark.line + 1; }

[[noreturn]] void refuse(int line, std::string what) { throw Refused{{line, std::move(what), {}}}; }

// Events instead of yaml-cpp's tree: they carry the line of each key, show keys given twice, and
// need no memory for what nobody asked for.
class EntryCollector final : public YAML::EventHandler {
 public:
  explicit EntryCollector(YamlDocument& document) : document_(document) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (anchor != 0) anchored_[anchor] = std::nullopt;
    scalar(mark, std::nullopt);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    if (anchor != 0) anchored_[anchor] = text;
    scalar(mark, text);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      refuse(line_of(mark), "an alias can stand for a plain value only");
    }
    scalar(mark, found->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    begin(mark, YamlEntry::Kind::list);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    begin(mark, YamlEntry::Kind::group);
  }
  void OnMapEnd() override {
    if (depth_ == 2) group_.clear();
    --depth_;
  }

  int key_line() const { return key_line_; }

 private:
  void scalar(const YAML::Mark& mark, std::optional<std::string> text) {
    if (depth_ == 0) {
      if (text) refuse(line_of(mark), "options must be a map such as enabled: true");
      return;
    }
    if (skips()) {
      if (in_list_ && depth_ == skip_from_) add_to_list(mark, text.value_or("null"));
      return;
    }
    if (!expects_value_) {
      if (!text) refuse(line_of(mark), "a key is missing");
      begin_key(mark, *text);
    } else {
      expects_value_ = false;
      add(YamlEntry::Kind::value, std::move(text));
    }
  }

  void begin(const YAML::Mark& mark, YamlEntry::Kind kind) {
    if (depth_ >= deepest_nesting) refuse(line_of(mark), "nested too deeply");
    if (depth_ == 0) {
      if (kind != YamlEntry::Kind::group) {
        refuse(line_of(mark), "options must be a map such as enabled: true, not a list");
      }
    } else if (!skips()) {
      if (!expects_value_) refuse(line_of(mark), "a key must be a plain word");
      expects_value_ = false;
      const bool is_group = kind == YamlEntry::Kind::group && depth_ == 1;
      if (is_group) group_ = key_;
      in_list_ = false;
      if (is_group) {
        add(kind, std::nullopt);
      } else if (kind == YamlEntry::Kind::list) {
        in_list_ = add(kind, std::nullopt);
      } else {
        add(YamlEntry::Kind::too_deep, std::nullopt);
      }
      skip_from_ = is_group ? never : depth_ + 1;
    } else if (in_list_) {
      document_.entries.back().has_nested = true;
    }
    ++depth_;
  }

  void add_to_list(const YAML::Mark& mark, const std::string& text) {
    std::optional<std::string>& words = document_.entries.back().text;
    std::string& list = words ? *words : words.emplace();
    if (list.size() + text.size() > longest_list) refuse(line_of(mark), "a list is too long");
    list += (list.empty() ? "" : ", ") + text;
  }

  // Whether what comes now lies inside a list or a map that is too deep.
  bool skips() {
    if (depth_ < skip_from_) skip_from_ = never;
    return skip_from_ != never;
  }

  void begin_key(const YAML::Mark& mark, const std::string& text) {
    key_ = depth_ == 1 ? text : group_ + '.' + text;
    key_line_ = line_of(mark);
    expects_value_ = true;
  }

  // False: the key was there before, and this one is passed over.
  bool add(YamlEntry::Kind kind, std::optional<std::string> text) {
    if (!seen_.insert(key_).second) {
      if (document_.faults.size() < most_faults) {
        document_.faults.push_back({key_line_, in_quotes(key_) + " is given twice",
                                    kind == YamlEntry::Kind::group
                                        ? "both are read, and of a key in both the first is used"
                                        : "the first one is used"});
      }
      if (kind != YamlEntry::Kind::group) return false;
    }
    if (document_.entries.size() >= most_entries) {
      refuse(key_line_, "more than " + std::to_string(most_entries) + " keys");
    }
    document_.entries.push_back({key_, kind, std::move(text), false, key_line_});
    return true;
  }

  static constexpr std::size_t never = ~std::size_t{0};

  YamlDocument& document_;
  std::size_t depth_ = 0;
  std::size_t skip_from_ = never;
  bool expects_value_ = false;
  bool in_list_ = false;  // whose plain values belong to the last entry
  std::string group_;
  std::string key_;
  int key_line_ = 0;
  std::set<std::string> seen_;
  std::map<YAML::anchor_t, std::optional<std::string>> anchored_;
};

// yaml-cpp takes a quote that is never closed for one that ends with the file, and so swallows all
// keys after it. With an end-of-document mark after the text it says that the quote is open.
constexpr std::string_view end_of_document = "\n...\n";

bool is_open_quote(const YAML::Exception& error) {
  return error.msg == YAML::ErrorMsg::DOC_IN_SCALAR || error.msg == YAML::ErrorMsg::EOF_IN_SCALAR;
}

void parse_into(YamlDocument& document, std::string_view text) {
  std::istringstream stream(std::string(text) + std::string(end_of_document));
  YAML::Parser parser(stream);
  EntryCollector collector(document);
  try {
    if (!parser.HandleNextDocument(collector)) return;
  } catch (const YAML::Exception& error) {
    if (is_open_quote(error)) refuse(collector.key_line(), "a quote is not closed");
    throw;
  }
  YamlDocument ignored;
  EntryCollector rest(ignored);
  if (parser.HandleNextDocument(rest)) {
    document.faults.push_back({0, "a second document begins", "only the first one is read"});
  }
}

std::string_view line_at(std::string_view text, int line) {
  for (; line > 1 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return text.substr(0, text.find('\n'));
}

// yaml-cpp's words, but for what people do: it has many for a tab.
YamlFault fault_of(const YAML::Exception& error, std::string_view text) {
  const int line = error.mark.is_null() ? 0 : line_of(error.mark);
  const std::string_view there = line_at(text, line);
  const std::size_t indent = std::min(there.find_first_not_of(' '), there.size());
  if (there.substr(indent).starts_with('\t')) {
    return {line, "indented with a tab: YAML wants spaces", {}};
  }
  if (error.msg == YAML::ErrorMsg::END_OF_MAP) {
    return {line, "this is no key, or not indented as the keys before it", {}};
  }
  return {line, printable(error.msg), {}};
}

// What is missing at the end is missed after the last line.
int within(std::string_view text, int line) {
  const auto lines = static_cast<int>(std::ranges::count(text, '\n')) + !text.ends_with('\n');
  return std::min(line, lines);
}

}  // namespace

YamlDocument parse_yaml(std::string_view text) {
  YamlDocument document;
  std::optional<YamlFault> broken;
  if (text.find('\0') != std::string_view::npos) {
    broken = {0, "not text: it has a zero byte in it", {}};
  } else {
    try {
      parse_into(document, text);
    } catch (const Refused& refused) {
      broken = refused.fault;
    } catch (const YAML::Exception& error) {
      broken = fault_of(error, text);
    }
  }
  if (broken) {
    broken->line = within(text, broken->line);
    document = {{}, {}, std::move(broken)};
  }
  return document;
}

}  // namespace traceagent::config
