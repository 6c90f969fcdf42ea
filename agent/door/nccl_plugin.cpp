// The plugins themselves, one for each version of the interface: ours, and ours with the user's own
// behind it. No call ever answers NCCL with an error.

#include "agent/door/nccl_plugin.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "agent/door/loaded_objects.hpp"
#include "agent/door/nccl_plugin_chain.hpp"
#include "agent/door/nccl_plugin_layouts.hpp"
#include "agent/door/nccl_plugin_mask.hpp"
#include "agent/door/nccl_plugin_recording.hpp"
#include "agent/door/start.hpp"
#include "agent/ring/writer.hpp"
#include "agent/step/state.hpp"

namespace traceagent::door {
namespace nccl_plugin {
namespace {

constinit std::atomic<int> version_in_use{0};
constinit std::atomic<bool> is_chained{false};
constinit std::atomic<std::uint64_t> communicators_seen{0};

// The user's own plugin of each version, as NCCL's last look-up found it.
constinit std::array<std::atomic<const void*>, last_version + 1> users_plugins{};

template <class Init>
const Plugin<Init>& users_plugin(int version) noexcept {
  const auto index = static_cast<std::size_t>(version);
  return *static_cast<const Plugin<Init>*>(users_plugins[index].load(std::memory_order_acquire));
}

template <int version, bool chained>
struct Door {
  using Init =
      std::conditional_t<version <= 3, Init1, std::conditional_t<version == 4, Init4, Init5>>;

  // `ask` calls the init() of the user's own plugin.
  template <class Ask>
  static ncclResult_t init(void** context, int* mask, std::uint64_t id, int size, int rank,
                           const Ask& ask) noexcept {
    // A program with NCCL linked in may make no call that we see before this one.
    if (step::mode_of(step::CallClass::collective) == step::Mode::unstarted) start_process();
    version_in_use.store(version, std::memory_order_relaxed);
    communicators_seen.fetch_add(1, std::memory_order_relaxed);
    Communicator* communicator = add_plugin_communicator(id, size, rank);
    if constexpr (chained) {
      is_chained.store(true, std::memory_order_relaxed);
      if (communicator != nullptr) {
        communicator->users_failed =
            ask(users_plugin<Init>(version), &communicator->users_context) != ncclSuccess;
      }
    }
    *context = communicator;
    follow_mask(mask);
    return ncclSuccess;
  }

  static ncclResult_t init1(void** context, int* mask) {
    return init(context, mask, 0, 0, -1, [](const Plugin<Init1>& user, void** its) {
      return user.init(its, mask_of_users_plugin());
    });
  }
  static ncclResult_t init4(void** context, int* mask, const char* name, std::uint64_t id,
                            int nodes, int ranks, int rank, void* logger) {
    return init(context, mask, id, ranks, rank, [&](const Plugin<Init4>& user, void** its) {
      return user.init(its, mask_of_users_plugin(), name, id, nodes, ranks, rank, logger);
    });
  }
  static ncclResult_t init5(void** context, std::uint64_t id, int* mask, const char* name,
                            int nodes, int ranks, int rank, void* logger) {
    return init(context, mask, id, ranks, rank, [&](const Plugin<Init5>& user, void** its) {
      return user.init(its, id, mask_of_users_plugin(), name, nodes, ranks, rank, logger);
    });
  }
  static constexpr Init pick_init() noexcept {
    if constexpr (version <= 3) return &init1;
    if constexpr (version == 4) return &init4;
    if constexpr (version >= 5) return &init5;
  }

  static ncclResult_t start_event(void* context, void** handle, void* description) {
    if (handle == nullptr || description == nullptr) return ncclSuccess;
    *handle = nullptr;
    auto* communicator = static_cast<Communicator*>(context);
    const Event seen = read_event(version, description);
    if constexpr (chained) {
      const Plugin<Init>& user = users_plugin<Init>(version);
      *handle = begin_chained(communicator, seen, [&](void** its) {
        return user.start_event(communicator->users_context, its, description);
      });
    } else {
      *handle = begin_event(communicator, seen, *seen.parent);
    }
    return ncclSuccess;
  }

  static ncclResult_t stop_event(void* handle) {
    if constexpr (chained) {
      end_event(own_handle(handle));
      if (is_users(handle)) return users_plugin<Init>(version).stop_event(handle);
    } else {
      end_event(handle);
    }
    return ncclSuccess;
  }

  static ncclResult_t record_state(void* handle, int state, void* arguments) {
    std::uint64_t value = 0;
    if (version >= 4 && arguments != nullptr) std::memcpy(&value, arguments, sizeof value);
    if constexpr (chained) {
      note_state(own_handle(handle), state, value);
      if (is_users(handle)) {
        return users_plugin<Init>(version).record_state(handle, state, arguments);
      }
    } else {
      note_state(handle, state, value);
    }
    return ncclSuccess;
  }

  static ncclResult_t finalize(void* context) {
    auto* communicator = static_cast<Communicator*>(context);
    if constexpr (chained) {
      if (communicator != nullptr && !communicator->users_failed) {
        users_plugin<Init>(version).finalize(communicator->users_context);
      }
    }
    remove_plugin_communicator(communicator);
    return ncclSuccess;
  }

  static constexpr Plugin<Init> plugin(const char* name) noexcept {
    return {name, pick_init(), &start_event, &stop_event, &record_state, &finalize};
  }
  static constinit inline Plugin<Init> in_front_of_users = plugin("traceagent");
  static constinit inline const Plugin<Init> alone = plugin("traceagent");
};

// A plugin that fills its table while it is loaded goes by the table's name, and so into the table
// that we export: ours comes first in the loader's order. What has changed there is theirs.
template <class Table>
Table true_table(const Table& users, const Table& exported, const Table& pristine) noexcept {
  const auto pick = [](auto theirs, auto here, auto ours) { return here != ours ? here : theirs; };
  return {pick(users.name, exported.name, pristine.name),
          pick(users.init, exported.init, pristine.init),
          pick(users.start_event, exported.start_event, pristine.start_event),
          pick(users.stop_event, exported.stop_event, pristine.stop_event),
          pick(users.record_state, exported.record_state, pristine.record_state),
          pick(users.finalize, exported.finalize, pristine.finalize)};
}

// Under the name of theirs, which NCCL's log shows.
template <int version, class Table>
void* put_in_front(const void* found, const Table& exported, bool chain) noexcept {
  using Front = Door<version, true>;
  static constinit Table users{};
  users = true_table(*static_cast<const Table*>(found), exported, Door<version, false>::alone);
  // Theirs alone, and whole.
  if (!chain) return &users;
  users_plugins[version].store(&users, std::memory_order_release);
  Front::in_front_of_users.name = users.name;
  return &Front::in_front_of_users;
}

constexpr char name_start[] = "ncclProfiler_v";

}  // namespace
}  // namespace nccl_plugin
}  // namespace traceagent::door

// What NCCL looks up; it never writes into them, but see true_table().
#define NCCL_PLUGIN(number)                                                       \
  [[gnu::visibility("default")]] constinit traceagent::door::nccl_plugin::Plugin< \
      traceagent::door::nccl_plugin::Door<number, false>::Init>                   \
      ncclProfiler_v##number =                                                    \
          traceagent::door::nccl_plugin::Door<number, false>::plugin("traceagent");
extern "C" {
#include "agent/api/nccl_plugin.def"
}
#undef NCCL_PLUGIN

namespace traceagent::door {

bool is_nccl_profiler_name(const char* symbol) noexcept {
  using namespace nccl_plugin;
  if (symbol == nullptr || symbol[0] != 'n') return false;
  if (std::strncmp(symbol, name_start, sizeof name_start - 1) != 0) return false;
  const char* digit = symbol + sizeof name_start - 1;
  return *digit >= '0' + first_version && *digit <= '0' + last_version && digit[1] == '\0';
}

void* nccl_profiler_for(const char* symbol, void* real, bool chain) noexcept {
  using namespace nccl_plugin;
  if (real == nullptr) return nullptr;
  const bool ours = is_ours(real);
  switch (symbol[sizeof name_start - 1] - '0') {
#define NCCL_PLUGIN(number)                                                                   \
  case number:                                                                                \
    return ours ? const_cast<Plugin<Door<number, false>::Init>*>(&Door<number, false>::alone) \
                : put_in_front<number>(real, ncclProfiler_v##number, chain);
#include "agent/api/nccl_plugin.def"
#undef NCCL_PLUGIN
    default:
      return nullptr;
  }
}

NcclPluginState nccl_plugin_state() noexcept {
  using namespace nccl_plugin;
  NcclPluginState state;
  state.version = version_in_use.load(std::memory_order_relaxed);
  state.chained = is_chained.load(std::memory_order_relaxed);
  state.communicators = communicators_seen.load(std::memory_order_relaxed);
  return state;
}

}  // namespace traceagent::door
