#include "tests/transparency/libraries/own_work.hpp"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <yaml-cpp/yaml.h>
#include <zlib.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/transparency/work.hpp"

namespace traceagent::transparency {
namespace {

int frames_of_own = 0;

bool is_frame_of(unw_cursor_t& cursor, const void* function) {
  unw_proc_info_t info{};
  return unw_get_proc_info(&cursor, &info) == 0 &&
         info.start_ip == reinterpret_cast<unw_word_t>(function);
}

// As many frames of itself as it is deep, or it is not unwound rightly.
[[gnu::noinline]] int unwind_from(int depth) {
  if (depth > 1) return unwind_from(depth - 1) + (frames_of_own > 0 ? 0 : 1);
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  frames_of_own = 0;
  do {
    frames_of_own += is_frame_of(cursor, reinterpret_cast<const void*>(&unwind_from)) ? 1 : 0;
  } while (unw_step(&cursor) > 0);
  return frames_of_own;
}

unsigned long inflate_again(const std::string& text) {
  std::vector<Bytef> packed(compressBound(text.size()));
  std::vector<Bytef> again(text.size());
  uLongf packed_bytes = packed.size();
  uLongf bytes = again.size();
  const auto* start = reinterpret_cast<const Bytef*>(text.data());
  if (compress2(packed.data(), &packed_bytes, start, text.size(), 9) != Z_OK) return 1;
  if (uncompress(again.data(), &bytes, packed.data(), packed_bytes) != Z_OK) return 2;
  return std::memcmp(again.data(), text.data(), bytes) == 0
             ? crc32(0, again.data(), static_cast<uInt>(bytes))
             : 3;
}

int parse(int number) {
  const YAML::Node node =
      YAML::Load("{numbers: [1, 2, " + std::to_string(number) + "], more: {a: b}}");
  int wrong = 0;
  try {
    YAML::Load("[1, 2");
  } catch (const YAML::ParserException&) {
    wrong = 1000;
  }
  return node["numbers"][2].as<int>() + static_cast<int>(node["more"].size()) + wrong;
}

struct Results {
  long parsed = 0, unwound = 0;
  unsigned long inflated = 0;
};

void work_once(int number, Results& results) {
  results.parsed += parse(number);
  results.unwound += unwind_from(1 + number % 7);
  results.inflated ^= inflate_again(std::string(20'000, static_cast<char>('a' + number % 26)) +
                                    std::to_string(number));
}

template <class Function>
std::string file_of(Function* function) {
  Dl_info info{};
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<const void*>(function), &info) == 0) return "?";
  return realpath(info.dli_fname, path) != nullptr ? path : "?";
}

void say_whose() {
  say("zlib %s of %s\n", zlibVersion(), file_of(&zlibVersion).c_str());
  say("yaml-cpp of %s\n", file_of(static_cast<YAML::Node (*)(const char*)>(&YAML::Load)).c_str());
  say("libunwind %d.%d of %s\n", UNW_VERSION_MAJOR, UNW_VERSION_MINOR,
      file_of(&unw_init_local).c_str());
}

}  // namespace

void work_with_own_libraries(int (*call)(int calls)) {
  Results results;
  work_once(0, results);  // what libunwind opens has its number now
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      for (; !stop.load(); usleep(200)) call(50);
    });
  }
  for (int i = 0; i < 50; ++i) {
    call(5);
    work_once(i, results);
  }
  stop.store(true);
  for (std::thread& thread : busy) thread.join();
  say_whose();
  say("parsed %ld, unwound %ld, inflated %lx\n", results.parsed, results.unwound, results.inflated);
}

}  // namespace traceagent::transparency
