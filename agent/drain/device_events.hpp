#pragma once
// What the device did in a window, matched to the calls that launched it, in order of time.

#include <cstdint>
#include <span>
#include <vector>

#include "agent/drain/coverage.hpp"
#include "agent/drain/device_lanes.hpp"
#include "agent/drain/lane_names.hpp"
#include "agent/drain/launch_match.hpp"
#include "agent/drain/nccl_kernels.hpp"
#include "agent/drain/stream_lanes.hpp"

namespace traceagent::drain {

// Work of the device, or what is known of it from CUDA events.
struct DeviceSlice {
  const event::Record* record;
  std::int64_t start_ns, end_ns;
  std::int64_t tid;
  std::uint64_t correlation;  // of the host's event; its own where that is not known
  std::uint64_t flow;         // 0: no arrow
  std::uint32_t thread;       // of the call that launched it
  std::uint32_t nccl;         // the NCCL call around the launch, in that thread's records
  std::uint64_t call_flow;    // an arrow from the call whose kernel it is, where no slice of that
                              // call's encloses the launch; 0: none
  std::uint16_t device;       // event::no_device: not known
  bool launched_before;       // before the window
  bool launch_seen;
  bool names_wrong_call;  // CUPTI does: a graph's work cannot come of it
};

// An arrow's beginning, behind the host's slice.
struct Arrow {
  std::uint32_t host;  // index in the thread's records, or of a Launch
  std::uint32_t slice;
  bool from_call = false;  // DeviceSlice::call_flow
};

class DeviceEvents {
 public:
  enum class Kind : std::uint8_t { call, slice };
  struct Item {
    std::int64_t ts_ns;
    std::uint32_t index;  // in launches() or slices()
    Kind kind;
  };

  // `threads`: the window's; those that only CUPTI knows are added.
  DeviceEvents(const ring::Ring& ring, const ring::Window& window,
               const event::TickConverter& clock, std::vector<ThreadEvents>& threads,
               const CollectivePlans& plans);

  // By time, calls before work.
  const std::vector<Item>& items() const noexcept { return items_; }
  const std::vector<Launch>& launches() const noexcept { return launches_; }
  const std::vector<DeviceSlice>& slices() const noexcept { return slices_; }
  const DeviceLanes& lanes() const noexcept { return lanes_; }
  const LaneNames& lane_names() const noexcept { return lane_names_; }
  const DeviceMatch& match() const noexcept { return match_; }
  const NcclKernels& nccl_kernels() const noexcept { return nccl_kernels_; }
  const CollectivePlans& plans() const noexcept { return plans_; }
  // Arrows that begin at a call of a thread, by the call's index; at a call only CUPTI saw.
  std::span<const Arrow> arrows_of_thread(std::size_t thread) const noexcept;
  std::span<const Arrow> arrows_of_launch(std::uint32_t launch) const noexcept;
  // CUPTI's latest id among the window's calls; 0: none.
  std::uint32_t last_correlation() const noexcept;
  // The earliest moment of an item; INT64_MAX: none.
  std::int64_t earliest_ns() const noexcept;

 private:
  void add_work(const ring::Ring& ring, const ring::Window& window, const WindowEdges& edges,
                const DeviceRecords& records);
  void add_timed(const ring::Ring& ring, const DeviceRecords& records,
                 const event::TickConverter& clock, const std::vector<ThreadEvents>& threads);
  bool belongs(const WindowEdges& edges, const event::DeviceWork& work, std::uint32_t launch,
               DeviceSlice& slice) const noexcept;
  void tie(const ring::Ring& ring, std::uint32_t launch, DeviceSlice& slice);
  LaneKey lane_of(const DeviceSlice& slice, const std::vector<ThreadEvents>& threads) const;
  void note_lane(const event::DeviceWork& work, const DeviceSlice& slice, std::uint32_t launch);
  void add_nccl_calls(const ring::Ring& ring, const event::TickConverter& clock,
                      const std::vector<ThreadEvents>& threads);
  void place_slices(const std::vector<ThreadEvents>& threads);
  void add_calls();
  void sort_arrows();

  const CollectivePlans& plans_;
  std::vector<Launch> launches_;
  NcclKernels nccl_kernels_;
  std::vector<std::uint32_t> works_of_launch_;
  std::vector<DeviceSlice> slices_;
  std::vector<DeviceSlice> others_;  // of other windows, but within this one's time
  std::vector<Item> items_;
  std::vector<std::vector<Arrow>> arrows_of_threads_;
  std::vector<Arrow> arrows_of_launches_;
  DeviceLanes lanes_;
  LaneNames lane_names_;
  StreamLanes stream_lanes_;
  DeviceMatch match_;
  std::uint64_t flow_bits_;
};

}  // namespace traceagent::drain
