#include "tools/import/imported_events.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "agent/trace/merge.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/import/import.hpp"
#include "tools/import/order_check.hpp"
#include "tools/reading_threads.hpp"
#include "tools/side_thread.hpp"

namespace traceagent::tools {
namespace {

constexpr std::int64_t start_us = 1'700'000'000'000'000;

void write_gzip(const std::string& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb1");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

// Events of two processes and some threads, each up to `most_late` places behind its own.
std::string trace_of(int events, int most_late, unsigned seed) {
  std::mt19937 random(seed);
  std::string text = "[\n";
  for (int i = 0; i < events; ++i) {
    const int late = most_late == 0 ? 0 : static_cast<int>(random()) % (most_late + 1);
    text += R"({"name": "op)" + std::to_string(random() % 300) + R"(", "ph": ")" +
            (i % 7 == 0 ? "s" : "X") + R"(", "ts": )" + std::to_string(start_us + i - late / 2) +
            "." + std::to_string(random() % 10) + R"(, "dur": )" + std::to_string(random() % 2000) +
            R"(, "pid": )" + std::to_string(i % 2) + R"(, "tid": )" +
            (i % 5 == 0 ? "\"loader\"" : std::to_string(i % 3)) + R"(, "id": )" +
            std::to_string(i % 100) + R"(, "args": {"text": ")" +
            std::string(random() % 40 == 0 ? random() % 5000 : random() % 50, 'x') + "\"}},\n";
  }
  return text + "{}]";
}

// From the first metadata event to the last event.
std::string events_in(const std::string& path) {
  const std::string text = trace::read_whole(path);
  const std::size_t begin = text.find("\"traceEvents\": [");
  return begin == text.npos ? "" : text.substr(begin, text.find("\n],\n", begin) - begin);
}

class ImportedEventsTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    trace::write_whole(folder_ / name, text);
    return folder_ / name;
  }

  // `meanwhile` happens between the import and the merge.
  trace::MergeReport merge(
      const std::vector<std::string>& files, std::size_t threads = 0,
      const std::function<void()>& meanwhile = [] {}) {
    const ImportedTraces imported(files, {.folder = folder_.path().string(), .threads = 1});
    for (const std::string& path : imported.paths()) {
      imported_bytes_ += std::filesystem::file_size(path);
    }
    meanwhile();
    ReadingThreads readers(threads);
    SideThread writer;
    trace::MergeOptions options;
    options.trace_name = "all";
    options.side_work = &writer;
    options.side_reads = threads > 0 ? &readers : nullptr;
    return trace::merge(imported.paths(), output(), options);
  }
  [[nodiscard]] std::string output() const { return folder_ / "merged"; }

  trace::ScratchFolder folder_;
  std::uint64_t imported_bytes_ = 0;  // of the files that were made of them
};

TEST_F(ImportedEventsTest, AreThoseThatAreWrittenOutOfCompressedFiles) {
  for (const int most_late : {0, 10, 300}) {
    std::vector<std::string> plain;
    std::vector<std::string> packed;
    std::filesystem::create_directory(folder_.path() / "gz");
    std::size_t bytes = 0;
    for (unsigned rank = 0; rank < 3; ++rank) {
      const std::string text = trace_of(4000, most_late, rank);
      bytes += text.size();
      plain.push_back(file("rank" + std::to_string(rank) + ".json", text));
      packed.push_back(folder_ / ("gz/rank" + std::to_string(rank) + ".json"));
      write_gzip(packed.back(), text);
    }
    EXPECT_EQ(merge(packed).problem, "");
    EXPECT_GT(imported_bytes_, bytes / 2);
    const std::string wanted = events_in(output());
    EXPECT_GT(wanted.size(), bytes / 2);
    imported_bytes_ = 0;
    for (const std::size_t threads : {0U, 1U, 9U}) {
      const trace::MergeReport report = merge(plain, threads);
      EXPECT_EQ(report.problem, "");
      EXPECT_EQ(report.events, 12'000U);
      EXPECT_TRUE(events_in(output()) == wanted) << most_late << " " << threads;
      EXPECT_LT(report.peak_reader_bytes, std::size_t{3} << 20);
    }
    EXPECT_LT(imported_bytes_, 100'000U);
  }
}

TEST_F(ImportedEventsTest, OfWhatIsTooLateAreWritten) {
  std::string late = trace_of(3000, 0, 1);
  const std::string first = R"({"ph":"X","name":"late","ts":)" + std::to_string(start_us - 9) + "}";
  late.replace(late.rfind("{}"), 2, first);
  ASSERT_GT(late.size(), OrderCheck::most_late_bytes);
  const trace::MergeReport report = merge({file("rank0.json", late)});
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.events, 3001U);
  EXPECT_GT(imported_bytes_, late.size() / 2);
}

TEST_F(ImportedEventsTest, MayBeLeftInTheMiddle) {
  const std::string path = file("rank0.json", trace_of(20'000, 10, 1));
  const ImportedTraces imported({path}, {.folder = folder_.path().string()});
  ReadingThreads readers(9);
  for (int i = 0; i < 100; ++i) {
    trace::TraceReader reader;
    ASSERT_TRUE(reader.open(imported.paths().back()));
    if (i % 3 != 0) reader.read_beside(readers);
    for (int k = 0; k < i * i; ++k) {
      ASSERT_EQ(reader.next().kind, trace::TraceLine::Kind::event) << i << " " << k;
    }
  }
}

TEST_F(ImportedEventsTest, OfAFileThatGrowsAreThoseThatWereThere) {
  std::string text = trace_of(2000, 10, 1);
  text.resize(text.size() - 3);  // not yet closed
  const std::string path = file("rank0.json", text);
  ASSERT_EQ(merge({path}).problem, "");
  const std::string wanted = trace::read_whole(output());
  const trace::MergeReport report =
      merge({path}, 1, [&] { trace::write_whole(path, text + trace_of(500, 0, 2).substr(1)); });
  EXPECT_EQ(report.problem, "");
  EXPECT_TRUE(trace::read_whole(output()) == wanted);
}

TEST_F(ImportedEventsTest, OfAFileThatIsTouchedAreTheSame) {
  const std::string path = file("rank0.json", trace_of(2000, 10, 1));
  const trace::MergeReport report = merge({path}, 0, [&] {
    std::filesystem::last_write_time(
        path, std::filesystem::last_write_time(path) + std::chrono::seconds(5));
  });
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.events, 2000U);
}

TEST_F(ImportedEventsTest, OfAFileThatChangedAreRefused) {
  const std::string text = trace_of(2000, 10, 1);
  std::string other = text;
  other[other.rfind("op") + 2] = 'x';  // a name, of the same length
  const std::string path = folder_ / "rank0.json";
  const std::vector<std::function<void()>> changes = {
      [&] { trace::write_whole(path, other); },
      [&] { trace::write_whole(path, text.substr(0, text.size() / 2)); },
      [&] { trace::write_whole(path, ""); },
      [&] { trace::write_whole(path, trace_of(2000, 400, 7)); },
      [&] { trace::write_whole(path, R"([{"ph":"X","ts":1,"pid":77,"tid":1}])"); },
      [&] { trace::write_whole(path, std::string(text.size(), 'x')); },
      [&] { write_gzip(path, text); },
      [&] { std::filesystem::remove(path); },
      [&] {
        std::filesystem::remove(path);
        std::filesystem::create_directory(path);
      }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const std::size_t threads : {0U, 1U}) {
      std::filesystem::remove_all(path);
      trace::write_whole(path, text);
      const std::string same = file("rank1.json", trace_of(3000, 0, 3));
      const trace::MergeReport report = merge({path, same}, threads, changes[i]);
      EXPECT_EQ(report.problem, "a trace that changed while it was read: " + path +
                                    ": merge again when nobody writes to it")
          << i;
      EXPECT_EQ(report.inputs.front().problem, "");
      EXPECT_FALSE(std::filesystem::exists(output())) << i;
    }
  }
}

}  // namespace
}  // namespace traceagent::tools
