#include "agent/process/written_totals.hpp"

#include <gtest/gtest.h>

namespace traceagent::process {
namespace {

std::size_t at(ring::DropCause cause) { return static_cast<std::size_t>(cause); }

TEST(WrittenTotals, WhatEachWindowCountsFromTheBeginningIsNotAddedUp) {
  WrittenTotals totals;
  ring::DropCounts of_window{};
  of_window[at(ring::DropCause::ring_full)] = 2;
  of_window[at(ring::DropCause::names_full)] = 3;
  totals.add_file(10, of_window);
  of_window[at(ring::DropCause::names_full)] = 4;
  totals.add_file(20, of_window);
  EXPECT_EQ(totals.files, 2u);
  EXPECT_EQ(totals.events, 30u);
  EXPECT_EQ(totals.dropped[at(ring::DropCause::ring_full)], 4u);
  EXPECT_EQ(totals.dropped[at(ring::DropCause::names_full)], 4u);
}

}  // namespace
}  // namespace traceagent::process
