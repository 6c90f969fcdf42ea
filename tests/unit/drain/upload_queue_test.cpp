#include "agent/drain/upload_queue.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "agent/trace/json_scan.hpp"
#include "tests/unit/drain/crafted_ring.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::drain {
namespace {

TEST(UploadQueue, SaysWhatLiesOutsideTheFolder) {
  CraftedRing crafted("/none/out");
  EXPECT_EQ(queue_node_file(crafted.ring(), "/elsewhere/node1.json"), "");
  ring::IdentityBlock& identity = crafted.ring().header().identity;
  identity.options_json = crafted.ring().add_name(R"({"output.merged_remote":"/there/"})");
  EXPECT_EQ(queue_node_file(crafted.ring(), "/elsewhere/node1.json"),
            "output.merged_remote: /elsewhere/node1.json: it is not in output.folder: it is not "
            "queued: upload it by hand");
}

TEST(UploadQueue, NodesDoNotOverwriteEachOther) {
  const auto said = [](const char* options, std::int64_t ranks, std::int64_t of_node) {
    CraftedRing crafted("/none/out");
    ring::IdentityBlock& identity = crafted.ring().header().identity;
    identity.world_size = ranks;
    identity.local_world_size = of_node;
    identity.options_json = crafted.ring().add_name(options);
    return queue_node_file(crafted.ring(), "/none/out/all.json");
  };
  const char* one_key = R"({"output.merged":"all.json","output.merged_remote":"s3://b/all.json"})";
  const char* one_name = R"({"output.merged":"all.json","output.merged_remote":"s3://b/x/"})";
  const char* one_zipped =
      R"({"output.merged":"{node_rank}.json.gz","output.merged_remote":"s3://b/all.json.gz"})";
  const char* command = R"({"output.merged":"all.json","output.merged_remote":"exec:cp {} /x"})";
  const char* own =
      R"({"output.merged":"node{node_rank}.json","output.merged_remote":"s3://b/x/"})";
  const char* own_key = R"({"output.merged":"all.json","output.merged_remote":"/x/{node_rank}/"})";
  for (const char* options : {one_key, one_name, one_zipped}) {
    EXPECT_NE(said(options, 16, 8).find("all nodes would write the same: name {node_rank}"),
              std::string::npos);
    EXPECT_EQ(said(options, 8, 8).find("all nodes"), std::string::npos);
  }
  for (const char* options : {own, own_key, command}) {
    EXPECT_EQ(said(options, 16, 8).find("all nodes"), std::string::npos) << options;
  }
}

// Folders of their own do not tell ranks apart at the target: else the last rank would have the
// object of all, and `output.keep` would remove the others' files as uploaded.
TEST(UploadQueue, RanksDoNotOverwriteEachOther) {
  CraftedRing crafted("/none/out");
  const ring::Window& window = crafted.window(1500, 3000, 0, 1);
  ring::IdentityBlock& identity = crafted.ring().header().identity;
  const auto problem_of = [&](const std::string& name, const std::string& remote,
                              std::int64_t ranks, std::int64_t of_node) {
    identity.world_size = ranks;
    identity.local_world_size = of_node;
    identity.options_json = crafted.ring().add_name(R"({"output.filename":")" + name +
                                                    R"(","output.remote":")" + remote + "\"}");
    return rank_file_upload(crafted.ring(), window, "/none/out/ep0-ba2-rank3.json").problem;
  };
  constexpr const char* same_ranks = "all ranks would write the same: name {rank}";
  constexpr const char* same_nodes = "all nodes would write the same: name {node_rank}";
  EXPECT_NE(problem_of("b{batch}.json", "/x/", 2, 2).find(same_ranks), std::string::npos);
  EXPECT_NE(problem_of("b{batch}.json", "/x/{node_rank}/", 4, 2).find(same_ranks),
            std::string::npos);
  EXPECT_NE(problem_of("b{batch}-{local_rank}.json", "/x/", 4, 2).find(same_nodes),
            std::string::npos);
  for (const char* remote : {"/x/{rank}/", "/x/{node_rank}-{local_rank}/", "exec:cp {} /x"}) {
    EXPECT_EQ(problem_of("b{batch}.json", remote, 4, 2), "") << remote;
  }
  EXPECT_EQ(problem_of("b{batch}-{rank}.json", "/x/", 4, 2), "");
  EXPECT_EQ(problem_of("b{batch}.json", "/x/{local_rank}/", 2, 2), "");
  EXPECT_EQ(problem_of("b{batch}.json", "/x/{node_rank}/", 2, 1), "");
  EXPECT_EQ(problem_of("b{batch}.json", "/x/", 1, 1), "");
}

// Two runs in one folder: else both files would go to one object.
TEST(UploadQueue, AFileThatEvadedAnothersHasAKeyOfItsOwn) {
  CraftedRing crafted("/none/out");
  const ring::Window& window = crafted.window(1500, 3000, 0, 1);
  const auto target_of = [&](const char* options, const std::string& path) {
    crafted.ring().header().identity.options_json = crafted.ring().add_name(options);
    const std::string record = rank_file_upload(crafted.ring(), window, path).record.text();
    return std::string(trace::string_member(record, "target").value_or(""));
  };
  const char* one_key = R"({"output.remote":"s3://b/r{rank}.json"})";
  EXPECT_EQ(target_of(one_key, "/none/out/ep0-ba2-rank3.json"), "s3://b/r3.json");
  EXPECT_EQ(target_of(one_key, "/none/out/ep0-ba2-rank3-pid4242.json"), "s3://b/r3-pid4242.json");
  EXPECT_EQ(target_of(R"({"output.remote":"s3://b/"})", "/none/out/ep0-ba2-rank3-pid4242.json"),
            "s3://b/ep0-ba2-rank3-pid4242.json");
}

// Who uploads it can tell a later cycle's of its name from it.
TEST(UploadQueue, ARankFilesRecordHasItsTime) {
  const trace::ScratchFolder scratch;
  CraftedRing crafted(scratch / "out");
  const ring::Window& window = crafted.window(1500, 3000, 0, 1);
  crafted.ring().header().identity.options_json =
      crafted.ring().add_name(R"({"output.remote":"s3://b/"})");
  std::filesystem::create_directory(scratch / "out");
  const std::string path = scratch / "out/ep0-ba2-rank3.json";
  const auto time_of = [&] {
    const std::string record = rank_file_upload(crafted.ring(), window, path).record.text();
    return trace::integer_member(record, "modified").value_or(-1);
  };
  EXPECT_EQ(time_of(), 0) << "it is not there";
  trace::write_whole(path, "{}");
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(time_of(), facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec);
}

}  // namespace
}  // namespace traceagent::drain
