// libfaults.so, preloaded together with libtraceagent.so: lets the calls that the agent (or a tool)
// makes of libc fail, or kills the process at one of them. README.md says how it is told.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "tests/faults/patched_object.hpp"
#include "tests/faults/place_table.hpp"
#include "tests/faults/rules.hpp"

// The real functions, by whatever type: all take and give integers and pointers alone. Weak:
// libcurl's are in one tool only.
extern "C" {
#define FAULT(name, how, errors) [[gnu::weak]] void real_##name() __asm__(#name);
#define DONE(name, how, errors) FAULT(name, how, errors)
#define MEMORY(name, how, errors) FAULT(name, how, errors)
#define CALL(name, how, errors)
#define PURE(name)
#include "tests/faults/faults.def"
#undef FAULT
#undef DONE
#undef MEMORY
#undef CALL
}

namespace traceagent::faults {
namespace {

using Any = long (*)(long, long, long, long, long, long, long);

enum class Tells : std::uint8_t { minus_one, null, mapping, returned, nothing_moved, never };

struct Function {
  const char* name;
  Tells tells;
  bool is_done_anyway;
  bool is_memory;
  long number;  // of syscall(); -1: a function of its own
};

constexpr Function functions[] = {
#define FAULT(name, how, errors) {#name, Tells::how, false, false, -1},
#define DONE(name, how, errors) {#name, Tells::how, true, false, -1},
#define MEMORY(name, how, errors) {#name, Tells::how, false, true, -1},
#define CALL(name, how, errors) {#name, Tells::how, false, false, SYS_##name},
#include "tests/faults/faults.def"
#undef FAULT
#undef DONE
#undef MEMORY
#undef CALL
};
constexpr std::size_t function_count = sizeof functions / sizeof functions[0];
static_assert(function_count <= std::size(PlaceTable{}.calls_of_function));

extern "C" void real_syscall() __asm__("syscall");
const Any reals[] = {
#define FAULT(name, how, errors) reinterpret_cast<Any>(&real_##name),
#define DONE(name, how, errors) FAULT(name, how, errors)
#define MEMORY(name, how, errors) FAULT(name, how, errors)
#define CALL(name, how, errors) reinterpret_cast<Any>(&real_syscall),
#include "tests/faults/faults.def"
#undef FAULT
#undef DONE
#undef MEMORY
#undef CALL
};

// Whose calls fail. A process traces a job or is a tool: these are 0 in the number of a place. The
// uploader has files and folders by the shared libstdc++ and its network by libcurl: there, and
// only there, these are part of the tool.
struct Object {
  const char* file;
  std::uint64_t number;
  Extent extent;
};
Object objects[] = {{"libtraceagent.so", 0, {}},
                    {"traceagent", 0, {}},
                    {"traceagent-run", 0, {}},
                    {"traceagent-mpirun", 0, {}},
                    {"traceagent-upload", 0, {}}};
Object uploaders_libraries[] = {{"libstdc++.so.6", 1, {}}, {"libcurl.so.4", 2, {}}};
constexpr int object_shift = 40;
PlaceTable* table = nullptr;
Rules rules;

[[noreturn]] void die() noexcept {
  syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  for (;;) pause();
}

template <std::size_t count>
const Object* object_of(const Object (&among)[count], const char* address) noexcept {
  for (const Object& object : among) {
    const Extent& extent = object.extent;
    if (extent.base != nullptr && address >= extent.base && address < extent.base + extent.bytes)
      return &object;
  }
  return nullptr;
}

// Number of the object and offset in it. Who jumps to a function returns to another object: that is
// one of no place.
std::uint64_t offset_of(const char* address) noexcept {
  const Object* object = object_of(objects, address);
  if (object == nullptr) object = object_of(uploaders_libraries, address);
  if (object == nullptr) return (std::uint64_t{1} << 48) - 1;
  return object->number << object_shift | static_cast<std::uint64_t>(address - object->extent.base);
}

// An error in between as it comes from the kernel, and then no more: retrying ends.
bool is_due(const Rule& rule, std::uint64_t call) noexcept {
  if (call < rule.from) return false;
  if (rule.action == Action::interrupt && rule.lasts) return (call - rule.from) % 2 == 0;
  return rule.lasts || call == rule.from;
}

const Rule* rule_for(std::size_t function, std::uint64_t offset, std::uint64_t of_place,
                     std::uint64_t of_function, std::uint64_t of_all) noexcept {
  for (std::size_t i = 0; i < rules.count; ++i) {
    const Rule& rule = rules.rules[i];
    if (rule.function != any_function && rule.function != function) continue;
    if (rule.function == any_function && functions[function].is_memory) continue;
    if (rule.offset != 0 && rule.offset != offset) continue;
    std::uint64_t call = rule.function == any_function ? of_all : of_function;
    if (rule.offset != 0) call = of_place;
    if (is_due(rule, call)) return &rule;
  }
  return nullptr;
}

long told(Tells tells, int error) noexcept {
  if (tells == Tells::returned) return error;
  errno = error;
  return tells == Tells::minus_one || tells == Tells::mapping ? -1 : 0;
}

bool moves_bytes(const char* name) noexcept {
  if (std::strstr(name, "thread") != nullptr) return false;
  for (const char* word : {"read", "write", "recv", "send"}) {
    if (std::strstr(name, word) != nullptr) return true;
  }
  return false;
}

struct Arguments {
  long values[7];
};

long call_real(std::size_t function, const Arguments& with) noexcept {
  const long* v = with.values;
  return reals[function](v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
}

long do_half(std::size_t function, Arguments with) noexcept {
  if (moves_bytes(functions[function].name)) {
    long& bytes = with.values[std::strcmp(functions[function].name, "sendfile") == 0 ? 3 : 2];
    bytes = bytes > 1 ? bytes / 2 : bytes;
  }
  return call_real(function, with);
}

long act(const Rule& rule, std::size_t function, const Arguments& with) noexcept {
  const Function& row = functions[function];
  switch (rule.action) {
    case Action::kill:
      die();
    case Action::stop:
      // To this thread: who sends it to the process may go on for a while.
      syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGSTOP);
      return call_real(function, with);
    case Action::kill_half:
      static_cast<void>(do_half(function, with));
      die();
    case Action::kill_after:
      static_cast<void>(call_real(function, with));
      die();
    case Action::end:
      return 0;
    case Action::cut:
      return do_half(function, with);
    default:
      break;
  }
  if (row.is_done_anyway) static_cast<void>(call_real(function, with));
  return told(row.tells, rule.action == Action::interrupt ? EINTR : rule.error);
}

long pass(std::size_t function, const char* caller, const Arguments& with) noexcept {
  const std::uint64_t offset = offset_of(caller);
  Place& place = place_of(*table, function, offset);
  const std::uint64_t of_place = place.calls.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t of_function =
      table->calls_of_function[function].fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t of_all =
      functions[function].is_memory ? 0 : table->calls.fetch_add(1, std::memory_order_relaxed) + 1;
  const Rule* rule = rule_for(function, offset, of_place, of_function, of_all);
  if (rule == nullptr) return call_real(function, with);
  place.hits.fetch_add(1, std::memory_order_relaxed);
  return act(*rule, function, with);
}

template <std::size_t function>
long wrapper(long a, long b, long c, long d, long e, long f, long g) {
  return pass(function, static_cast<const char*>(__builtin_return_address(0)),
              {{a, b, c, d, e, f, g}});
}

long wrap_syscall(long number, long b, long c, long d, long e, long f, long g) {
  const Arguments with{{number, b, c, d, e, f, g}};
  for (std::size_t i = 0; i < function_count; ++i) {
    if (functions[i].number == number) {
      return pass(i, static_cast<const char*>(__builtin_return_address(0)), with);
    }
  }
  return reinterpret_cast<Any>(&real_syscall)(number, b, c, d, e, f, g);
}

template <std::size_t... function>
constexpr auto list_wrappers(std::index_sequence<function...>) {
  struct List {
    Any of[sizeof...(function)];
  };
  return List{{&wrapper<function>...}};
}
constexpr auto wrappers = list_wrappers(std::make_index_sequence<function_count>());

void* replacement(const char* name) noexcept {
  if (std::strcmp(name, "syscall") == 0) return reinterpret_cast<void*>(&wrap_syscall);
  const std::size_t function = find_function(name, std::strlen(name));
  if (function == any_function || functions[function].number >= 0) return nullptr;
  if (reals[function] == nullptr) return nullptr;
  return reinterpret_cast<void*>(wrappers.of[function]);
}

// Preloaded behind the agent, and so initialised before it: glibc begins with the last.
[[gnu::constructor]] void load() noexcept {
  rules = read_rules(std::getenv("FAULTS"));
  table = &map_table(std::getenv("FAULTS_PLACES"));
  const char* only = std::getenv("FAULTS_IN");
  bool is_uploader = false;
  for (Object& object : objects) {
    if (only != nullptr && std::strcmp(only, object.file) != 0) continue;
    object.extent = patch_object(object.file, replacement);
    is_uploader = object.extent.base != nullptr && &object == std::end(objects) - 1;
  }
  for (Object& object : uploaders_libraries) {
    if (is_uploader) object.extent = patch_object(object.file, replacement);
  }
}

}  // namespace
}  // namespace traceagent::faults
