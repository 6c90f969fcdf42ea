// A profiler plugin of the user's own: writes what NCCL shows it into $USER_PLUGIN_LOG ({pid} is
// filled in), in terms that do not change from run to run. Built for one version of the interface,
// USER_PLUGIN_VERSION. A parent that is none of its own events ends the program.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

constexpr int version = USER_PLUGIN_VERSION;
constexpr std::uint64_t magic = 0x4556454e54;

struct Event {
  std::uint64_t magic = ::magic;
  int number = 0;
};

std::mutex mutex;
int events = 0;

std::FILE* log_file() {
  static std::FILE* file = [] {
    std::string path = std::getenv("USER_PLUGIN_LOG");
    if (const auto at = path.find("{pid}"); at != std::string::npos) {
      path.replace(at, 5, std::to_string(getpid()));
    }
    return std::fopen(path.c_str(), "we");
  }();
  return file;
}

template <class... Values>
void write(const char* format, Values... values) {
  std::fprintf(log_file(), format, values...);
  std::fputc('\n', log_file());
  std::fflush(log_file());
}

template <class Value>
Value at(const void* description, std::size_t offset) {
  Value value;
  std::memcpy(&value, static_cast<const char*>(description) + offset, sizeof value);
  return value;
}

int number_of(const void* handle) {
  if (handle == nullptr) {
    return 0;
  }
  const auto* event = static_cast<const Event*>(handle);
  if (event->magic != magic) {
    std::fprintf(stderr, "nccl_user_plugin: a parent that is no event of mine\n");
    std::abort();
  }
  return event->number;
}

void init_mask(int* mask) {
  const char* wanted = std::getenv("USER_PLUGIN_MASK");
  *mask = wanted != nullptr ? std::atoi(wanted) : 2;
}

int init3(void** context, int* mask) {
  const std::lock_guard lock(mutex);
  *context = new int(0);
  init_mask(mask);
  write("init");
  return 0;
}

int init5(void** context, std::uint64_t, int* mask, const char* name, int nodes, int ranks,
          int rank, void*) {
  const std::lock_guard lock(mutex);
  *context = new int(rank);
  init_mask(mask);
  write("init %s nodes %d ranks %d rank %d", name, nodes, ranks, rank);
  return 0;
}

int start(void*, void** handle, void* description) {
  const std::lock_guard lock(mutex);
  const unsigned type = at<std::uint8_t>(description, 0) |
                        (version >= 5 ? at<std::uint32_t>(description, 0) & 0xffffff00U : 0U);
  auto* event = new Event;
  event->number = ++events;
  *handle = event;
  // A proxy may serve another process, whose handles mean nothing here.
  const bool is_foreign = type == 8 && at<int>(description, 24) != getpid();
  const int parent = is_foreign ? -1 : number_of(at<void*>(description, 8));
  if (type == 2) {
    const std::size_t function = version <= 3 ? 48 : 32;
    write("start %d type %u parent %d %s count %zu", event->number, type, parent,
          at<const char*>(description, function), at<std::size_t>(description, function + 24));
    if (version >= 5) {
      write("group %d", number_of(at<void*>(description, 104)));
    }
  } else {
    write("start %d type %u parent %d", event->number, type, parent);
  }
  return 0;
}

int stop(void* handle) {
  const std::lock_guard lock(mutex);
  write("stop %d", number_of(handle));
  return 0;
}

int record(void* handle, int state, void*) {
  const std::lock_guard lock(mutex);
  write("state %d of %d", state, number_of(handle));
  return 0;
}

int finalize(void* context) {
  const std::lock_guard lock(mutex);
  write("finalize");
  delete static_cast<int*>(context);
  return 0;
}

struct Plugin {
  const char* name;
  void* init;
  int (*start)(void*, void**, void*);
  int (*stop)(void*);
  int (*record)(void*, int, void*);
  int (*finalize)(void*);
};

// Not a constant: the table is filled when the library is loaded, through the table's name, which a
// preloaded library may have taken.
void* const init = version <= 3 ? reinterpret_cast<void*>(&init3) : reinterpret_cast<void*>(&init5);

}  // namespace

#define JOIN(a, b) a##b
#define NAME(number) JOIN(ncclProfiler_v, number)
extern "C" __attribute__((visibility("default"))) const Plugin NAME(USER_PLUGIN_VERSION) = {
    "the user's own", init, &start, &stop, &record, &finalize};
