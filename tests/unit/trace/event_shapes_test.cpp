#include "agent/trace/event_shapes.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace traceagent::trace {
namespace {

constexpr std::string_view usual =
    R"({"ts":1.250,"dur":12,"ph":"X","name":"f<int>(a, b) x","pid":-3,"args":{"n":[1,2],"s":""}})";

JsonMembers members_of(std::string_view text) {
  JsonMembers members;
  EXPECT_EQ(whole_object_at(text, members), text.size()) << text;
  return members;
}

std::string in_words(const JsonMembers& members, const char* text) {
  std::string words;
  for (const JsonMember& member : members) {
    words += std::to_string(member.key.data() - text) + " " + std::string(member.key) + " " +
             std::to_string(member.value.data() - text) + " " + std::string(member.value) + "\n";
  }
  return words;
}

TEST(EventShape, takes_other_numbers_and_texts) {
  EventShape shape;
  EXPECT_EQ(shape.size_in(usual), 0U);
  ASSERT_TRUE(shape.learn(usual, members_of(usual)));
  for (
      const std::string_view other :
      {usual,
       std::string_view(
           R"({"ts":-7,"dur":123456789012345678.5,"ph":"X","name":"","pid":0,"args":{"n":[0,-0],"s":""}})"),
       std::string_view(
           R"({"ts":0.0,"dur":1,"ph":"X","name":"a name of more than thirty-two bytes, and more","pid":1,"args":{"n":[1,1],"s":""}})")}) {
    const std::string text = std::string(other) + ",{";
    EXPECT_EQ(shape.size_in(text), other.size()) << text;
    JsonMembers members;
    shape.set_members(text.data(), members);
    EXPECT_EQ(in_words(members, text.data()), in_words(members_of(other), other.data()));
  }
}

TEST(EventShape, takes_nothing_that_it_cannot_judge) {
  EventShape shape;
  ASSERT_TRUE(shape.learn(usual, members_of(usual)));
  // JSON or not: these are for json_syntax.hpp.
  for (const std::string_view number :
       {"01", "-", "", "1.", ".5", "1e5", "1E5", "1.5e5", "+1", "1.2.3", "--1", "-01", "1 ", "null",
        "\"1\"", "1234567890123456789", "0x1", "1,2"}) {
    const std::string text = R"({"ts":)" + std::string(number) + std::string(usual.substr(11));
    EXPECT_EQ(shape.size_in(text), 0U) << text;
  }
  for (const std::string_view name : {"\\n", "\xC3\xA9", "\n", "a\"b", "\\", "\x80", "\x1f"}) {
    std::string text(usual);
    text.replace(text.find("f<int>(a, b) x"), 14, name);
    EXPECT_EQ(shape.size_in(text), 0U) << text;
  }
  for (std::size_t size = 0; size < usual.size(); ++size) {
    EXPECT_EQ(shape.size_in(usual.substr(0, size)), 0U);
  }
  std::string other(usual);
  other.replace(other.find("\"X\""), 3, "\"i\"");
  EXPECT_EQ(shape.size_in(other), 0U);
}

// What is guessed of one text from those before must not be seen in what is said of it.
TEST(EventShape, takes_texts_that_differ_in_other_places_each_time) {
  EventShape shape;
  ASSERT_TRUE(shape.learn(usual, members_of(usual)));
  for (unsigned i = 0; i < 1000; ++i) {
    const unsigned bits = i * 37 % 64;  // which of the six are not as they were learned
    const auto either = [bits](unsigned bit, const char* same, const char* other) {
      return std::string((bits >> bit & 1U) == 0 ? same : other);
    };
    const std::string event =
        "{\"ts\":" + either(0, "1.250", "31.5") + ",\"dur\":" + either(1, "12", "7") +
        R"(,"ph":"X","name":")" + either(2, "f<int>(a, b) x", "g") +
        "\",\"pid\":" + either(3, "-3", "1700000000000000") + R"(,"args":{"n":[)" +
        either(4, "1", "100") + "," + either(5, "2", "0") + R"(],"s":""}})";
    const std::string text = event + ",\n{\"ts\":1.250,\"dur\":12}";
    ASSERT_EQ(shape.size_in(text), event.size()) << i << " " << text;
    JsonMembers members;
    shape.set_members(text.data(), members);
    ASSERT_EQ(in_words(members, text.data()), in_words(members_of(event), event.data())) << i;
    EXPECT_EQ(shape.size_in(event.substr(0, event.size() - 1 - i % 20)), 0U);
  }
}

TEST(EventShape, learns_what_it_has_room_for) {
  EventShape shape;
  std::string numbers = R"({"n":[1)";
  for (std::size_t i = 1; i < EventShape::most_gaps; ++i) numbers += ",1";
  EXPECT_TRUE(shape.learn(numbers + "]}", members_of(numbers + "]}")));
  EXPECT_FALSE(shape.learn(numbers + ",1]}", members_of(numbers + ",1]}")));
  EXPECT_EQ(shape.size_in(numbers + ",1]}"), 0U);
  const std::string long_text = R"({"s":")" + std::string(EventShape::most_bytes, 'a') + "\"}";
  EXPECT_FALSE(shape.learn(long_text, members_of(long_text)));
}

// Numbers, texts, keys and white space of all kinds, some of them nothing JSON has.
class Events {
 public:
  std::string next() {
    std::string text;
    add_object(text, 0);
    for (std::size_t i = pick(8) == 0 ? 1 + pick(2) : 0; i > 0; --i) damage(text);
    return text + (pick(4) == 0 ? "" : ",\n{\"ts\":1}");
  }
  std::size_t pick(std::size_t below) { return random_() % below; }

 private:
  // Few kinds at a time, as in a trace.
  template <std::size_t count>
  std::string_view any(const std::string_view (&texts)[count]) {
    return texts[pick(count)];
  }
  void add_value(std::string& text, int depth) {
    static constexpr std::string_view values[] = {
        "1",           "-1.5",
        "0",           "18446744073709551615",
        "1e3",         "1e999",
        "01",          "123456789012345678",
        "true",        "null",
        "\"\"",        "\"a text\"",
        "\"\\u00e9\"", "\"\xC3\xA9\"",
        "\"X\"",       "\"a text of more than sixteen bytes\"",
        "{}",          "[]"};
    if (depth < 3 && pick(8) == 0) {
      pick(2) == 0 ? add_object(text, depth + 1) : add_array(text, depth + 1);
    } else {
      text += pick(16) == 0 ? any(values) : values[pick(3)];
    }
  }
  void add_object(std::string& text, int depth) {
    static constexpr std::string_view keys[] = {
        "\"ts\":", "\"name\": ", "\"a\\\"b\":", "\"args\" : "};
    text += '{';
    for (std::size_t i = 0; i < 2 + pick(2); ++i) {
      text += i > 0 ? (pick(16) == 0 ? ",\n  " : ",") : "";
      text += keys[i % 4];
      add_value(text, depth);
    }
    text += '}';
  }
  void add_array(std::string& text, int depth) {
    text += '[';
    for (std::size_t i = 0; i < pick(3); ++i) {
      text += i > 0 ? ", " : "";
      add_value(text, depth);
    }
    text += ']';
  }
  void damage(std::string& text) {
    static constexpr std::string_view bytes = "\"\\{}[]:,-.0e \n\x01\xC3";
    const std::size_t at = pick(text.size());
    switch (pick(3)) {
      case 0:
        text[at] = bytes[pick(bytes.size())];
        break;
      case 1:
        text.insert(at, 1, bytes[pick(bytes.size())]);
        break;
      default:
        text.erase(at, 1);
    }
  }

  std::mt19937 random_{7};
};

TEST(EventShapes, say_of_any_event_what_the_syntax_says) {
  Events events;
  EventShapes shapes;
  EventShapes others;
  JsonMembers members;
  JsonMembers wanted_members;
  std::size_t whole = 0;
  std::size_t broken = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string text = events.next();
    const std::size_t wanted = whole_object_at(text, wanted_members);
    ASSERT_EQ(shapes.whole_object_at(text, members), wanted) << text;
    if (wanted > 0) {
      ASSERT_EQ(in_words(members, text.data()), in_words(wanted_members, text.data())) << text;
    }
    const std::string_view part = std::string_view(text).substr(0, text.size() - events.pick(3));
    ASSERT_EQ(others.is_whole_object(part), is_whole_object(part)) << part;
    ++(wanted > 0 ? whole : broken);
  }
  EXPECT_GT(whole, 100'000U);
  EXPECT_GT(broken, 10'000U);
}

TEST(EventShapes, give_what_has_the_same_keys_a_form) {
  EventShapes shapes;
  JsonMembers members;
  const auto form_of = [&](const std::string& text) {
    EXPECT_EQ(shapes.whole_object_at(text, members), text.size()) << text;
    return members.form();
  };
  // The first is judged by the syntax: nothing is known of it yet.
  EXPECT_EQ(form_of(R"({"ts":1,"ph":"X"})"), 0U);
  const std::uint64_t first = form_of(R"({"ts":23,"ph":"X"})");
  EXPECT_NE(first, 0U);
  EXPECT_EQ(form_of(R"({"ph":"X","ts":1})"), 0U);
  const std::uint64_t second = form_of(R"({"ph":"X","ts":4})");
  EXPECT_NE(second, 0U);
  EXPECT_NE(second, first);
  EXPECT_EQ(form_of(R"({"ts":5,"ph":"X"})"), first);
  // In the place of a shape that was forgotten stands one of another number.
  for (std::size_t i = 0; i < EventShapes::most_shapes; ++i) {
    form_of("{\"k" + std::to_string(i) + "\":1}");
  }
  EXPECT_EQ(form_of(R"({"ts":6,"ph":"X"})"), 0U);
  const std::uint64_t again = form_of(R"({"ts":7,"ph":"X"})");
  EXPECT_NE(again, 0U);
  EXPECT_NE(again, first);
  EXPECT_NE(again, second);
}

TEST(EventShapes, take_memory_only_for_what_they_learn) {
  EventShapes shapes;
  EXPECT_FALSE(shapes.is_whole_object("[]"));
  EXPECT_FALSE(shapes.is_whole_object("{"));
  EXPECT_EQ(shapes.memory_bytes(), 0U);
  EXPECT_TRUE(shapes.is_whole_object("{}"));
  EXPECT_FALSE(shapes.is_whole_object("{} "));
  EXPECT_LT(shapes.memory_bytes(), 32U << 10);
}

}  // namespace
}  // namespace traceagent::trace
