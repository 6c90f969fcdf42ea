#include "tools/import/document_scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "agent/trace/json_syntax.hpp"
#include "tests/unit/trace/gzip_member.hpp"
#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/import/content_mark.hpp"
#include "tools/import/member_value.hpp"

namespace traceagent::tools {
namespace {

using Item = DocumentScan::Item;

struct Found {
  std::vector<std::string> events;
  std::map<std::string, std::string> members;
  std::vector<Item> others;
  std::string problem;
  bool is_trace = false;
  bool has_cut_event = false;
  std::optional<std::uint64_t> open_end;

  friend bool operator==(const Found&, const Found&) = default;
};

// Everything, by reads of that many bytes.
Found scan(const std::string& path, std::size_t read_bytes = TextWindow::first_bytes) {
  Found found;
  DocumentScan scan(read_bytes);
  if (scan.open(path, [&](std::string_view key, std::string_view value) {
        found.members[std::string(key)] = value;
      })) {
    for (Item item = scan.next(); item != Item::end; item = scan.next()) {
      if (item == Item::event) {
        found.events.emplace_back(scan.event().text);
        EXPECT_TRUE(trace::is_whole_value(scan.event().text)) << scan.event().text;
      } else {
        found.others.push_back(item);
      }
    }
    EXPECT_EQ(scan.next(), Item::end);
  }
  found.problem = scan.problem();
  found.is_trace = scan.is_trace();
  found.has_cut_event = scan.has_cut_event();
  found.open_end = scan.open_end();
  return found;
}

class DocumentScanTest : public ::testing::Test {
 protected:
  Found scan_text(const std::string& text) {
    trace::write_whole(path_, text);
    return scan(path_);
  }
  trace::ScratchFolder folder_;
  std::string path_ = folder_ / "trace.json";
};

const char* const whole_documents[] = {
    R"([{"ph":"X","a":1},{"ph":"B","args":{"x":[{"y":"}]\"{"},[]],"z":{}}},{}])",
    "\xEF\xBB\xBF [\n{\"ph\":\"X\"} , {\"ph\" : \"E\" , \"n\" : -1.5e3 } ]\n",
    R"({"a":{"traceEvents":[{"no":1}]},"traceEvents":[{"ph":"i"},{"ph":"C","t":true}],"b":"]}","c":12})",
    R"({"traceEvents":[],"INFO":["x","y"]})",
    R"([{"ph":"X"},{"ph":"E"},)",
    R"([1,"two",[3],{"ph":"X"},null])",
    "[{\"ph\":\"X\",\"v\":NaN},{\"n\":\"\xff\x01\"}]",
    R"([{"ph":"X","n":"cut here}, {"ph":"E"}, {"ph":"B"}])",
    R"([{"ph":"X"},{"ph":"E","na)",
    "{\"ph\":\"X\",\"n\":1}\n{\"ph\" : \"B\"}\n\n{\"ph\":\"E\"}\n",
};

TEST_F(DocumentScanTest, FindsEventsInBothForms) {
  EXPECT_EQ(scan_text(whole_documents[0]).events.size(), 3U);
  EXPECT_EQ(scan_text(whole_documents[1]).events,
            (std::vector<std::string>{R"({"ph":"X"})", R"({"ph" : "E" , "n" : -1.5e3 })"}));
  const Found found = scan_text(whole_documents[2]);
  EXPECT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.members.at("b"), R"("]}")");
  EXPECT_EQ(found.members.at("c"), "12");
  EXPECT_EQ(found.problem, "");
  EXPECT_TRUE(scan_text(whole_documents[3]).is_trace);
}

// Every document reads alike however its bytes come.
TEST_F(DocumentScanTest, DoesNotDependOnWhereReadsEnd) {
  for (const char* document : whole_documents) {
    const Found whole = scan_text(document);
    for (std::size_t bytes = 1; bytes < std::string_view(document).size() + 1; ++bytes) {
      EXPECT_EQ(scan(path_, bytes), whole) << document << " by " << bytes;
    }
  }
}

// Wherever a document is cut, the events before it are given, and an object that is cut is told.
TEST_F(DocumentScanTest, GivesWhatIsBeforeACut) {
  const std::string document =
      R"({"a":1,"traceEvents":[{"ph":"X","n":"é{\"}"},{"ph":"E","l":[{"b":1}]},{"ph":"i"}],"z":[1]})";
  const Found whole = scan_text(document);
  ASSERT_EQ(whole.events.size(), 3U);
  for (std::size_t size = 0; size < document.size(); ++size) {
    const Found cut = scan_text(document.substr(0, size));
    ASSERT_LE(cut.events.size(), 3U);
    std::size_t wanted = 0;
    for (const std::string& event : whole.events) {
      wanted += document.find(event) + event.size() <= size ? 1 : 0;
    }
    EXPECT_EQ(cut.events.size(), wanted) << size;
    EXPECT_TRUE(std::equal(cut.events.begin(), cut.events.end(), whole.events.begin())) << size;
    EXPECT_NE(cut.problem, "") << size;
    EXPECT_NE(cut.problem.find("at byte"), std::string::npos) << cut.problem;
  }
}

// No array passes for whole that was cut, wherever that was.
TEST_F(DocumentScanTest, TellsAnArrayThatIsNotClosed) {
  const std::string document = "[{\"ph\":\"X\"},\n{\"ph\":\"E\"}\n]\n";
  const std::size_t closed = document.find(']');
  for (std::size_t size = 0; size < document.size(); ++size) {
    const Found cut = scan_text(document.substr(0, size));
    const bool is_whole = size > closed;
    EXPECT_EQ(cut.problem.empty() && !cut.open_end, is_whole) << size;
    if (cut.open_end) {
      EXPECT_EQ(cut.problem, "");
      EXPECT_EQ(*cut.open_end, size);
      EXPECT_FALSE(cut.has_cut_event);
    }
  }
  EXPECT_EQ(scan_text(R"([{"ph":"X"},)").open_end, 12U);
  EXPECT_EQ(scan_text(R"([{"ph":"X"}][{"ph":"E"})").open_end, 23U);
  EXPECT_FALSE(scan_text(R"({"traceEvents":[{"ph":"X"},)").open_end) << "a problem by itself";
}

TEST_F(DocumentScanTest, TakesAnEventALineWithoutBrackets) {
  const Found found = scan_text(whole_documents[9]);
  EXPECT_EQ(found.events,
            (std::vector<std::string>{R"({"ph":"X","n":1})", R"({"ph" : "B"})", R"({"ph":"E"})"}));
  EXPECT_TRUE(found.is_trace);
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.open_end, std::nullopt) << "there is nothing to close";
  const Found cut = scan_text(std::string(whole_documents[9]).substr(0, 25));
  EXPECT_EQ(cut.events.size(), 1U);
  EXPECT_TRUE(cut.has_cut_event);
  EXPECT_FALSE(scan_text("{\"n\":1}\n{\"n\":2}\n").is_trace) << "nobody's events";
  EXPECT_EQ(scan_text(R"({"ph":1,"traceEvents":[{"ph":"X"},{"ph":"E"}]})").events.size(), 2U)
      << "a member of that name";
}

TEST_F(DocumentScanTest, ReadsOnBehindDamage) {
  const Found found = scan_text(whole_documents[7]);
  EXPECT_EQ(found.events, (std::vector<std::string>{R"({"ph":"E"})", R"({"ph":"B"})"}));
  EXPECT_EQ(found.others, std::vector{Item::broken});
  EXPECT_NE(found.problem.find("at byte 1:"), std::string::npos) << found.problem;
  EXPECT_TRUE(scan_text(whole_documents[8]).has_cut_event);
}

// An event, of which `cut` bytes are missing at its end.
std::string numbered_event(std::size_t number, std::size_t cut = 0) {
  const std::string text = R"({"ph":"X","name":"u)" + std::to_string(number) +
                           R"(","sf":[1,2],"args":{"id":3,"dims":[[1,2],[3]],"o":{"t":"{[\"]}"}}})";
  return text.substr(0, text.size() - cut);
}

// Where an event ends without its closers, those of another or of the document close it: none
// behind it may be lost for that.
TEST_F(DocumentScanTest, LosesOneEventByATearWhereverThatIs) {
  constexpr std::size_t count = 40;
  for (const std::string form : {"[", R"({"traceEvents":[)"}) {
    for (const char* between : {",", ",\n", ", \n  "}) {
      for (std::size_t cut = 1; cut < numbered_event(3).size(); ++cut) {
        std::string text = form;
        std::vector<std::string> whole;
        for (std::size_t i = 0; i < count; ++i) {
          if (i != 3) whole.push_back(numbered_event(i));
          text += (i == 0 ? "" : between) + numbered_event(i, i == 3 ? cut : 0);
        }
        const Found found = scan_text(text + (form == "[" ? "]" : R"(],"traceName":"a"})"));
        ASSERT_EQ(found.events, whole) << cut;
        ASSERT_EQ(found.others, std::vector{Item::broken}) << cut;
        const std::size_t place = text.find(numbered_event(2)) + numbered_event(2).size() +
                                  std::string_view(between).size();
        ASSERT_NE(
            found.problem.find("at byte " + std::to_string(place) + ": what is whole is used"),
            std::string::npos)
            << found.problem;
      }
    }
  }
}

TEST_F(DocumentScanTest, BelievesWhatIsBehindALastEventThatIsTorn) {
  const Found found = scan_text(R"({"traceEvents":[{"ph":"X"},{"ph":"E","args":{"id":3,)"
                                "\n"
                                R"(],"baseTimeNanoseconds":7})");
  EXPECT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.others, std::vector{Item::broken});
  EXPECT_EQ(found.members.at("baseTimeNanoseconds"), "7");
}

// Each within an array, so that the events behind it could be elements of that: no event is too
// long for that, and none is left out for the time that it takes.
TEST_F(DocumentScanTest, LosesNoMoreEventsThanAreTornOfAny) {
  constexpr std::size_t count = 60'000;
  for (const std::string tear :
       {R"({"ph":"X","args":{"id":3)", R"({"ph":"X","args":{"d":[1,[2])"}) {
    std::string text = R"({"traceEvents":[)";
    std::size_t torn = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_torn = i % 100 == 5;
      torn += is_torn ? 1 : 0;
      text += (i == 0 ? "" : ",\n") + (is_torn ? tear : numbered_event(i));
    }
    const Found found = scan_text(text + "]}");
    EXPECT_EQ(found.events.size(), count - torn) << tear;
    EXPECT_EQ(found.others, std::vector(torn, Item::broken)) << tear;
    EXPECT_NE(found.problem.find("what is whole is used"), std::string::npos) << found.problem;
  }
}

// The events behind them are there all the same, and it is said.
TEST_F(DocumentScanTest, LosesNoEventByABracketTooMany) {
  std::vector<std::string> whole;
  for (std::size_t i = 0; i < 20; ++i) whole.push_back(numbered_event(i));
  const auto joined = [&whole](std::size_t begin, std::size_t end) {
    std::string text = whole[begin];
    for (std::size_t i = begin + 1; i < end; ++i) text += "," + whole[i];
    return text;
  };
  const std::string head = R"({"traceEvents":[)";
  const std::string tail = R"(],"b":1})";
  for (const std::string& text : {
           head + joined(0, 5) + ",[" + joined(5, 20) + tail,
           head + joined(0, 5) + "]," + joined(5, 20) + tail,
           head + joined(0, 5) + "]}," + joined(5, 20) + tail,
           head + "[" + joined(0, 5) + "],[" + joined(5, 20) + "]" + tail,
           "[" + joined(0, 5) + "]," + joined(5, 20) + "]",
           "[[" + joined(0, 5) + "],[" + joined(5, 20) + "]]",
       }) {
    const Found found = scan_text(text);
    EXPECT_EQ(found.events, whole) << text;
    EXPECT_TRUE(found.others.empty()) << text;
    EXPECT_NE(found.problem.find("at byte "), std::string::npos) << text;
    EXPECT_EQ(found.members.contains("b"), text.starts_with(head)) << text;
    EXPECT_EQ(scan(path_, 7), found) << text;
  }
  EXPECT_EQ(scan_text(R"({"a":1,"traceEvents":)" + joined(0, 20) + tail).events, whole)
      << "one is missing";
  EXPECT_FALSE(scan_text(R"({"traceEvents":{"ph":1}})").problem.empty());
  const Found values = scan_text(R"({"traceEvents":[{"ph":"X"},[1,[2,3]],{"ph":"E"}]})");
  EXPECT_EQ(values.events.size(), 2U);
  EXPECT_EQ(values.others, std::vector(3, Item::not_an_object)) << "each is counted";
}

// As PyTorch's add_metadata writes a value with quotes, and worse: rank and base are believed.
TEST_F(DocumentScanTest, ReadsOnBehindDamageBeforeTheEvents) {
  const std::string rank = R"("distributedInfo":{"rank":3})";
  const std::string rest =
      ",\n \"baseTimeNanoseconds\":7,\n \"traceEvents\":[{\"ph\":\"X\"},{\"ph\":\"E\"}]}";
  for (const std::string damage : {
           R"("foo":"bar /"x/"")",
           R"("foo":"bar)",
           R"("foo":bar baz)",
           R"(foo":"bar")",
           R"("foo:"bar")",
           R"("foo":1})",
           R"("foo":{"a":"b"c"})",
           R"("deviceProperties":[{"id":0])",
           R"("deviceProperties":[{"id":0)",
           R"("deviceProperties":{"id":0)",
           R"("deviceProperties":[)",
           R"("deviceProperties":"id":0}])",
       }) {
    const Found found = scan_text("{" + rank + ",\n " + damage + rest);
    EXPECT_EQ(found.events.size(), 2U) << damage;
    EXPECT_TRUE(found.others.empty()) << damage;
    EXPECT_TRUE(found.problem.starts_with("text that is not JSON: " + path_ + ": at byte ") &&
                found.problem.ends_with("what is whole is used"))
        << damage << ": " << found.problem;
    ASSERT_TRUE(found.members.contains("distributedInfo")) << damage;
    EXPECT_EQ(found.members.at("distributedInfo"), R"({"rank":3})") << damage;
    ASSERT_TRUE(found.members.contains("baseTimeNanoseconds")) << damage;
    EXPECT_EQ(found.members.at("baseTimeNanoseconds"), "7") << damage;
    const Found behind = scan_text("{" + damage + ",\n " + rank + rest);
    EXPECT_EQ(behind.events.size(), 2U) << damage;
    EXPECT_TRUE(behind.members.contains("distributedInfo")) << damage;
  }
}

// Its value closes where the document ends, far behind what is looked at at once: it is read again.
TEST_F(DocumentScanTest, FindsEventsThatAMemberWithoutItsBracketHolds) {
  std::string text = R"({"deviceProperties":{"id":0,)"
                     "\n"
                     R"("distributedInfo":{"rank":3},"traceEvents":[)";
  constexpr std::size_t count = 20'000;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + numbered_event(i);
  const Found found = scan_text(text + "]}");
  EXPECT_EQ(found.events.size(), count);
  EXPECT_EQ(found.members.at("distributedInfo"), R"({"rank":3})");
  EXPECT_NE(found.problem.find("at byte 20: what is whole is used"), std::string::npos)
      << found.problem;
}

TEST_F(DocumentScanTest, BoundsTheSearchInADamagedHead) {
  std::string text = R"({"a":x y)";
  for (const char* start : {R"(,"a":{"b":)", R"(,"a":[1)", R"(,"a)"}) {
    while (text.size() < 20'000'000) text += start;
    const Found found = scan_text(text);
    EXPECT_FALSE(found.is_trace) << start;
    EXPECT_NE(found.problem.find("at byte 7: give a trace"), std::string::npos) << found.problem;
    text.resize(8);
  }
}

TEST_F(DocumentScanTest, NamesWhatIsNoTrace) {
  EXPECT_TRUE(scan_text("[]").is_trace);
  for (const char* text : {"", " \n", "[1, 2]", "hello", "12", "\"a\"", "{\"a\":1}",
                           "{\"nodes\":[{}]}", "{", "[", "{\"traceEvents\":{}}"}) {
    const Found found = scan_text(text);
    EXPECT_FALSE(found.is_trace) << text;
    EXPECT_TRUE(found.events.empty()) << text;
  }
}

TEST_F(DocumentScanTest, ReadsOnBehindAClosedArray) {
  const Found found = scan_text("[{\"ph\":\"X\"}]\n[{\"ph\":\"E\"}]\n");
  EXPECT_EQ(found.events, (std::vector<std::string>{R"({"ph":"X"})", R"({"ph":"E"})"}));
  EXPECT_EQ(found.problem, "");
  for (const char* text : {R"({"traceEvents":[{"ph":"X"}]} {"traceEvents":[{"ph":"E"}]})",
                           R"([{"ph":"X"},{"ph":"i","a":1}]{"ph":"E"})"}) {
    const Found cut = scan_text(text);
    EXPECT_NE(cut.problem.find("text behind the end"), std::string::npos) << text;
    EXPECT_NE(cut.problem.find("at byte 29"), std::string::npos) << cut.problem;
  }
}

// Bounded by work, not by time: a search that is not bounded takes a minute here.
TEST_F(DocumentScanTest, GivesUpHostileText) {
  std::string broken = "[";
  while (broken.size() < 1'000'000) broken += "{\"a\":";
  for (const char* start : {"{\"a\":{},", "{\"a\":1,", "{\"ph\":\"X\",\"a\":"}) {
    std::string text = "[";
    while (text.size() < 1'000'000) text += start;
    const Found found = scan_text(text + "@");
    EXPECT_NE(found.problem, "") << start;
  }
  EXPECT_NE(scan_text(broken + "@").problem, "");
  // Each object is broken far behind its beginning.
  std::string far = broken + "1";
  for (std::size_t i = 0; i < broken.size() / 5; ++i) far += "}@";
  EXPECT_NE(scan_text(far).problem.find("the rest was left out"), std::string::npos);
}

// Each is looked at to the end of the file, and an event is found at once within it.
TEST_F(DocumentScanTest, GivesUpCutEventsWithinEachOther) {
  constexpr std::size_t count = 12'000;
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text += R"({"a":[{"ph":1},)";
  const Found found = scan_text(text);
  EXPECT_GT(found.events.size(), 0U);
  EXPECT_LT(found.events.size(), count);
  EXPECT_NE(found.problem.find("the rest was left out"), std::string::npos) << found.problem;
  EXPECT_EQ(scan_text(text.substr(0, text.size() / 12)).events.size(), count / 12);
}

TEST_F(DocumentScanTest, BoundsEventsAndMembers) {
  const std::string large(DocumentScan::most_event_bytes, 'x');
  const Found found = scan_text(R"({"big":")" + large + R"(","traceEvents":[{"ph":"X","n":")" +
                                large + R"("},{"ph":"E"}]})");
  EXPECT_EQ(found.members.at("big").size(), MemberValue::most_bytes);
  EXPECT_EQ(found.others, std::vector{Item::too_long});
  EXPECT_EQ(found.events, std::vector<std::string>{R"({"ph":"E"})"});
  for (const char* end : {"]", "]}"}) {
    const bool is_object = end[1] != 0;
    const Found last = scan_text((is_object ? R"({"traceEvents":[)" : "[") +
                                 std::string(R"({"ph":"E"},{"ph":"X","n":")") + large + large +
                                 large + "\"}" + end);
    EXPECT_EQ(last.others, std::vector{Item::too_long});
    EXPECT_NE(last.problem.find("more than 1 MiB, and none behind it"), std::string::npos)
        << last.problem << ": nothing is cut";
  }
}

TEST_F(DocumentScanTest, KeepsOfWhatTellsTheRankAllButWhatIsTooLongWithinIt) {
  const std::string large(MemberValue::most_bytes, '7');
  const std::string members[] = {R"("rank":3)", R"("a":{"b":["]"]})",
                                 R"("groups":[[")" + large + R"("],1])",
                                 R"("more":[{"x":[]},)" + large + "]", R"("z":[4])"};
  const auto info_of = [this](const std::string& info) {
    trace::write_whole(path_, R"({"distributedInfo":)" + info + R"(,"traceEvents":[{"ph":"E"}]})");
    const Found found = scan(path_);
    EXPECT_EQ(found.problem, "");
    EXPECT_EQ(found.events.size(), 1U);
    EXPECT_EQ(scan(path_, 1000), found);
    return found.members.at("distributedInfo");
  };
  std::string whole = "{";
  for (const std::string& member : members) whole += member + ",";
  whole.back() = '}';
  const auto left_out = [&large](std::size_t more) {
    return "\"left out: " + std::to_string(large.size() + more) + " bytes\"";
  };
  EXPECT_EQ(info_of(whole), R"({"rank":3,"a":{"b":["]"]},"groups":)" + left_out(8) + R"(,"more":)" +
                                left_out(11) + R"(,"z":[4]})");
  const std::string full = "{\"text\":\"" + large + "\",\"z\":[4]}";
  EXPECT_EQ(info_of(full), full.substr(0, large.size())) << "a text is cut";
}

TEST_F(DocumentScanTest, TellsCutGzipByItsPlace) {
  std::string text = "[";
  for (int i = 0; i < 5000; ++i) text += R"({"ph":"X","n":)" + std::to_string(i * 7919) + "},";
  const std::string gzip = folder_ / "trace.json.gz";
  gzFile file = gzopen(gzip.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_EQ(scan(gzip).events.size(), 5000U);
  std::filesystem::resize_file(gzip, std::filesystem::file_size(gzip) / 2);
  const Found cut = scan(gzip);
  EXPECT_GT(cut.events.size(), 1000U);
  EXPECT_LT(cut.events.size(), 4000U);
  EXPECT_NE(cut.problem.find("cut off within its gzip data: " + gzip + ": at byte " +
                             std::to_string(std::filesystem::file_size(gzip)) + ":"),
            std::string::npos)
      << cut.problem;
}

// Events across the ends of members, as of a file that was compressed in pieces.
TEST_F(DocumentScanTest, ReadsOnBehindADamagedMember) {
  std::string text = "[";
  for (int i = 0; i < 6000; ++i) text += R"({"ph":"X","n":)" + std::to_string(i) + "},";
  const std::size_t third = text.size() / 3;
  const std::string begin = trace::gzip_member(text.substr(0, third));
  const std::string middle = trace::gzip_member(text.substr(third, third));
  const std::string end = trace::gzip_member(text.substr(2 * third));
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{15}, middle.size() / 2, middle.size() - 6}) {
    std::string damaged = middle;
    damaged[at] ^= 0x10;
    trace::write_whole(path_, begin + damaged + end);
    for (const std::size_t read_bytes : {std::size_t{1000}, TextWindow::first_bytes}) {
      const Found found = scan(path_, read_bytes);
      EXPECT_GE(found.events.size(), 3990U) << at;
      EXPECT_EQ(found.events.back(), R"({"ph":"X","n":5999})") << at;
      EXPECT_EQ(std::count(found.others.begin(), found.others.end(), Item::damaged_gzip), 1) << at;
      EXPECT_TRUE(found.problem.starts_with(
          "damaged gzip data: " + path_ + ": at byte " + std::to_string(begin.size()) + " to " +
          std::to_string(begin.size() + middle.size()) + " of the compressed file: "))
          << found.problem;
    }
  }
}

// What damaged data lets through may look like the end of the trace.
TEST_F(DocumentScanTest, ReadsOnBehindADamagedMemberThatEndsTheTrace) {
  const std::string begin = R"({"traceEvents":[{"ph":"X","n":1},)";
  for (const std::string let_through :
       {R"({"ph":"X","n":2}]})", R"({"ph":"X","n":2}], nonsense)", R"({"ph":"X","n":2}],"a":{)"}) {
    std::string damaged = trace::gzip_member(let_through + std::string(500, ' '));
    damaged[damaged.size() - 6] ^= 0x10;
    trace::write_whole(path_, trace::gzip_member(begin) + damaged +
                                  trace::gzip_member(R"({"ph":"X","n":3}],"b":4})"));
    const Found found = scan(path_);
    EXPECT_EQ(found.events.size(), 3U) << let_through;
    EXPECT_EQ(found.others, std::vector{Item::damaged_gzip}) << let_through;
    EXPECT_EQ(found.members.at("b"), "4") << let_through;
    EXPECT_TRUE(found.problem.starts_with("damaged gzip data: ")) << found.problem;
  }
}

TEST_F(DocumentScanTest, CountsNoEventForBytesBehindAWholeTrace) {
  trace::write_whole(path_, trace::gzip_member(R"([{"ph":"X"}])") + std::string(100, 'x'));
  const Found found = scan(path_);
  EXPECT_EQ(found.events.size(), 1U);
  EXPECT_TRUE(found.others.empty());
  EXPECT_TRUE(found.problem.starts_with("damaged gzip data: ")) << found.problem;
}

// As a file system leaves it that crashed: never is an event made of the halves of two.
TEST_F(DocumentScanTest, MakesNoEventOfTwoAcrossAHoleOfZeros) {
  for (const std::string form : {"[", R"({"traceEvents":[)"}) {
    std::vector<std::string> events;
    std::string text = form;
    for (int i = 0; i < 300; ++i) {
      events.push_back(R"({"ph":"X","name":"kernel )" + std::to_string(i) + R"(","args":{"n":)" +
                       std::to_string(i) + "}}");
      text += (i == 0 ? "" : ",\n") + events.back();
    }
    text += form == "[" ? "]" : R"(],"otherData":{"a":"b"}})";
    for (std::size_t begin = form.size(); begin < 400; ++begin) {
      const std::size_t end = begin + 4096;
      trace::write_whole(path_, text.substr(0, begin) + std::string(4096, '\0') + text.substr(end));
      const Found found = scan(path_, begin % 2 == 0 ? 1000 : TextWindow::first_bytes);
      const std::set<std::string> whole(events.begin(), events.end());
      for (const std::string& event : found.events) ASSERT_TRUE(whole.contains(event)) << event;
      ASSERT_GE(found.events.size(), 200U) << begin;
      ASSERT_EQ(found.others, std::vector{Item::hole}) << begin;
      ASSERT_EQ(found.problem, "zeros in the place of text: " + path_ + ": at byte " +
                                   std::to_string(begin) + " to " + std::to_string(end) +
                                   ": what is whole is used")
          << begin;
    }
  }
}

TEST_F(DocumentScanTest, FindsTheEventsBehindAHoleInAMember) {
  const Found found = scan_text(R"({"a":{"b":")" + std::string(5000, '\0') +
                                R"("},"traceEvents":[{"ph":"X"},{"ph":"E"}]})");
  EXPECT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.others, std::vector{Item::hole});
  EXPECT_TRUE(found.is_trace);
}

// The first bytes are looked at before they are read, and some files are not read to their end.
TEST_F(DocumentScanTest, MarksTheContentThatItRead) {
  const auto mark_of = [](const std::string& path) {
    DocumentScan scan(1000);
    EXPECT_TRUE(scan.open(path, [](auto, auto) {}));
    while (scan.next() != Item::end) {
    }
    return scan.content_mark();
  };
  std::string text = "[";
  for (int i = 0; i < 500; ++i) text += R"({"ph":"X","n":)" + std::to_string(i * 7919) + "},";
  trace::write_whole(path_, text);
  EXPECT_EQ(mark_of(path_), content_mark(path_));
  EXPECT_TRUE(mark_of(path_).ends_with("-" + std::to_string(text.size())));
  trace::write_whole(path_, R"([{"ph":"E"}] text behind it)" + std::string(5000, ' '));
  EXPECT_EQ(mark_of(path_), "");
}

// Of a file that has grown since the same is found as of one that ends there: what an earlier read
// has left behind the end of the text is nobody's.
TEST_F(DocumentScanTest, EndsWhereTheFileIsToEnd) {
  std::string text = "[";
  for (int i = 0; i < 8; ++i) text += R"({"ph":"X","x":["{},{},{},{},{}",{"ph":"Z"},{},{}]},)";
  const auto items = [&](std::size_t read_bytes, std::uint64_t most_bytes) {
    DocumentScan scan(read_bytes, false);
    EXPECT_TRUE(scan.open(
        path_, [](auto, auto) {}, most_bytes));
    std::string found;
    for (Item item = scan.next(); item != Item::end; item = scan.next()) {
      found += item == Item::event ? std::string(scan.event().text) : "not an event";
      found += "\n";
    }
    return found;
  };
  for (std::size_t limit = 1; limit <= text.size(); limit += 3) {
    for (const std::size_t read_bytes : {16U, 47U, 128U, 200U}) {
      trace::write_whole(path_, text.substr(0, limit));
      const std::string wanted = items(read_bytes, UINT64_MAX);
      trace::write_whole(path_, text);
      ASSERT_EQ(items(read_bytes, limit), wanted) << read_bytes << " " << limit;
    }
  }
}

}  // namespace
}  // namespace traceagent::tools
