#include "config/yaml_entries.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace traceagent::config {
namespace {

// One line per entry: key=value@line, key=null@line, key{}@line, key[]@line, key{{}}@line.
std::string shown(const YamlDocument& document) {
  std::string out;
  for (const YamlEntry& entry : document.entries) {
    out += entry.key;
    switch (entry.kind) {
      case YamlEntry::Kind::value:
        out += '=' + entry.text.value_or("null");
        break;
      case YamlEntry::Kind::group:
        out += "{}";
        break;
      case YamlEntry::Kind::list:
        out += "[]";
        break;
      case YamlEntry::Kind::too_deep:
        out += "{{}}";
        break;
    }
    out += '@' + std::to_string(entry.line) + ' ';
  }
  return out;
}

std::string broken(std::string_view text) {
  const YamlDocument document = parse_yaml(text);
  EXPECT_TRUE(document.entries.empty());
  if (!document.broken) return "not broken";
  return std::to_string(document.broken->line) + ": " + document.broken->what;
}

TEST(YamlEntries, FlattensTwoLevels) {
  const YamlDocument document = parse_yaml(
      "# comment\n"
      "enabled: true\n"
      "output:\n"
      "  folder: \"a: b\"\n"
      "\n"
      "  gzip: false   # why\n"
      "ring: {size: 64MiB, full: drop}\n"
      "run.name: x\n");
  EXPECT_FALSE(document.broken);
  EXPECT_TRUE(document.faults.empty());
  EXPECT_EQ(shown(document),
            "enabled=true@2 output{}@3 output.folder=a: b@4 output.gzip=false@6 ring{}@7 "
            "ring.size=64MiB@7 ring.full=drop@7 run.name=x@8 ");
}

TEST(YamlEntries, NullIsNotText) {
  EXPECT_EQ(shown(parse_yaml("a: null\nb: ~\nc:\nd: 'null'\ne: \"\"\n")),
            "a=null@1 b=null@2 c=null@3 d=null@4 e=@5 ");
  const YamlDocument document = parse_yaml("a: null\nd: 'null'\n");
  EXPECT_FALSE(document.entries[0].text.has_value());
  EXPECT_EQ(document.entries[1].text, "null");
}

TEST(YamlEntries, ListsAndDeepMapsAreNamedAndPassedOver) {
  EXPECT_EQ(
      shown(parse_yaml("a: [1, {x: y}, [2]]\nb:\n  c: {d: {e: f}, g: [h]}\n  i: [j]\nk: l\n")),
      "a[]@1 b{}@2 b.c{{}}@3 b.i[]@4 k=l@5 ");
}

TEST(YamlEntries, EmptyDocuments) {
  for (const char* const text :
       {"", "\n\n", "# nothing\n", "---\n", "null\n", "{}", "\xef\xbb\xbf"}) {
    const YamlDocument document = parse_yaml(text);
    EXPECT_TRUE(document.entries.empty()) << text;
    EXPECT_FALSE(document.broken) << text;
  }
}

TEST(YamlEntries, AKeyGivenTwiceKeepsTheFirst) {
  const YamlDocument document = parse_yaml("a: 1\na: 2\nb: {c: 3}\nb: {c: 4, d: 5}\nb.d: 6\n");
  EXPECT_EQ(shown(document), "a=1@1 b{}@3 b.c=3@3 b{}@4 b.d=5@4 ");
  ASSERT_EQ(document.faults.size(), 4U);
  EXPECT_EQ(document.faults[0].line, 2);
  EXPECT_EQ(document.faults[0].what, "\"a\" is given twice");
  EXPECT_EQ(document.faults[0].instead, "the first one is used");
  EXPECT_EQ(document.faults[1].what, "\"b\" is given twice");
  EXPECT_EQ(document.faults[1].instead, "both are read, and of a key in both the first is used");
  EXPECT_EQ(document.faults[2].what, "\"b.c\" is given twice");
  EXPECT_EQ(document.faults[3].line, 5);
  EXPECT_EQ(document.faults[3].what, "\"b.d\" is given twice");
}

TEST(YamlEntries, AliasesOfValuesAreResolved) {
  EXPECT_EQ(shown(parse_yaml("a: &x 5s\nb: {c: *x}\nd: &n null\ne: *n\n")),
            "a=5s@1 b{}@2 b.c=5s@2 d=null@3 e=null@4 ");
}

TEST(YamlEntries, AliasesOfMapsAreRefused) {
  EXPECT_EQ(broken("a: &x {b: c}\nd: *x\n"), "2: an alias can stand for a plain value only");
  EXPECT_EQ(broken("a: &x [*x]\n"), "1: an alias can stand for a plain value only");
  EXPECT_EQ(broken("&x a: {b: *y}\n"), "1: the referenced anchor is not defined");
}

TEST(YamlEntries, SaysInWhichLineTheTextIsBroken) {
  EXPECT_EQ(broken("a: 1\nb: {c: 2\n"), "2: end of map flow not found");
  EXPECT_EQ(broken("a: 1\n\tb: 2\n"), "2: indented with a tab: YAML wants spaces");
  EXPECT_EQ(broken("a:\n\tb: 2\n"), "2: indented with a tab: YAML wants spaces");
  EXPECT_EQ(broken("a:\n  \tb: 2\n  c: 3\n"), "2: indented with a tab: YAML wants spaces");
  EXPECT_EQ(broken("a:\n  b: 2\n c: 3\n"),
            "3: this is no key, or not indented as the keys before it");
  EXPECT_EQ(broken("a: b: c\n"), "1: illegal map value");
  EXPECT_EQ(broken("a: 1\nb: \"2\nc: 3\n"), "2: a quote is not closed");
  EXPECT_EQ(broken("a: 'x"), "1: a quote is not closed");
  EXPECT_EQ(broken("- a\n- b\n"), "1: options must be a map such as enabled: true, not a list");
  EXPECT_EQ(broken("just text\n"), "1: options must be a map such as enabled: true");
  EXPECT_EQ(broken("[a]: b\n"), "1: a key must be a plain word");
  EXPECT_EQ(broken("? {a: b}\n: c\n"), "1: a key must be a plain word");
  EXPECT_EQ(broken("x: 1\n~: b\n"), "2: a key is missing");
  EXPECT_EQ(broken(std::string_view("a: 1\n\0b: 2\n", 11)),
            "0: not text: it has a zero byte in it");
}

TEST(YamlEntries, OnlyTheFirstDocumentIsRead) {
  const YamlDocument document = parse_yaml("a: 1\n---\nb: 2\n");
  EXPECT_EQ(shown(document), "a=1@1 ");
  ASSERT_EQ(document.faults.size(), 1U);
  EXPECT_EQ(document.faults[0].what, "a second document begins");
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(YamlEntries, DeepNestingIsRefusedEarly) {
  EXPECT_EQ(broken("a: " + repeated("[", 500000)), "1: nested too deeply");
  EXPECT_EQ(broken("a: " + repeated("{b: ", 100000)), "1: nested too deeply");
  EXPECT_EQ(broken(repeated("- ", 100000)),
            "1: options must be a map such as enabled: true, not a list");
  std::string staircase;
  for (std::size_t depth = 0; depth < 100; ++depth) staircase += std::string(depth, ' ') + "a:\n";
  EXPECT_EQ(broken(staircase), "17: nested too deeply");
}

TEST(YamlEntries, AliasBombsCostNothing) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 20; ++level) {
    const std::string before = "*a" + std::to_string(level - 1);
    bomb += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" +
            repeated(before + ", ", 9) + before + "]\n";
  }
  EXPECT_EQ(broken(bomb), "2: an alias can stand for a plain value only");
}

TEST(YamlEntries, TooManyKeysAreRefused) {
  std::string text;
  for (int i = 0; i < 1001; ++i) text += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(broken(text), "1001: more than 1000 keys");
}

TEST(YamlEntries, AMegabyteOfOneLetterIsRead) {
  const YamlDocument document = parse_yaml("a: " + std::string(1000000, 'x') + "\nb: 2\n");
  ASSERT_EQ(document.entries.size(), 2U);
  EXPECT_EQ(document.entries[0].text->size(), 1000000U);
}

class OptionsFile : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "traceagent_options_" + std::to_string(getpid());
  void TearDown() override { std::remove(path_.c_str()); }

  void write(std::size_t bytes) { std::ofstream(path_) << std::string(bytes, '#'); }
};

TEST_F(OptionsFile, IsReadWhole) {
  std::ofstream(path_) << "enabled: true\n";
  EXPECT_EQ(read_options_file(path_).text, "enabled: true\n");
  EXPECT_EQ(read_options_file(path_).problem, "");
}

TEST_F(OptionsFile, OfAMebibyteIsReadAndALargerOneIsNot) {
  write(1 << 20);
  EXPECT_EQ(read_options_file(path_).text.size(), std::size_t{1} << 20);
  write((1 << 20) + 1);
  EXPECT_EQ(read_options_file(path_).problem, "larger than 1 MiB");
  write(10 << 20);
  EXPECT_EQ(read_options_file(path_).problem, "larger than 1 MiB");
}

TEST_F(OptionsFile, ThatIsNoFileIsRefusedAndNeverHangs) {
  EXPECT_EQ(read_options_file(path_).problem, "No such file or directory");
  EXPECT_EQ(read_options_file("/").problem, "not a regular file");
  EXPECT_EQ(read_options_file("/dev/zero").problem, "not a regular file");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(read_options_file(path_).problem, "not a regular file");
}

}  // namespace
}  // namespace traceagent::config
