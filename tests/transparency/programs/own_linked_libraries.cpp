// Parses, inflates and unwinds by its own yaml-cpp, zlib and libunwind while other threads call.
// The agent has the first two within itself.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <yaml-cpp/yaml.h>
#include <zlib.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

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

template <class Function>
const char* object_of(Function* function) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(function), &info) == 0) return "?";
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash != nullptr ? slash + 1 : info.dli_fname;
}

}  // namespace

int main() {
  long unwound = unwind_from(1);  // what libunwind opens has its number now
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      for (; !stop.load(); usleep(200)) call_often(50);
    });
  }
  long parsed = 0;
  unsigned long inflated = 0;
  for (int i = 0; i < 50; ++i) {
    call_often();
    parsed += parse(i);
    unwound += unwind_from(1 + i % 7);
    inflated ^=
        inflate_again(std::string(20'000, static_cast<char>('a' + i % 26)) + std::to_string(i));
  }
  stop.store(true);
  for (std::thread& thread : busy) thread.join();
  say("zlib %s of %s, yaml-cpp of %s\n", zlibVersion(), object_of(&zlibVersion),
      object_of(static_cast<YAML::Node (*)(const char*)>(&YAML::Load)));
  say("parsed %ld, unwound %ld, inflated %lx, device %d\n", parsed, unwound, inflated,
      use_device());
  say_state("end");
  return 3;
}
