#include "agent/ring/named_resources.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace traceagent::ring {
namespace {

ResourceName all_of(std::uint32_t n) { return {Named::stream, n, n, n, n}; }

TEST(NamedPlace, ZeroedMemoryIsEmpty) {
  NamedPlace place{};
  EXPECT_FALSE(place.load());
}

TEST(NamedPlace, HoldsWhatWasStoredLast) {
  NamedPlace place{};
  place.store(all_of(1));
  place.store({Named::context, 2, 3, 4, 5});
  const auto held = place.load();
  ASSERT_TRUE(held);
  EXPECT_EQ(held->kind, Named::context);
  EXPECT_EQ(held->name, 2u);
  EXPECT_EQ(held->handle, 3u);
  EXPECT_EQ(held->since_ticks, 4u);
  EXPECT_EQ(held->until_ticks, 5u);
}

// The drain, or another process, reads while the job gives names.
TEST(NamedPlace, NoReaderSeesHalfAName) {
  NamedPlace place{};
  constexpr std::uint32_t names = 2'000'000;
  std::thread writer([&] {
    for (std::uint32_t n = 1; n <= names; ++n) place.store(all_of(n));
  });
  std::uint64_t torn = 0, back = 0;
  std::uint32_t last = 0;
  while (last < names) {
    const auto name = place.load();
    if (!name) continue;
    torn += name->handle != name->name || name->since_ticks != name->name ||
            name->until_ticks != name->name;
    back += name->name < last;
    last = name->name;
  }
  writer.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(back, 0u);
}

}  // namespace
}  // namespace traceagent::ring
