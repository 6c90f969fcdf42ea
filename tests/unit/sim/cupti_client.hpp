#pragma once

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/sim/truth_records.hpp"

namespace traceagent::sim_test {

/// A record as the client found it, with as many bytes as it had room for.
struct Seen {
  CUpti_ActivityKind kind;
  std::vector<unsigned char> bytes;

  template <class T>
  T as() const {
    T record{};
    std::memcpy(&record, bytes.data(), std::min(sizeof record, bytes.size()));
    return record;
  }
};

/// A client of the simulated CUPTI, as a profiler is one. One per process: CUPTI's callbacks know
/// no user data.
class CuptiClient {
 public:
  explicit CuptiClient(const std::string& version = "13", std::size_t buffer_bytes = 64 << 10) {
    instance() = this;
    buffer_bytes_ = buffer_bytes;
    const auto folder =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../sim/cupti";
    library_ = dlopen((folder / ("libcupti.so." + version)).c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
  }

  template <class... Arguments>
  CUptiResult call(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<CUptiResult (*)(Arguments...)>(dlsym(library_, name));
    EXPECT_NE(function, nullptr) << name;
    return function(arguments...);
  }

  bool has(const char* name) const { return dlsym(library_, name) != nullptr; }

  CUptiResult subscribe() {
    return call<CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*>("cuptiSubscribe", &subscriber,
                                                                    &CuptiClient::callback, this);
  }

  void start(const std::vector<CUpti_ActivityKind>& kinds) {
    call("cuptiActivityRegisterCallbacks", &CuptiClient::requested, &CuptiClient::completed);
    call("cuptiSetThreadIdType", CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    for (const CUpti_ActivityKind kind : kinds) {
      EXPECT_EQ(call("cuptiActivityEnable", kind), CUPTI_SUCCESS);
    }
  }

  void flush(std::uint32_t flags = 0) {
    EXPECT_EQ(call("cuptiActivityFlushAll", flags), CUPTI_SUCCESS);
  }

  std::vector<Seen> seen(CUpti_ActivityKind kind) {
    std::lock_guard lock(mutex_);
    std::vector<Seen> found;
    for (const Seen& record : records_) {
      if (record.kind == kind) {
        found.push_back(record);
      }
    }
    return found;
  }

  std::size_t dropped() const {
    std::size_t count = 0;
    const CUptiResult result = call<CUcontext, std::uint32_t, std::size_t*>(
        "cuptiActivityGetNumDroppedRecords", nullptr, 0, &count);
    EXPECT_EQ(result, CUPTI_SUCCESS);
    return count;
  }

  CUpti_SubscriberHandle subscriber = nullptr;
  std::function<void(CUpti_CallbackDomain, CUpti_CallbackId, const void*)> on_callback;
  std::function<void()> on_completed;
  std::vector<std::thread::id> requesters;  // who asked for buffers
  std::size_t misalignment = 0;
  bool gives_none = false;  // no buffer, however often it is asked for

 private:
  static CuptiClient*& instance() {
    static CuptiClient* client = nullptr;
    return client;
  }

  static void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    CuptiClient& self = *instance();
    std::lock_guard lock(self.mutex_);
    self.requesters.push_back(std::this_thread::get_id());
    if (self.gives_none) {
      *buffer = nullptr;
      *size = 0;
      return;
    }
    *buffer = static_cast<std::uint8_t*>(std::malloc(self.buffer_bytes_ + 8)) + self.misalignment;
    *size = self.buffer_bytes_;
    *records = 0;
  }

  static void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                 std::size_t valid) {
    CuptiClient& self = *instance();
    CUpti_Activity* record = nullptr;
    while (valid != 0 &&
           self.call("cuptiActivityGetNextRecord", buffer, valid, &record) == CUPTI_SUCCESS) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(record);
      const std::size_t left = valid - static_cast<std::size_t>(bytes - buffer);
      std::lock_guard lock(self.mutex_);
      self.records_.push_back({record->kind, {bytes, bytes + std::min<std::size_t>(left, 256)}});
    }
    std::free(buffer);
    if (self.on_completed) {
      self.on_completed();
    }
  }

  static void CUPTIAPI callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                const void* data) {
    if (const auto& wanted = static_cast<CuptiClient*>(self)->on_callback) {
      wanted(domain, id, data);
    }
  }

  void* library_ = nullptr;
  std::size_t buffer_bytes_;
  std::mutex mutex_;
  std::vector<Seen> records_;
};

/// Whether the body, in a process of its own, ends in the simulation's complaint.
template <class Body>
bool is_misuse(Body body) {
  scratch();  // made by this process, not by a child that cannot remove it
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/// Runs the body in a process of its own, with a truth file and a script of its own, and expects it
/// to end without a failure. Returns the truth.
template <class Body>
std::filesystem::path in_own_process(const std::string& test, const std::string& script,
                                     Body body) {
  const auto truth = scratch() / (test + ".truth");
  const auto script_path = scratch() / (test + ".yaml");
  std::ofstream(script_path) << script;
  const pid_t child = fork();
  if (child == 0) {
    setenv("SIMGPU_TRUTH", truth.c_str(), 1);
    setenv("SIMGPU_SCRIPT", script.empty() ? "" : script_path.c_str(), 1);
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return truth;
}

}  // namespace traceagent::sim_test
