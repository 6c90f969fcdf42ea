#include "tests/sim/cupti/kinds.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "tests/sim/cupti/account.hpp"
#include "tests/sim/engine/clock.hpp"

namespace simgpu::cupti::kinds {
namespace {

constexpr std::size_t most_functions = 2048;

// As seen on an H100 with CUPTI 130001, and by others on an RTX 3060: functions that are chosen one
// by one give records where that began before there was a context, or while their kind is on.
struct Functions {
  std::atomic<bool> wanted[most_functions]{};
  std::atomic<bool> gives_records{false};
  std::atomic<bool> kind_was_on{false};
  std::atomic<int> count{0};
  std::atomic<std::int64_t> since_ns{0};

  void set(std::uint32_t cbid, bool on) {
    if (cbid < most_functions && wanted[cbid].exchange(on) != on) {
      count.fetch_add(on ? 1 : -1);
      if (on) {
        since_ns.store(now_ns());
      }
    }
  }
  void choose(std::uint32_t cbid, bool on) {
    if (on && !kind_was_on.load() && !activity::has_context()) {
      gives_records.store(true);
    }
    set(cbid, on);
  }
  void set_all(bool on) {
    gives_records.store(on);
    kind_was_on.store(true);
    for (std::uint32_t cbid = 0; cbid < most_functions; ++cbid) {
      set(cbid, on);
    }
  }
};

struct Settings {
  std::mutex mutex;
  std::atomic<std::uint64_t> wanted{0};  // a bit per kind
  std::map<CUpti_ActivityKind, CuptiRecord*> periods;
  std::map<std::pair<std::uint32_t, CUpti_ActivityKind>, bool> by_context;
  std::atomic<bool> any_by_context{false};
  Functions functions[2];
};

Settings& settings() {
  static auto* instance = new Settings;
  return *instance;
}

std::uint64_t bit(CUpti_ActivityKind kind) { return std::uint64_t{1} << kind; }

Functions& functions(activity::Domain domain) {
  return settings().functions[domain == activity::Domain::driver ? 1 : 0];
}

void set_functions(CUpti_ActivityKind kind, bool on) {
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
    functions(activity::Domain::runtime).set_all(on);
  } else if (kind == CUPTI_ACTIVITY_KIND_DRIVER) {
    functions(activity::Domain::driver).set_all(on);
  }
}

}  // namespace

void enable(CUpti_ActivityKind kind) {
  Settings& all = settings();
  std::lock_guard lock(all.mutex);
  set_functions(kind, true);
  if ((all.wanted.fetch_or(bit(kind)) & bit(kind)) == 0) {
    all.periods[kind] = open_period(static_cast<std::uint16_t>(kind));
  }
}

void disable(CUpti_ActivityKind kind) {
  Settings& all = settings();
  std::lock_guard lock(all.mutex);
  set_functions(kind, false);
  if ((all.wanted.fetch_and(~bit(kind)) & bit(kind)) != 0) {
    close_period(all.periods[kind]);
  }
}

void set_for_context(std::uint32_t context, CUpti_ActivityKind kind, bool on) {
  Settings& all = settings();
  std::lock_guard lock(all.mutex);
  all.by_context[{context, kind}] = on;
  all.any_by_context.store(true);
}

bool enabled(CUpti_ActivityKind kind) {
  return (settings().wanted.load(std::memory_order_relaxed) & bit(kind)) != 0;
}

bool enabled(CUpti_ActivityKind kind, std::uint32_t context) {
  Settings& all = settings();
  if (all.any_by_context.load(std::memory_order_relaxed)) {
    std::lock_guard lock(all.mutex);
    if (const auto found = all.by_context.find({context, kind}); found != all.by_context.end()) {
      return found->second;
    }
  }
  return enabled(kind);
}

void forget() {
  Settings& all = settings();
  all.wanted.store(0);
  all.any_by_context.store(false);
  all.functions[0].count.store(0);
  all.functions[1].count.store(0);
}

bool any() {
  const Settings& all = settings();
  return all.wanted.load() != 0 || all.any_by_context.load() ||
         all.functions[0].count.load() != 0 || all.functions[1].count.load() != 0;
}

void set_function(activity::Domain domain, std::uint32_t cbid, bool on) {
  functions(domain).choose(cbid, on);
}

bool wants_call(activity::Domain domain, std::uint32_t cbid, std::int64_t begin_ns) {
  const Functions& all = functions(domain);
  return all.count.load(std::memory_order_relaxed) != 0 && all.gives_records.load() && cbid != 0 &&
         cbid < most_functions && all.wanted[cbid].load(std::memory_order_relaxed) &&
         begin_ns >= all.since_ns.load();
}

}  // namespace simgpu::cupti::kinds
