#include "agent/door/resource_names.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/door/recording.hpp"

namespace traceagent::door {
namespace {

using ring::Named;
using ring::ResourceName;

const void* handle_of(std::uint64_t number) { return reinterpret_cast<const void*>(number); }

// Names are for the process's life: each test leaves none.
class ResourceNamesTest : public testing::Test {
 protected:
  // The places of those that are gone are free again.
  ResourceNamesTest() { rewrite_resource_names(); }
  ~ResourceNamesTest() override {
    for (const ResourceName& name : names()) name_resource(name.kind, name.handle, "");
  }

  std::vector<ResourceName> names(bool also_past = false) const {
    std::vector<ResourceName> found;
    for (const ring::NamedPlace& place : recording.ring().header().named_resources) {
      const auto name = place.load();
      if (name && (also_past || name->until_ticks == 0)) found.push_back(*name);
    }
    return found;
  }
  std::string text(const ResourceName& name) const {
    return std::string(recording.ring().name(name.name));
  }

  Recording recording;
};

TEST_F(ResourceNamesTest, a_name_is_in_the_ring_with_its_handle) {
  name_resource(Named::stream, 0x1000, "copies");
  name_resource(Named::device, 0, "left");
  ASSERT_EQ(names().size(), 2u);
  EXPECT_EQ(names()[0].handle, 0x1000u);
  EXPECT_EQ(text(names()[0]), "copies");
  EXPECT_GT(names()[0].since_ticks, 0u);
  EXPECT_EQ(names()[1].kind, Named::device);
  EXPECT_EQ(text(names()[1]), "left");
}

TEST_F(ResourceNamesTest, the_last_name_holds_for_the_whole_life) {
  name_resource(Named::stream, 0x1000, "old");
  const std::uint64_t since = names()[0].since_ticks;
  name_resource(Named::stream, 0x1000, "new");
  ASSERT_EQ(names().size(), 1u);
  EXPECT_EQ(text(names()[0]), "new");
  EXPECT_EQ(names()[0].since_ticks, since);
  name_resource(Named::stream, 0x1000, "");
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(named_streams, 0u);
}

TEST_F(ResourceNamesTest, a_destroyed_streams_name_ends_and_the_next_has_its_own) {
  name_resource(Named::stream, 0x1000, "first");
  EXPECT_EQ(named_streams, 1u);
  forget_stream(handle_of(0x2000));
  EXPECT_EQ(named_streams, 1u);
  forget_stream(handle_of(0x1000));
  EXPECT_EQ(named_streams, 0u);
  name_resource(Named::stream, 0x1000, "second");
  const auto all = names(true);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(text(all[0]), "first");
  EXPECT_GE(all[0].until_ticks, all[0].since_ticks);
  EXPECT_EQ(text(all[1]), "second");
  EXPECT_GE(all[1].since_ticks, all[0].until_ticks);
}

TEST_F(ResourceNamesTest, what_was_named_before_the_ring_is_in_it_from_the_start) {
  name_resource(Named::stream, 0x1000, "kept");
  name_resource(Named::stream, 0x2000, "gone");
  forget_stream(handle_of(0x2000));
  {
    Recording other;
    rewrite_resource_names();
    const auto first = other.ring().header().named_resources[0].load();
    ASSERT_TRUE(first);
    EXPECT_EQ(other.ring().name(first->name), "kept");
    EXPECT_EQ(first->since_ticks, 0u);
    EXPECT_FALSE(other.ring().header().named_resources[1].load());
    // Without a ring it is kept for the next.
    ring::target.ring = ring::Ring();
    name_resource(Named::thread, 7, "early");
  }
  Recording third;
  rewrite_resource_names();
  const auto second = third.ring().header().named_resources[1].load();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->kind, Named::thread);
  EXPECT_EQ(third.ring().name(second->name), "early");
  name_resource(Named::thread, 7, "");
}

TEST_F(ResourceNamesTest, a_full_table_gives_up_the_streams_that_are_gone) {
  for (std::uint64_t i = 1; i <= ring::named_places; ++i) name_resource(Named::stream, i, "s");
  EXPECT_EQ(names().size(), ring::named_places);
  name_resource(Named::stream, 9999, "too many");
  EXPECT_EQ(recording.dropped(ring::DropCause::names_full), 1u);
  EXPECT_EQ(names().size(), ring::named_places);
  forget_stream(handle_of(17));
  forget_stream(handle_of(11));
  name_resource(Named::stream, 9999, "in the place of 17");
  EXPECT_EQ(text(recording.ring().header().named_resources[16].load().value()),
            "in the place of 17");
}

TEST_F(ResourceNamesTest, a_full_table_gives_up_the_threads_that_have_ended) {
  name_resource(Named::thread, static_cast<std::uint64_t>(gettid()), "lives");
  // More than there are places, each with a name for its short life.
  for (std::size_t i = 0; i < ring::named_places + 100; ++i) {
    std::thread([i] {
      const std::string name = "t" + std::to_string(i);
      name_resource(Named::thread, static_cast<std::uint64_t>(gettid()), name);
    }).join();
  }
  name_resource(Named::stream, 0x1000, "late");
  EXPECT_EQ(recording.dropped(ring::DropCause::names_full), 0u);
  std::string found;
  for (const ResourceName& name : names()) {
    const bool is_thread = name.kind == Named::thread;
    if (!is_thread || text(name) == "lives" || text(name) == "t611") found += text(name);
    EXPECT_NE(text(name), "t0");
  }
  EXPECT_TRUE(found.find("lives") != std::string::npos) << found;
  EXPECT_TRUE(found.find("late") != std::string::npos) << found;
  EXPECT_TRUE(found.find("t611") != std::string::npos) << found;
  EXPECT_EQ(named_streams, 1u);
}

TEST_F(ResourceNamesTest, names_made_up_for_ever_leave_room_for_others) {
  for (int i = 0; i < 100'000; ++i) {
    name_resource(Named::stream, 0x1000, "stream of step " + std::to_string(i));
  }
  EXPECT_GT(recording.dropped(ring::DropCause::names_full), 90'000u);
  EXPECT_LT(recording.ring().header().names_used.load(), 32'000u);
  EXPECT_NE(intern("a kernel"), 0u);
}

TEST_F(ResourceNamesTest, names_that_come_again_take_no_more_room) {
  for (int i = 0; i < 100'000; ++i) {
    name_resource(Named::stream, 0x1000, i % 2 == 0 ? "computes" : "copies");
  }
  EXPECT_EQ(recording.dropped(ring::DropCause::names_full), 0u);
  EXPECT_EQ(text(names()[0]), "copies");
}

TEST_F(ResourceNamesTest, a_long_name_is_cut) {
  name_resource(Named::stream, 0x1000, std::string(100'000, 'n'));
  EXPECT_EQ(text(names()[0]), std::string(107, 'n'));
}

TEST_F(ResourceNamesTest, threads_that_name_and_a_reader_see_whole_names) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> writers;
  for (std::uint64_t thread = 1; thread <= 3; ++thread) {
    writers.emplace_back([thread, &is_over] {
      const std::string name = "stream " + std::to_string(thread);
      while (!is_over) {
        name_resource(Named::stream, thread, name);
        forget_stream(handle_of(thread));
      }
    });
  }
  std::size_t seen = 0;
  // On a busy machine the writers may not have begun yet.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int i = 0; i < 2000 || (seen == 0 && std::chrono::steady_clock::now() < deadline); ++i) {
    for (const ResourceName& name : names(true)) {
      ++seen;
      const std::string expected = "stream " + std::to_string(name.handle);
      // 0: more names than one ring takes.
      ASSERT_TRUE(name.name == 0 || text(name) == expected) << text(name);
    }
  }
  is_over = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(named_streams, 0u);
}

}  // namespace
}  // namespace traceagent::door
