#include "tools/import/foreign_event.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "agent/trace/event_shapes.hpp"

namespace traceagent::tools {
namespace {

constexpr ForeignEvent::Field fields[] = {
    &ForeignEvent::ts,   &ForeignEvent::dur,    &ForeignEvent::ph,  &ForeignEvent::cat,
    &ForeignEvent::name, &ForeignEvent::pid,    &ForeignEvent::tid, &ForeignEvent::id,
    &ForeignEvent::id2,  &ForeignEvent::bind_id};

// Judges events as a scan does, and tells what each of its members is, anew and by its form.
class Scanned {
 public:
  void expect_same(const std::string& text) {
    object_.text = text;
    ASSERT_EQ(shapes_.whole_object_at(text, object_.members), text.size()) << text;
    const ForeignEvent anew(object_);
    const ForeignEvent known(object_, known_);
    for (const ForeignEvent::Field field : fields) EXPECT_EQ(known.*field, anew.*field) << text;
    std::size_t index = 0;
    for (const JsonMember& member : object_.members) {
      EXPECT_EQ(known.is_other(index, member), anew.is_other(index, member)) << text;
      ++index;
    }
    const bool is_one_line = text.find('\n') == std::string::npos;
    EXPECT_TRUE(is_one_line || !known.is_one_line) << text;
    known_forms_ += object_.members.form() != 0;
    known_lines_ += known.is_one_line;
  }

  [[nodiscard]] int known_forms() const { return known_forms_; }
  [[nodiscard]] int known_lines() const { return known_lines_; }

 private:
  trace::EventShapes shapes_;
  ScannedObject object_;
  KnownForms known_;
  int known_forms_ = 0;
  int known_lines_ = 0;
};

TEST(ForeignEvent, is_the_same_by_its_form) {
  // More than are remembered: with other keys, in another order, twice, over lines, and too many.
  std::vector<std::string> forms = {
      R"("ts":@,"ph":"X","name":"@@","pid":@,"tid":@,"dur":@)",
      R"("ph":"X","ts":@,"name":"@@","pid":@,"tid":@,"dur":@)",
      R"("name":"@@","cat":"c@","ph":"b","id":"@@","ts":@,"pid":"p@","tid":"t@")",
      R"("ts":@,"ph":"s","id2":{"global":"0x@"},"bind_id":"@@","args":{"ts":@,"pid":@})",
      R"("ts":@,"ts":@,"ph":"X","name":"a@","name":"b@","tid":@)",
      "\n\"ts\":@,\n \"ph\":\"X\",\n \"pid\":@\n",
      "\"ts\":@,\"ph\":\"X\",\"args\":{\n\"n\":[@]}",
      R"("TS":@,"names":"@@","pi":@,"ids":@,"bind_ip":@)",
      "",
  };
  std::string many = R"("ts":@)";
  for (int i = 0; i < 70; ++i) many += ",\"k" + std::to_string(i) + "\":@";
  forms.push_back(many + R"(,"tid":@)");

  std::mt19937 random(20261124);
  const auto event = [&random](const std::string& form) {
    std::string text = "{";
    for (const char c : form) {
      if (c == '@') {
        text += std::to_string(1 + random() % 99999);
      } else {
        text += c;
      }
    }
    return text + "}";
  };
  Scanned scanned;
  for (int i = 0; i < 5000; ++i) {
    // Now some of them, now others, so that what is remembered is used, and replaced.
    const std::size_t first = static_cast<std::size_t>(i / 100) % forms.size();
    scanned.expect_same(event(forms[(first + random() % 3) % forms.size()]));
  }
  EXPECT_GT(scanned.known_forms(), 2500);
  EXPECT_GT(scanned.known_lines(), 1000);
}

}  // namespace
}  // namespace traceagent::tools
