#include "config/reference.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "config/options.hpp"

namespace traceagent::config {
namespace {

TEST(Reference, TheReadmeIsUpToDate) {
  std::ifstream file(TRACEAGENT_SOURCE_DIR "/config/README.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), options_reference_markdown())
      << "options.def was changed: build the target config_reference";
}

TEST(Reference, NamesEveryOptionAndVariable) {
  const std::string text = options_reference_text();
  const std::string markdown = options_reference_markdown();
  for (const OptionRow& row : option_rows()) {
    for (const std::string& name : {std::string(row.key), environment_name(row.key)}) {
      EXPECT_NE(text.find(name), std::string::npos) << name;
      EXPECT_NE(markdown.find('`' + name + '`'), std::string::npos) << name;
    }
    EXPECT_TRUE(row.help.ends_with('.') || row.help.ends_with(".)")) << row.key;
  }
  EXPECT_NE(text.find("TRACEAGENT_IDENTITY_RANK or TRACEAGENT_RANK\n"), std::string::npos);
  EXPECT_NE(text.find("ring.size                    size; default 64MiB\n"), std::string::npos);
  EXPECT_NE(text.find("ring.full                    drop or overwrite; default drop\n"),
            std::string::npos);
}

TEST(Reference, FitsATerminal) {
  std::istringstream text(options_reference_text());
  std::string line;
  while (std::getline(text, line)) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(Reference, RowsAreConsistent) {
  std::set<std::string> names;
  for (const OptionRow& row : option_rows()) {
    EXPECT_TRUE(names.insert(environment_name(row.key)).second) << row.key;
    if (!row.alias.empty()) {
      EXPECT_TRUE(names.insert(std::string(row.alias)).second);
    }
    EXPECT_EQ(row.type == OptionType::choice, !row.rule.choices.empty()) << row.key;
  }
  // The variables that are not options.
  EXPECT_FALSE(names.contains("TRACEAGENT_CONFIG"));
  EXPECT_FALSE(names.contains("TRACEAGENT_SCHEDULE"));
}

}  // namespace
}  // namespace traceagent::config
