#include "tests/sim/cupti/cbids.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace simgpu::cupti {
namespace {

struct Row {
  const char* name;
  std::uint32_t cbid;
};

// Made from cupti_runtime_cbid.h and cupti_driver_cbid.h when this is built.
constexpr Row runtime_rows[] = {
#include "simgpu_runtime_cbids.inc"
};
constexpr Row driver_rows[] = {
#include "simgpu_driver_cbids.inc"
};

struct Numbered {
  int version;  // 13000 for _v13000
  std::uint32_t cbid;
};
using Table = std::map<std::string, std::vector<Numbered>>;

// "cudaLaunchKernel_ptsz_v7000" is version 7000 of cudaLaunchKernel_ptsz. A driver function's _v2
// is part of its name.
void add(Table& table, const Row& row) {
  std::string name = row.name;
  int version = 0;
  const auto at = name.rfind("_v");
  if (at != std::string::npos && name.size() - at >= 6) {
    version = std::atoi(name.c_str() + at + 2);
    name.resize(at);
  }
  table[name].push_back({version, row.cbid});
}

const Table& table_of(activity::Domain domain) {
  static const auto* tables = [] {
    auto* made = new Table[2];
    for (const Row& row : runtime_rows) {
      add(made[0], row);
    }
    for (const Row& row : driver_rows) {
      add(made[1], row);
    }
    return made;
  }();
  return tables[domain == activity::Domain::driver ? 1 : 0];
}

std::string full_name(const activity::Api& api) {
  const std::string name = api.function;
  if (api.variant == Variant::per_thread_stream) {
    return name + "_ptsz";
  }
  return api.variant == Variant::per_thread_default ? name + "_ptds" : name;
}

std::uint32_t look_up(const activity::Api& api) {
  const Table& table = table_of(api.domain);
  const auto found = table.find(full_name(api));
  if (found == table.end()) {
    return 0;
  }
  Numbered best{-1, 0};
  for (const Numbered& row : found->second) {
    const bool known = api.major == 0 || row.version < (api.major + 1) * 1000;
    if (known && row.version > best.version) {
      best = row;
    }
  }
  return best.cbid;
}

}  // namespace

std::uint32_t cbid_of(const activity::Api& api) {
  // By the name's address, which is a literal's: a look-up by text costs more than the call itself.
  struct Key {
    const char* function;
    int variant;
    int domain;
    std::uint16_t major;
    auto operator<=>(const Key&) const = default;
  };
  static thread_local auto* known = new std::map<Key, std::uint32_t>;
  const Key key{api.function, static_cast<int>(api.variant), static_cast<int>(api.domain),
                api.major};
  const auto found = known->find(key);
  return found != known->end() ? found->second : ((*known)[key] = look_up(api));
}

const char* callback_name(activity::Domain domain, std::uint32_t cbid) {
  const auto name_in = [cbid](const Row* first, const Row* last) -> const char* {
    const Row* row = std::find_if(first, last, [=](const Row& r) { return r.cbid == cbid; });
    return row == last ? nullptr : row->name;
  };
  return domain == activity::Domain::driver
             ? name_in(std::begin(driver_rows), std::end(driver_rows))
             : name_in(std::begin(runtime_rows), std::end(runtime_rows));
}

}  // namespace simgpu::cupti
