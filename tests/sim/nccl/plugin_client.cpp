#include "tests/sim/nccl/plugin_client.hpp"

#include <dlfcn.h>
#include <strings.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "tests/sim/engine/misuse.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::nccl::plugin {
namespace {

std::mutex mutex;
int communicators = 0;
Client instance;
std::atomic<Client*> loaded{nullptr};

void must_be_zero(const char* function, int result) {
  if (result != 0) {
    misuse(function, "the plugin answered with an error");
  }
}

// NCCL's own way: the name as it is, then as the middle of one.
void* open_library(const char* name) {
  if (name == nullptr || *name == '\0') {
    return dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
  }
  if (strcasecmp(name, "STATIC_PLUGIN") == 0) {
    return dlopen(nullptr, RTLD_NOW | RTLD_LOCAL);
  }
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  const std::string wrapped = "libnccl-profiler-" + std::string(name) + ".so";
  return library != nullptr ? library : dlopen(wrapped.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

bool Client::load() {
  const char* name = std::getenv("NCCL_PROFILER_PLUGIN");
  if (name != nullptr && strcasecmp(name, "none") == 0) {
    return false;
  }
  library_ = open_library(name);
  for (version_ = script().nccl_plugin_version; library_ != nullptr && version_ >= 1; --version_) {
    const std::string symbol = "ncclProfiler_v" + std::to_string(version_);
    table_ = static_cast<const Table*>(dlsym(library_, symbol.c_str()));
    if (table_ != nullptr) {
      return true;
    }
  }
  return false;
}

Client* Client::open(const Comm&) {
  const std::lock_guard lock(mutex);
  if (communicators == 0 && !instance.load()) {
    return nullptr;
  }
  ++communicators;
  loaded.store(&instance);
  return &instance;
}

Client* Client::get() { return loaded.load(); }

void Client::close() {
  const std::lock_guard lock(mutex);
  if (--communicators == 0) {
    loaded.store(nullptr);
    dlclose(instance.library_);
  }
}

void* Client::init(const Comm& comm) {
  void* context = nullptr;
  int result = 0;
  if (version_ <= 3) {
    using Init = int (*)(void**, int*);
    result = reinterpret_cast<Init>(table_->init)(&context, &mask_);
  } else if (version_ == 4) {
    using Init = int (*)(void**, int*, const char*, std::uint64_t, int, int, int, void*);
    result = reinterpret_cast<Init>(table_->init)(&context, &mask_, "a communicator", comm.hash, 1,
                                                  comm.size, comm.rank, nullptr);
  } else {
    using Init = int (*)(void**, std::uint64_t, int*, const char*, int, int, int, void*);
    result = reinterpret_cast<Init>(table_->init)(&context, comm.hash, &mask_, "a communicator", 1,
                                                  comm.size, comm.rank, nullptr);
  }
  must_be_zero("ncclProfiler init", result);
  return context;
}

void Client::finalize(void* context) {
  if (context != nullptr) {
    must_be_zero("ncclProfiler finalize", table_->finalize(context));
  }
}

void* Client::start(const Comm& comm, const Description& description) {
  Description given = description;
  void* handle = nullptr;
  must_be_zero("ncclProfiler startEvent", table_->start(comm.plugin_context, &handle, given.bytes));
  if (std::memcmp(given.bytes, description.bytes, sizeof given.bytes) != 0) {
    misuse("ncclProfiler startEvent", "the plugin changed NCCL's description");
  }
  return handle;
}

void Client::stop_even_null(void* handle) {
  must_be_zero("ncclProfiler stopEvent", table_->stop(handle));
}

void Client::record(void* handle, int state, std::uint64_t value) {
  if (handle != nullptr) {
    must_be_zero("ncclProfiler recordEventState", table_->record(handle, state, &value));
  }
}

}  // namespace simgpu::nccl::plugin
