#include "tools/reading_threads.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "agent/trace/ahead_file.hpp"
#include "agent/trace/line_reader.hpp"
#include "agent/trace/merge.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/side_thread.hpp"

namespace traceagent::tools {
namespace {

using trace::LineReader;

// Nobody takes anything up: who needs it reads it.
class NoThreads : public trace::SideReads {
 public:
  void begin(Read& /*read*/) override {}
  void finish(Read& read) override { read.run(); }
};

// All that a file gives, to its end or to what is wrong with it.
std::string all_of(const std::string& path, trace::SideReads* reads) {
  LineReader reader;
  if (!reader.open(path)) return "not opened";
  if (reads != nullptr) reader.read_beside(*reads, false);
  std::string all;
  std::string_view line;
  LineReader::Status status{};
  while ((status = reader.next(line)) == LineReader::Status::line ||
         status == LineReader::Status::gap) {
    const bool is_gap = status == LineReader::Status::gap;
    all += std::to_string(reader.offset()) + " ";
    all += is_gap ? "gap " + std::to_string(reader.damage().end) : std::string(line);
    all += "\n";
  }
  const bool is_whole = reader.file_bytes_read() == reader.file_bytes();
  return all + "status " + std::to_string(static_cast<int>(status)) + " at " +
         std::to_string(reader.offset()) +
         (status != LineReader::Status::end || is_whole ? "" : " and bytes are left");
}

// All that a trace gives, and what is wrong with it.
std::string trace_of(const std::string& path, trace::SideReads* reads) {
  trace::TraceReader reader;
  if (!reader.open(path)) return reader.problem();
  if (reads != nullptr) reader.read_beside(*reads);
  std::string all;
  trace::TraceLine line;
  while ((line = reader.next()).kind != trace::TraceLine::Kind::end) {
    all += line.kind == trace::TraceLine::Kind::event
               ? std::to_string(line.ts_ns) + " " + std::string(line.after_ts) + " of "
               : "metadata ";
    all += line.text;
    all += "\n";
  }
  for (const auto& [cause, count] : reader.lost()) {
    all += cause + " " + std::to_string(count) + "\n";
  }
  return all + (reader.footer().complete ? "complete " : "") + reader.problem();
}

std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

// Lines of up to `longest` bytes, more than `bytes` together.
std::string lines(std::size_t bytes, std::size_t longest) {
  std::mt19937 random(static_cast<unsigned>(longest));
  std::string text;
  while (text.size() < bytes) {
    text += std::to_string(random());
    text.append(random() % longest, static_cast<char>('a' + random() % 26));
    text += '\n';
  }
  return text;
}

class Work : public trace::SideReads::Read {
 public:
  explicit Work(std::function<void()> work) : work_(std::move(work)) {}
  void run() noexcept override { work_(); }

 private:
  const std::function<void()> work_;
};

TEST(ReadingThreads, AreHelpedByWhoWaitsForOneOfThem) {
  ReadingThreads one(1);
  if (!one.are_any()) GTEST_SKIP() << "one CPU";
  std::promise<void> is_taken_up;
  std::promise<void> is_helped;
  bool was_helped = false;
  Work waits([&] {
    is_taken_up.set_value();
    was_helped =
        is_helped.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  });
  Work other([&] { is_helped.set_value(); });
  one.begin(waits);
  is_taken_up.get_future().wait();
  one.begin(other);
  one.finish(waits);
  one.finish(other);
  EXPECT_TRUE(was_helped);
}

TEST(ReadingThreads, GiveTheLinesThatAreReadWithoutThem) {
  const trace::ScratchFolder folder;
  const std::string path = folder / "lines";
  const std::size_t block = trace::AheadFile::block_bytes;
  const std::size_t most = LineReader::max_line_bytes;
  const std::string many = lines(3'000'000, 300);
  const std::string packed = gzipped(many);
  std::string damaged = packed;
  damaged[damaged.size() / 2] ^= 0x55;
  const std::vector<std::string> files = {
      "",
      "one\n",
      "no end",
      many,
      many.substr(0, many.size() - 7),
      packed + damaged + packed + damaged + packed,
      lines(3'000'000, 3 * block),
      lines(2'000'000, 2 * trace::AheadFile::lead_bytes),
      lines(500'000, 10) + std::string(most - 1, 'x') + "\n" + lines(500'000, 10),
      lines(500'000, 10) + std::string(most, 'x') + "\n" + lines(500'000, 10),
      std::string(most, 'x'),
      std::string(most - 1, 'x'),
      std::string(block, '\n'),
      packed,
      packed + packed,
      packed.substr(0, packed.size() - 100),
      damaged};
  for (std::size_t i = 0; i < files.size(); ++i) {
    trace::write_whole(path, files[i]);
    const std::string wanted = all_of(path, nullptr);
    NoThreads none;
    EXPECT_TRUE(all_of(path, &none) == wanted) << i;
    ReadingThreads threads(2);
    EXPECT_TRUE(all_of(path, &threads) == wanted) << i;
  }
}

// What is read beforehand is judged there, too, as far as the first that is no event.
TEST(ReadingThreads, GiveTheTraceThatIsReadWithoutThem) {
  const trace::ScratchFolder folder;
  trace::SampleTrace sample;
  for (std::int64_t i = 0; i < 20'000; ++i) sample.times_ns.push_back(i * 7);
  const std::string whole = trace::read_whole(trace::write_sample(folder / "whole", sample));
  const std::string path = folder / "trace";
  std::mt19937 random(7);
  for (int i = 0; i < 36; ++i) {
    std::string text = whole;
    // Some break a line, some a newline, some nothing that is looked at; some a block's first line.
    for (int damages = i % 6 * 3; damages > 0; --damages) {
      const std::size_t at =
          i % 2 == 0 ? random() % text.size()
                     : (1 + random() % 8) * trace::AheadFile::block_bytes + random() % 300;
      text[at % text.size()] = "\n{}\"x7,\\"[random() % 8];
    }
    if (i % 7 == 6) text.resize(random() % text.size());
    if (i % 5 == 4) text = gzipped(text);
    trace::write_whole(path, text);
    const std::string wanted = trace_of(path, nullptr);
    NoThreads none;
    EXPECT_TRUE(trace_of(path, &none) == wanted) << i;
    ReadingThreads threads(2);
    EXPECT_TRUE(trace_of(path, &threads) == wanted) << i;
  }
}

TEST(ReadingThreads, MergeTheSameBytes) {
  const trace::ScratchFolder folder;
  std::vector<std::string> files;
  for (std::int64_t rank = 0; rank < 9; ++rank) {
    trace::SampleTrace sample{.rank = rank};
    sample.gzip = rank % 3 == 0;
    for (std::int64_t i = 0; i < 20'000; ++i) sample.times_ns.push_back(i * (rank + 7));
    files.push_back(trace::write_sample(folder / ("r" + std::to_string(rank)), sample));
  }
  const std::string cut = trace::read_whole(files[1]);
  trace::write_whole(files[1], cut.substr(0, cut.size() / 2));
  trace::MergeOptions options;
  options.trace_name = "all";
  const trace::MergeReport wanted = trace::merge(files, folder / "wanted.json", options);
  for (const std::size_t threads : {0U, 1U, 9U}) {
    ReadingThreads readers(threads);
    SideThread writer;
    options.side_reads = &readers;
    options.side_work = &writer;
    const trace::MergeReport report = trace::merge(files, folder / "all.json", options);
    EXPECT_EQ(report.events, wanted.events);
    EXPECT_EQ(report.inputs[1].problem, wanted.inputs[1].problem);
    EXPECT_NE(report.inputs[1].problem, "");
    EXPECT_TRUE(trace::read_whole(folder / "all.json") ==
                trace::read_whole(folder / "wanted.json"));
  }
}

TEST(ReadingThreads, AreLeftInTheMiddle) {
  const trace::ScratchFolder folder;
  trace::write_whole(folder / "lines", lines(1'000'000, 100));
  ReadingThreads threads(2);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::unique_ptr<LineReader>> readers;
    for (int each = 0; each < 4; ++each) {
      readers.push_back(std::make_unique<LineReader>());
      ASSERT_TRUE(readers.back()->open(folder / "lines"));
      readers.back()->read_beside(threads, false);
      std::string_view line;
      for (int k = 0; k < i * each; ++k) {
        ASSERT_EQ(readers.back()->next(line), LineReader::Status::line);
      }
    }
  }
}

}  // namespace
}  // namespace traceagent::tools
