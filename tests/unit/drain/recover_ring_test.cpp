#include "agent/drain/recover_ring.hpp"

#include <gtest/gtest.h>

#include "agent/drain/file_names.hpp"
#include "agent/drain/rank_file.hpp"
#include "agent/drain/upload_queue.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/drain/crafted_ring.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::drain {
namespace {

// The ring of a process that was killed.
std::string save(const CraftedRing& crafted, const std::string& path) {
  ring::Header& header = crafted.ring().header();
  header.ready = 1;
  header.identity.checksum = ring::identity_checksum(crafted.ring());
  trace::write_whole(path, {reinterpret_cast<const char*>(&header), header.file_bytes});
  return path;
}

std::size_t queued_in(const std::string& journal) {
  const std::string text = trace::read_whole(journal);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("{\"queue\":", at)) != std::string::npos; ++at) ++count;
  return count;
}

// Of the one window that is recovered; "" where it is not.
std::string text_of_its_file(const CraftedRing& crafted, const trace::ScratchFolder& scratch) {
  const Recovered recovered = recover_ring(save(crafted, scratch / "rank3.ring"));
  return recovered.files.size() == 1 ? trace::read_whole(recovered.files[0].path) : "";
}

// Killed when the file had its name, before it was queued or noted: it was never uploaded.
TEST(RecoverRing, QueuesAFileThatItsOwnerDidNotNote) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.ring().header().identity.options_json =
      crafted.ring().add_name(R"({"output.remote":"/there/","merge.mode":"off"})");
  crafted.add(crafted.chunk_of(100, "main"), api::Function::cudaLaunchKernel, event::Layout::launch,
              2000, 2050);
  const ring::Window& window = crafted.window(1500, 3000, 0, 1);
  ASSERT_EQ(write_rank_file(crafted.ring(), window, {}).problem, "");
  const std::string path = save(crafted, scratch / "rank3.ring");

  const Recovered first = recover_ring(path);
  EXPECT_TRUE(first.files.empty() && first.problems.empty() && first.notes.empty());
  EXPECT_EQ(queued_in(upload_journal(crafted.ring())), 1u);
  recover_ring(path);
  EXPECT_EQ(queued_in(upload_journal(crafted.ring())), 1u) << "what is noted is queued";
}

// Killed while the queue had no room for them: they were in its memory and, noted, beside its ring.
TEST(RecoverRing, QueuesWhatWaitedForRoomInTheQueue) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.ring().header().identity.options_json =
      crafted.ring().add_name(R"({"output.remote":"/there/","merge.mode":"off"})");
  const ring::Window& window = crafted.window(1500, 3000, 0, 1);
  const std::string path = save(crafted, scratch / "rank3.ring");
  crafted.ring().header().windows[0].state = ring::WindowState::written;
  save(crafted, path);
  for (const char* name : {"a.json", "b \"1\".json"}) {
    const std::string file = scratch / "out/" + name;
    ring::note_waiting_upload(path, rank_file_upload(crafted.ring(), window, file).record.text());
    ring::note_written_file(path, file);
  }
  const std::string in_the_way = trace::upload_folder(scratch / "out");
  std::filesystem::create_directories(scratch / "out");
  trace::write_whole(in_the_way, "");

  const Recovered refused = recover_ring(path);
  ASSERT_EQ(refused.notes.size(), 1u);
  EXPECT_NE(refused.notes[0].find("/out/a.json and 1 more files: it is not queued"),
            std::string::npos)
      << refused.notes[0];
  const std::string index = trace::read_whole(scratch / "out/index/index-node1.json");
  EXPECT_NE(index.find(R"("not_queued": "a.json")"), std::string::npos) << index;
  EXPECT_NE(index.find(R"("not_queued": "b \"1\".json")"), std::string::npos) << index;

  std::filesystem::remove(in_the_way);
  EXPECT_TRUE(recover_ring(path).notes.empty());
  EXPECT_EQ(queued_in(upload_journal(crafted.ring())), 2u);
  recover_ring(path);
  EXPECT_EQ(queued_in(upload_journal(crafted.ring())), 2u) << "they wait no more";
}

// Its process ended in good order, but for a file that could not be written.
TEST(RecoverRing, WritesWhatItsOwnerCouldNotWrite) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.add(crafted.chunk_of(100, "main"), api::Function::cudaLaunchKernel, event::Layout::launch,
              2000, 2050);
  ring::Window& window = crafted.window(1500, 3000, 0, 1);
  window.state = ring::WindowState::failed;
  crafted.ring().count_drop(ring::DropCause::not_written, 5);
  crafted.ring().header().finished = 1;

  const std::string text = text_of_its_file(crafted, scratch);
  EXPECT_NE(text.find("cudaLaunchKernel"), std::string::npos);
  EXPECT_NE(text.find("\"dropped\": {\"not_written\": 5}"), std::string::npos) << text;
}

// As its file does by cause: whose ever the records were that the ring had no room for.
TEST(RecoverRing, CountsAllThatFoundNoRoom) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  ring::Window& window = crafted.window(1500, 3000, 0, 1);
  const auto lost = [&window](ring::DropCause cause, std::uint64_t records) {
    window.dropped_at_end[static_cast<std::size_t>(cause)] = records;
  };
  lost(ring::DropCause::ring_full, 1);
  window.overwritten = 20;
  lost(ring::DropCause::device_ring_full, 300);
  lost(ring::DropCause::plan_ring_full, 4000);
  lost(ring::DropCause::device_dropped, 50000);
  const Recovered recovered = recover_ring(save(crafted, scratch / "rank3.ring"));
  EXPECT_EQ(recovered.lost, 4301u);
  EXPECT_EQ(recovered.overwritten, 20u) << "as the job wanted";
}

ring::Window& failed_window(CraftedRing& crafted, std::uint64_t begin, std::uint64_t end,
                            std::uint64_t step) {
  ring::Window& window = crafted.window(begin, end, step, step);
  window.state = ring::WindowState::failed;
  return window;
}

// Of the window's file. To be called before the ring is saved: no other name is tried.
std::string put_in_the_way(CraftedRing& crafted, std::size_t window) {
  crafted.ring().header().identity.overwrite_files = 1;
  const std::string path =
      rank_file_name(crafted.ring(), crafted.ring().header().windows[window]).path;
  std::filesystem::create_directories(path + "/x");
  return path;
}

// Out of the way: what is left is one file, which says this.
void expect_next_file_says(const std::string& path, const std::string& in_the_way,
                           const std::string& words) {
  std::filesystem::remove_all(in_the_way);
  const Recovered recovered = recover_ring(path);
  ASSERT_EQ(recovered.files.size(), 1u);
  EXPECT_TRUE(recovered.notes.empty());
  const std::string text = trace::read_whole(recovered.files[0].path);
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

// Its process was killed before another window could tell of it: the oldest that is left does,
// once.
TEST(RecoverRing, TellsOfWhatWasGivenUpInTheOldestFile) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  failed_window(crafted, 5000, 6000, 2);
  failed_window(crafted, 1500, 3000, 1);
  crafted.ring().count_drop(ring::DropCause::not_written, 7);
  const Recovered recovered = recover_ring(save(crafted, scratch / "rank3.ring"));
  ASSERT_EQ(recovered.files.size(), 2u);
  EXPECT_TRUE(recovered.notes.empty());
  const std::string older = trace::read_whole(recovered.files[0].path);
  EXPECT_NE(older.find("\"dropped\": {\"not_written\": 7}"), std::string::npos) << older;
  EXPECT_NE(older.find("\"begin_ticks\": 1500"), std::string::npos) << older;
  EXPECT_NE(trace::read_whole(recovered.files[1].path).find("\"dropped\": {}"), std::string::npos);
}

// A ring that is kept: each loss stands in one file, whatever recovery wrote that.
TEST(RecoverRing, TellsOfEachLossOnceHoweverOftenItIsRecovered) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.add(crafted.chunk_of(100, "main"), api::Function::cudaLaunchKernel, event::Layout::launch,
              2000, 2050);
  failed_window(crafted, 1500, 3000, 1);
  failed_window(crafted, 5000, 6000, 2);
  crafted.ring().count_drop(ring::DropCause::not_written, 7);
  crafted.ring().count_drop(ring::DropCause::device_dropped, 5);
  const std::string in_the_way = put_in_the_way(crafted, 1);
  const std::string path = save(crafted, scratch / "rank3.ring");

  const Recovered first = recover_ring(path);
  ASSERT_EQ(first.files.size(), 1u);
  EXPECT_EQ(first.problems.size(), 1u);
  const std::string older = trace::read_whole(first.files[0].path);
  EXPECT_NE(older.find("\"dropped\": {\"device_dropped\": 5, \"not_written\": 7}"),
            std::string::npos)
      << older;
  const Recovered again = recover_ring(path);
  EXPECT_TRUE(again.files.empty() && again.notes.empty()) << again.notes.front();

  expect_next_file_says(path, in_the_way, "\"dropped\": {}");
  EXPECT_TRUE(recover_ring(path).notes.empty());
}

// Under the name of a file that a recovery has written, and told of all, another run's lies by now.
TEST(RecoverRing, TakesNoOtherRunsFileForItsOwners) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.ring().header().identity.run_key = crafted.ring().add_name("of a week ago");
  crafted.ring().count_drop(ring::DropCause::not_written, 7);
  failed_window(crafted, 5000, 6000, 2);
  failed_window(crafted, 1500, 3000, 1);
  const std::string in_the_way = put_in_the_way(crafted, 0);
  const std::string path = save(crafted, scratch / "rank3.ring");
  ASSERT_EQ(recover_ring(path).files.size(), 1u);

  CraftedRing other(scratch / "out");
  other.ring().header().identity.overwrite_files = 1;
  other.ring().header().identity.run_key = other.ring().add_name("of today");
  const RankFileReport report =
      write_rank_file(other.ring(), failed_window(other, 1500, 3000, 1), {});
  ASSERT_EQ(report.problem, "");
  ASSERT_EQ(report.path, rank_file_name(crafted.ring(), crafted.ring().header().windows[1]).path);

  expect_next_file_says(path, in_the_way, "\"dropped\": {}");
}

// Windows of steps 1 to 3, a call in each; the first was written under a name that all of them
// have, and noted.
std::string save_with_one_name(CraftedRing& crafted, const trace::ScratchFolder& scratch) {
  crafted.ring().header().identity.file_template = crafted.ring().add_name("rank{rank}.json");
  ring::Chunk& chunk = crafted.chunk_of(100, "main");
  for (std::uint64_t step = 1; step <= 3; ++step) {
    const std::uint64_t begin = 2000 * step;
    crafted.add(chunk, api::Function::cudaLaunchKernel, event::Layout::launch, begin + 100,
                begin + 200);
    failed_window(crafted, begin, begin + 1000, step);
  }
  ring::Window& first = crafted.ring().header().windows[0];
  const RankFileReport report = write_rank_file(crafted.ring(), first, {});
  EXPECT_EQ(report.problem, "");
  first.state = ring::WindowState::written;
  first.file_name = crafted.ring().add_name(report.path);
  std::string path = save(crafted, scratch / "rank3.ring");
  ring::note_written_file(path, report.path);
  return path;
}

void expect_cycle(const std::string& file, int cycle) {
  const std::string text = trace::read_whole(file);
  EXPECT_NE(text.find("\"cycle\": " + std::to_string(cycle) + ","), std::string::npos) << text;
  EXPECT_NE(text.find("cudaLaunchKernel"), std::string::npos) << text;
}

// A name without {batch}: that it is in the list says that one of the windows was written.
TEST(RecoverRing, WritesAllWindowsOfOneName) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  const std::string path = save_with_one_name(crafted, scratch);

  const Recovered recovered = recover_ring(path);
  EXPECT_TRUE(recovered.problems.empty());
  ASSERT_EQ(recovered.files.size(), 2u) << recovered.nothing;
  expect_cycle(scratch / "out/rank3.json", 0);
  expect_cycle(recovered.files[0].path, 1);
  expect_cycle(recovered.files[1].path, 2);
  EXPECT_TRUE(recover_ring(path).files.empty()) << "they are there";
}

// The user has moved the file that was in the way.
TEST(RecoverRing, WritesWindowsWhoseNameIsFreeAgain) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  const std::string path = save_with_one_name(crafted, scratch);
  std::filesystem::rename(scratch / "out/rank3.json", scratch / "out/moved.json");

  const Recovered recovered = recover_ring(path);
  ASSERT_EQ(recovered.files.size(), 2u) << recovered.nothing;
  expect_cycle(recovered.files[0].path, 1);
  expect_cycle(recovered.files[1].path, 2);
}

// Where files may be replaced, too: who recovers twice would have the older one at last.
TEST(RecoverRing, ReplacesNoOtherCycleOfItsRun) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.ring().header().identity.overwrite_files = 1;
  const std::string path = save_with_one_name(crafted, scratch);

  const Recovered recovered = recover_ring(path);
  ASSERT_EQ(recovered.files.size(), 2u) << recovered.nothing;
  expect_cycle(scratch / "out/rank3.json", 0);
  expect_cycle(recovered.files[0].path, 1);
  expect_cycle(recovered.files[1].path, 2);
  EXPECT_TRUE(recover_ring(path).files.empty()) << "they are there";
}

// Killed while a file was written that counts what came late: its next one counts that anew.
TEST(RecoverRing, CountsWhatCameLateOnce) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  failed_window(crafted, 1500, 3000, 1);
  crafted.ring().count_drop(ring::DropCause::device_late, 5);
  const std::string text = text_of_its_file(crafted, scratch);
  EXPECT_NE(text.find("\"dropped\": {}"), std::string::npos) << text;
}

// A line that says so beside a file that tells of them later would be two losses.
TEST(RecoverRing, SaysNothingOfWhatAFileWillTell) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  failed_window(crafted, 5000, 6000, 2);
  crafted.ring().count_drop(ring::DropCause::not_written, 7);
  const std::string in_the_way = put_in_the_way(crafted, 0);
  const std::string path = save(crafted, scratch / "rank3.ring");
  for (int times = 0; times < 2; ++times) {
    const Recovered refused = recover_ring(path);
    EXPECT_EQ(refused.problems.size(), 1u);
    EXPECT_TRUE(refused.notes.empty()) << refused.notes.front();
  }
  expect_next_file_says(path, in_the_way, "\"not_written\": 7");
}

// What its owner's last file tells stands in the ring; what was lost after that, it does not tell.
TEST(RecoverRing, TellsOfWhatWasLostAfterItsOwnersFile) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.ring().count_drop(ring::DropCause::not_written, 7);
  const ring::Window& window = crafted.window(1500, 3000, 0, 1);
  ASSERT_EQ(write_rank_file(crafted.ring(), window, {}).problem, "");
  crafted.ring().count_drop(ring::DropCause::not_written, 4);
  const Recovered recovered = recover_ring(save(crafted, scratch / "rank3.ring"));
  EXPECT_TRUE(recovered.files.empty());
  ASSERT_EQ(recovered.notes.size(), 1u);
  EXPECT_TRUE(recovered.notes[0].starts_with("rank 3: 4 events are lost: ")) << recovered.notes[0];
}

TEST(RecoverRing, TellsOfWhatWasGivenUpInTheOpenWindowsFile) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.window(1500, 0, 1, 1);
  crafted.ring().count_drop(ring::DropCause::not_written, 7);
  crafted.ring().count_drop(ring::DropCause::ring_full, 2);
  const std::string text = text_of_its_file(crafted, scratch);
  EXPECT_NE(text.find("\"dropped\": {\"ring_full\": 2, \"not_written\": 7}"), std::string::npos)
      << text;
}

TEST(RecoverRing, TellsOfWhatWasGivenUpWhereNoWindowIsLeft) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.ring().count_drop(ring::DropCause::not_written, 7);
  const Recovered recovered = recover_ring(save(crafted, scratch / "rank3.ring"));
  ASSERT_EQ(recovered.notes.size(), 1u);
  EXPECT_TRUE(recovered.notes[0].starts_with("rank 3: 7 events are lost: ")) << recovered.notes[0];
}

// Of two windows that are recovered the first tells of what the device lost.
TEST(RecoverRing, TellsOfTheDevicesLossesOnce) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.window(1500, 3000, 1, 1);
  crafted.window(3000, 4000, 2, 2);
  crafted.ring().count_drop(ring::DropCause::device_dropped, 5);
  const Recovered recovered = recover_ring(save(crafted, scratch / "rank3.ring"));
  ASSERT_EQ(recovered.files.size(), 2u);
  EXPECT_NE(trace::read_whole(recovered.files[0].path).find("{\"device_dropped\": 5}"),
            std::string::npos);
  EXPECT_NE(trace::read_whole(recovered.files[1].path).find("\"dropped\": {}"), std::string::npos);
}

// It had finished, and was killed before it tried them for the last time.
TEST(RecoverRing, QueuesWhatWaitedOfAProcessThatHadFinished) {
  trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  crafted.ring().header().finished = 1;
  crafted.ring().header().identity.options_json =
      crafted.ring().add_name(R"({"output.remote":"/there/","merge.mode":"off"})");
  const ring::Window& window = crafted.window(1500, 3000, 0, 1);
  crafted.ring().header().windows[0].state = ring::WindowState::written;
  const std::string path = save(crafted, scratch / "rank3.ring");
  const std::string record =
      rank_file_upload(crafted.ring(), window, scratch / "out/a.json").record.text();
  ring::note_waiting_upload(path, record);
  std::filesystem::create_directories(scratch / "out");
  const Recovered recovered = recover_ring(path);
  EXPECT_EQ(recovered.queued, 1u);
  EXPECT_EQ(recovered.nothing, "");
  EXPECT_EQ(queued_in(upload_journal(crafted.ring())), 1u);

  ring::note_waiting_upload(path, record);
  queue_waiting_uploads(path);
  EXPECT_EQ(queued_in(upload_journal(crafted.ring())), 2u) << "by who merges while it lives";
  EXPECT_TRUE(ring::waiting_uploads(path).empty());
}

}  // namespace
}  // namespace traceagent::drain
