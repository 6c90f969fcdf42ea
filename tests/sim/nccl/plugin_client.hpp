#pragma once

#include "tests/sim/nccl/plugin_description.hpp"

namespace simgpu::nccl::plugin {

/// The plugin's functions of the version that both sides know, called with checks.
class Client {
 public:
  /// The loaded plugin, loaded now if this is the first communicator. nullptr: there is none.
  static Client* open(const Comm& comm);
  /// nullptr while none is loaded.
  static Client* get();
  /// One communicator less; with the last one the library is closed.
  static void close();

  int version() const { return version_; }
  /// As the plugin has set it by now.
  int mask() const { return __atomic_load_n(&mask_, __ATOMIC_RELAXED); }

  void* init(const Comm& comm);
  void finalize(void* context);
  void* start(const Comm& comm, const Description& description);
  void stop(void* handle) {
    if (handle != nullptr) {
      stop_even_null(handle);
    }
  }
  void stop_even_null(void* handle);
  void record(void* handle, int state, std::uint64_t value);

 private:
  struct Table {
    const char* name;
    void* init;
    int (*start)(void* context, void** handle, void* description);
    int (*stop)(void* handle);
    int (*record)(void* handle, int state, void* arguments);
    int (*finalize)(void* context);
  };

  bool load();

  void* library_ = nullptr;
  const Table* table_ = nullptr;
  int version_ = 0;
  int mask_ = 0;
};

}  // namespace simgpu::nccl::plugin
