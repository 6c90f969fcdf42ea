// Prints what libtraceagent.so exports, one symbol a line, as `nm -D --with-symbol-versions` does.

#include <cstdio>
#include <initializer_list>

namespace {

struct Major {
  int number;
  const char* suffix;
};
constexpr Major majors[] = {
    {11, "@libcudart.so.11.0"}, {12, "@libcudart.so.12"}, {13, "@@libcudart.so.13"}};

void list(const char* name, int first, int last) {
  for (const Major& major : majors) {
    if (major.number >= first && major.number <= last) std::printf("%s%s\n", name, major.suffix);
  }
}

#define RANGE_since_11 11, 13
#define RANGE_since_12 12, 13
#define RANGE_since_13 13, 13
#define RANGE_until_12 11, 12
#define RANGE_before_12 11, 11
#define RANGE_before_13 11, 12
#define EACH_plain(name, first, last) list(#name, first, last);
#define EACH_ptsz(name, first, last) \
  list(#name, first, last);          \
  list(#name "_ptsz", first, last);
#define EACH_ptds(name, first, last) \
  list(#name, first, last);          \
  list(#name "_ptds", first, last);
#define CALL(macro, ...) macro(__VA_ARGS__)
#define CUDART(majors, variant, name, ...) CALL(EACH_##variant, name, RANGE_##majors)
#define REGISTRATION(majors, name) CALL(EACH_plain, name, RANGE_##majors)
#define NCCL(name, ...) std::puts(#name);
#define NCCL_PLUGIN(version) std::puts("ncclProfiler_v" #version);
#define SUFFIX_v1
#define SUFFIX_v2 "_v2"
#define DRIVER_EACH_plain(symbol) std::puts(symbol);
#define DRIVER_EACH_ptsz(symbol) \
  std::puts(symbol);             \
  std::puts(symbol "_ptsz");
#define DRIVER_EACH_ptds(symbol) \
  std::puts(symbol);             \
  std::puts(symbol "_ptds");
#define DRIVER(name, abi, since, variant, ...) DRIVER_EACH_##variant(#name SUFFIX_##abi)
#define DRIVER_ANNOUNCEMENT(name, abi, since) std::puts(#name SUFFIX_##abi);

// Every library of CUPTI has them all: what one lacks, no program asks of it.
#define CUPTI_ROW(tag, soname, mark, name) std::puts(name mark soname);
#define CUPTI_NODE(tag, soname, mark, name) std::puts(soname);
#define CUPTI(name, ...) EACH_CUPTI_LIBRARY(CUPTI_ROW, #name)

}  // namespace

int main() {
#include "agent/api/cupti.def"
  EACH_CUPTI_LIBRARY(CUPTI_NODE, )
#include "agent/api/cuda_driver.def"
#include "agent/api/cuda_runtime.def"
#include "agent/api/driver_announcement.def"
#include "agent/api/nccl.def"
#include "agent/api/nccl_plugin.def"
#include "agent/api/registration.def"
  for (const char* name :
       {"dlsym", "dlvsym", "_exit", "_Exit", "InitializeInjectionNvtx2", "InitializeInjection",
        // The version nodes themselves.
        "libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"}) {
    std::puts(name);
  }
  return 0;
}
