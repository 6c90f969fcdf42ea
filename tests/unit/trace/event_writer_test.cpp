#include "agent/trace/event_writer.hpp"

#include <gtest/gtest.h>

#include "agent/trace/document.hpp"
#include "agent/trace/json_object.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

template <typename Write>
std::string written(Write write) {
  ScratchFolder folder;
  OutputFile file;
  EXPECT_TRUE(file.open(folder / "a.json"));
  write(file);
  EXPECT_TRUE(file.finish());
  return read_whole(folder / "a.json");
}

TEST(EventWriter, metadata_lines) {
  EXPECT_EQ(written([](OutputFile& file) {
              EventWriter events(file, 3);
              events.process_name("rank 3: python \"train\"");
              events.process_labels("host a");
              events.process_sort_index(3);
              events.thread_name(1234, "main");
              events.thread_sort_index(10001234, -1);
              events.metadata("global_rank");
              events.arg("value", 3);
              events.end();
              EXPECT_EQ(events.events(), 0U);
            }),
            R"(
{"ph":"M","name":"process_name","pid":3,"tid":0,"args":{"name":"rank 3: python \"train\""}},
{"ph":"M","name":"process_labels","pid":3,"tid":0,"args":{"labels":"host a"}},
{"ph":"M","name":"process_sort_index","pid":3,"tid":0,"args":{"sort_index":3}},
{"ph":"M","name":"thread_name","pid":3,"tid":1234,"args":{"name":"main"}},
{"ph":"M","name":"thread_sort_index","pid":3,"tid":10001234,"args":{"sort_index":-1}},
{"ph":"M","name":"global_rank","pid":3,"tid":0,"args":{"value":3}})");
}

TEST(EventWriter, events_of_every_kind) {
  EXPECT_EQ(written([](OutputFile& file) {
              EventWriter events(file, 1000007);
              events.complete("cudaMalloc", "cuda_runtime", 42, 12345, 1234);
              events.arg("bytes", std::uint64_t{18446744073709551615U});
              events.arg("result", -2);
              events.arg("stream", Hex{0x7f00});
              events.arg("dtype", "Float");
              events.arg("async", true);
              events.arg("gbps", 1.5);
              events.arg("ranks", RawJson{"[0,1]"});
              events.end();
              events.complete("cudaFree", "cuda_runtime", 42, 13000, 0);
              events.end();
              events.instant("mark\n", "nvtx", 42, 14001);
              events.arg("payload", 7U);
              events.end();
              events.counter("lost", "counters", 15000);
              events.arg("events", 1);
              events.end();
              events.flow_start("ac2g", "ac2g", 42, 16000, 9);
              events.flow_end("ac2g", "ac2g", 43, 17000, 9);
              EXPECT_EQ(events.events(), 6U);
            }),
            R"(
{"ts":12.345,"dur":1.234,"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":1000007,"tid":42,)"
            R"("args":{"bytes":18446744073709551615,"result":-2,"stream":"0x7f00","dtype":"Float",)"
            R"("async":true,"gbps":1.5,"ranks":[0,1]}},
{"ts":13.000,"dur":0.000,"ph":"X","cat":"cuda_runtime","name":"cudaFree","pid":1000007,"tid":42,)"
            R"("args":{}},
{"ts":14.001,"ph":"i","s":"t","cat":"nvtx","name":"mark\n","pid":1000007,"tid":42,"args":)"
            R"({"payload":7}},
{"ts":15.000,"ph":"C","cat":"counters","name":"lost","pid":1000007,"tid":0,"args":{"events":1}},
{"ts":16.000,"ph":"s","id":9,"cat":"ac2g","name":"ac2g","pid":1000007,"tid":42},
{"ts":17.000,"ph":"f","id":9,"cat":"ac2g","name":"ac2g","pid":1000007,"tid":43,"bp":"e"})");
}

TEST(EventWriter, long_names_are_cut_at_a_character) {
  const std::string longest(EventWriter::max_text_bytes, 'k');
  std::string too_long;
  while (too_long.size() <= EventWriter::max_text_bytes) {
    too_long += "核";
  }
  const std::string text = written([&](OutputFile& file) {
    EventWriter events(file, 0);
    events.complete(longest, "kernel", 1, 0, 1);
    events.arg("note", too_long);
    events.end();
  });
  EXPECT_EQ(count_of(text, "k"), EventWriter::max_text_bytes + 1);
  EXPECT_EQ(count_of(text, "核"), (EventWriter::max_text_bytes - 3) / 3);
  EXPECT_EQ(count_of(text, "\xEF\xBF\xBD"), 0U);
  EXPECT_NE(text.find("核...\"}}"), std::string::npos);
}

TEST(EventWriter, many_arguments_and_events_outgrow_the_buffer_in_order) {
  constexpr int count = 3000;
  const std::string value(1000, '"');
  const std::string text = written([&](OutputFile& file) {
    EventWriter events(file, 0);
    for (int i = 0; i < count; ++i) {
      events.complete("e", "c", 1, i, 1);
      events.arg("one", value);
      events.arg("two", value);
      events.arg("i", i);
      events.end();
    }
  });
  std::string escaped;
  for (int i = 0; i < 1000; ++i) {
    escaped += "\\\"";
  }
  std::string expected;
  for (int i = 0; i < count; ++i) {
    const std::string fraction = std::to_string(1000 + i % 1000).substr(1);
    expected += (i == 0 ? "\n{\"ts\":" : ",\n{\"ts\":") + std::to_string(i / 1000) + "." +
                fraction +
                R"(,"dur":0.001,"ph":"X","cat":"c","name":"e","pid":0,"tid":1,"args":{"one":")" +
                escaped + R"(","two":")" + escaped + R"(","i":)" + std::to_string(i) + "}}";
  }
  EXPECT_TRUE(text == expected);
}

TEST(Document, exact_layout) {
  DocumentHeader header;
  header.rank = 1;
  header.world_size = 2;
  header.backend = "nccl";
  header.nccl_version = "2.21.5";
  header.base_ns = 1700000000000000000;
  header.trace_name = "run/ep0-ba4-rank1.json";
  header.pg_config = {{"0", "default_pg", "cuda:nccl", 2, {0, 1}}};
  EXPECT_EQ(
      written([&](OutputFile& file) {
        write_header(file, header);
        EventWriter events(file, 1);
        events.process_name("p");
        events.complete("a", "b", 2, 0, 1);
        events.end();
        write_footer(file, JsonObject().add("rank", 1).text());
      }),
      R"({
"schemaVersion": 1,
"distributedInfo": {"rank": 1, "world_size": 2, "backend": "nccl", "pg_count": 1, )"
      R"("pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", )"
      R"("pg_size": 2, "ranks": [0, 1]}], "nccl_version": "2.21.5"},
"displayTimeUnit": "ns",
"baseTimeNanoseconds": 1700000000000000000,
"traceName": "run/ep0-ba4-rank1.json",
"deviceProperties": [],
"traceEvents": [
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"p"}},
{"ts":0.000,"dur":0.001,"ph":"X","cat":"b","name":"a","pid":1,"tid":2,"args":{}}
],
"traceagent": {"rank": 1},
"complete": true
}
)");
}

TEST(Document, empty_and_incomplete) {
  DocumentHeader header;
  header.ranks = {0, 1};
  const std::string text = written([&](OutputFile& file) {
    write_header(file, header);
    write_footer(file, "{}", false);
  });
  EXPECT_NE(text.find(R"("distributedInfo": {"rank": 0, "world_size": 1, "ranks": [0, 1]},)"),
            std::string::npos);
  EXPECT_TRUE(text.ends_with("\"traceEvents\": [\n],\n\"traceagent\": {}\n}\n"));
}

TEST(JsonObject, nests) {
  JsonArray array;
  array.add(1).add("two").add(nullptr).add(JsonObject());
  EXPECT_EQ(JsonObject()
                .add("a\"", -1)
                .add("b", 2.5)
                .add("c", true)
                .add("d", std::string("x\n"))
                .add("e", array)
                .add("f", std::vector<int>{1, 2})
                .add("g", JsonValue::raw("[3]"))
                .add("h", std::uint8_t{200})
                .text(),
            R"({"a\"": -1, "b": 2.5, "c": true, "d": "x\n", "e": [1, "two", null, {}], )"
            R"("f": [1, 2], "g": [3], "h": 200})");
}

}  // namespace
}  // namespace traceagent::trace
