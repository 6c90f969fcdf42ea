#pragma once

#include <cupti.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "tests/sim/engine/activity.hpp"

namespace simgpu::cupti {

/// Turns what the simulation does into records. Device work waits here until it is over.
class Collector final : public activity::Listener {
 public:
  /// Listens from the first use on.
  static Collector& get();

  void entered(const activity::Api& api) override;
  void left(const activity::Api& api) override;
  void launched(const activity::DeviceWorkPtr& work) override;
  void context_ending(std::uint32_t context, bool announced) override;
  void stream_made(std::uint32_t context, std::uint32_t stream, int priority) override;

  /// Writes the records of what is over; forced: of the rest too, as they are.
  void collect(bool forced);
  /// Whether any work waits to be over.
  bool waiting();

  void push_external(CUpti_ExternalCorrelationKind kind, std::uint64_t id);
  /// False where nothing was pushed.
  bool pop_external(CUpti_ExternalCorrelationKind kind, std::uint64_t& id);

 private:
  struct Item {
    std::vector<activity::DeviceWorkPtr> works;  // several: a graph launch shown as one
    CUpti_ActivityKind kind;
    bool complete;  // no more work will come to it
  };

  Item* open_graph(std::uint32_t correlation);

  static bool over(const Item& item, std::int64_t time_ns);
  void write_host_records(const activity::Api& api);
  void write(const Item& item, bool over);
  void write_work(const Item& item, bool over);
  std::size_t waiting_bytes();

  std::mutex collecting_;  // taken before mutex_: who flushes finds all that is over in a buffer
  std::mutex mutex_;
  std::deque<Item> items_;
  double untimed_debt_ = 0;  // under collecting_
  bool takes_both_ = false;  // of an untimed record's times, by turns
};

}  // namespace simgpu::cupti
