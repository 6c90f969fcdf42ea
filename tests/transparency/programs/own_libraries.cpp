// Defines names of zlib, yaml-cpp and libunwind as its own; nobody else may call them.
#include <cstddef>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

#define EXPORT extern "C" [[gnu::visibility("default")]]
#define OWN(name) \
  EXPORT int name() { return say("own %s was called\n", #name), -7; }

OWN(deflate)
OWN(deflateInit_)
OWN(deflateInit2_)
OWN(deflateEnd)
OWN(deflateReset)
OWN(inflate)
OWN(inflateInit2_)
OWN(inflateEnd)
OWN(crc32)
OWN(compress2)
OWN(gzopen)
OWN(zlibVersion)
OWN(unw_backtrace)
OWN(unw_step)
OWN(unw_getcontext)
OWN(_ULx86_64_step)
OWN(_ULx86_64_init_local)

namespace YAML {
class Node {
 public:
  [[gnu::visibility("default"), gnu::noinline]] Node() { say("own YAML::Node was made\n"); }
};
[[gnu::visibility("default"), gnu::noinline]] Node Load(const char*) {
  say("own YAML::Load was called\n");
  return {};
}
}  // namespace YAML

namespace simdjson {
[[gnu::visibility("default"), gnu::noinline]] int get_active_implementation() { return -7; }
}  // namespace simdjson

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say("own one %d\n", crc32());
  YAML::Load("a: 1");
  say_state("end");
  return 3;
}
