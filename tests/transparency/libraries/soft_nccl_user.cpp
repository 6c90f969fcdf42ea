// Opens NCCL itself, for itself, and looks each function up before it calls any: linked to none.
#include <dlfcn.h>

#include "tests/transparency/libraries/user.hpp"

struct Id {
  char bytes[128];
};

int call_library(int times) {
  static void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  static const auto get_id = reinterpret_cast<int (*)(Id*)>(dlsym(library, "ncclGetUniqueId"));
  static const bool has_maker = dlsym(library, "ncclCommInitRank") != nullptr;
  Id id{};
  int result = has_maker ? 0 : 100;
  for (int i = 0; i < times; ++i) result += get_id(&id);
  return result;
}
