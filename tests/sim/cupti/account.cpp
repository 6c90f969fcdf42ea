#include "tests/sim/cupti/account.hpp"

#include "tests/sim/cupti/format.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/truth_file.hpp"

namespace simgpu::cupti {
namespace {

CuptiRecord* claim(RecordKind kind) {
  auto* record = reinterpret_cast<CuptiRecord*>(truth::claim());
  if (record == nullptr) {
    return nullptr;
  }
  record->kind = kind;
  record->major = static_cast<std::uint8_t>(cupti_major);
  record->begin_ns = now_ns();
  record->state.store(RecordState::closed, std::memory_order_release);
  return record;
}

}  // namespace

CuptiRecord& account() {
  static CuptiRecord* instance = [] {
    CuptiRecord* claimed = claim(RecordKind::cupti);
    return claimed != nullptr ? claimed : new CuptiRecord{};
  }();
  return *instance;
}

CuptiRecord* open_period(std::uint16_t activity) {
  CuptiRecord* period = claim(RecordKind::enabled);
  if (period != nullptr) {
    period->activity = activity;
  }
  return period;
}

void close_period(CuptiRecord* period) {
  if (period != nullptr) {
    period->end_ns = now_ns();
  }
}

void set_state(const activity::DeviceWork& work, CuptiState state) {
  for (Record* record : work.records) {
    record->cupti.store(state, std::memory_order_relaxed);
  }
}

}  // namespace simgpu::cupti
