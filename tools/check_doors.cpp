#include <dlfcn.h>
#include <link.h>

#include <cstdio>

#include "config/options.hpp"
#include "tools/agent_library.hpp"
#include "tools/check_report.hpp"
#include "tools/contained.hpp"

namespace traceagent::tools {

namespace {

enum class VersionForm { thousands, nccl, plain };

struct Probe {
  const char* what;
  const char* soname;
  const char* version_function;  // int f(int*)
  VersionForm form;
  const char* remedy;
};

constexpr char own_copy[] = "only what a program brings itself is seen; else set LD_LIBRARY_PATH";
constexpr char no_device_times[] = "no device times from it; else set LD_LIBRARY_PATH";

constexpr Probe probes[] = {
    {"CUDA runtime 13", "libcudart.so.13", "cudaRuntimeGetVersion", VersionForm::thousands,
     own_copy},
    {"CUDA runtime 12", "libcudart.so.12", "cudaRuntimeGetVersion", VersionForm::thousands,
     own_copy},
    {"CUDA runtime 11", "libcudart.so.11.0", "cudaRuntimeGetVersion", VersionForm::thousands,
     own_copy},
    {"NCCL", "libnccl.so.2", "ncclGetVersion", VersionForm::nccl, own_copy},
    {"CUPTI 13", "libcupti.so.13", "cuptiGetVersion", VersionForm::plain, no_device_times},
    {"CUPTI 12", "libcupti.so.12", "cuptiGetVersion", VersionForm::plain, no_device_times},
    {"CUPTI 11", "libcupti.so.11.8", "cuptiGetVersion", VersionForm::plain, no_device_times},
    {"NVIDIA driver", "libcuda.so.1", "cuDriverGetVersion", VersionForm::thousands,
     "no GPU can be used here; install NVIDIA's driver"},
};

std::string version_in_words(int version, VersionForm form) {
  switch (form) {
    case VersionForm::thousands:
      return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    case VersionForm::nccl:
      return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
             std::to_string(version % 100);
    case VersionForm::plain:
      return "API " + std::to_string(version);
  }
  return "";
}

// In the child. The first byte says whether it was found.
void probe(const Probe& wanted) {
  void* const library = dlopen(wanted.soname, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("-%s", dlerror());
    return;
  }
  link_map* map = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, &map);
  std::printf("+%s", map == nullptr ? wanted.soname : map->l_name);
  void* const symbol = dlsym(library, wanted.version_function);
  int version = 0;
  if (symbol != nullptr && reinterpret_cast<int (*)(int*)>(symbol)(&version) == 0) {
    std::printf(": %s", version_in_words(version, wanted.form).c_str());
  }
}

void report_probe(const Probe& wanted, CheckReport& report) {
  const Contained result = run_contained([&wanted] { probe(wanted); });
  const std::string answer = result.output.empty() ? "" : result.output.substr(1);
  if (!result.failure.empty()) {
    report.missing_help(wanted.what, std::string(wanted.soname) + ": " + result.failure,
                        result.was_tried ? "it cannot be used here; install it again"
                                         : "it was not tried: check again");
  } else if (result.output.starts_with('+')) {
    report.yes(wanted.what, answer);
  } else if (answer.find("No such file") != std::string::npos) {
    report.missing_help(wanted.what, std::string(wanted.soname) + " is not in the loader's path",
                        wanted.remedy);
  } else {
    report.missing_help(wanted.what, answer, wanted.remedy);
  }
}

// What NVTX asks the library for that NVTX_INJECTION64_PATH names.
void report_nvtx(const AgentLibrary& library, CheckReport& report) {
  const Contained result = run_contained([&library] {
    void* const agent = dlopen(library.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::printf("%s", agent == nullptr ? dlerror()
                      : dlsym(agent, "InitializeInjectionNvtx2") == nullptr
                          ? "the library has no InitializeInjectionNvtx2"
                          : "");
  });
  const std::string problem = result.failure.empty() ? result.output : result.failure;
  if (problem.empty()) {
    report.yes("NVTX", "through NVTX_INJECTION64_PATH, which the agent sets");
  } else {
    report.no("NVTX", problem, result.was_tried ? "build the library again" : "check again");
  }
}

}  // namespace

void check_doors(const AgentLibrary& library, CheckReport& report) {
  report.section("The doors: what the loader finds here (a program may bring its own)");
  for (const Probe& wanted : probes) {
    report_probe(wanted, report);
  }
  if (library.problem.empty()) {
    report_nvtx(library, report);
  }
}

}  // namespace traceagent::tools
