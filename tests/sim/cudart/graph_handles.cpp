#include "tests/sim/cudart/graph_handles.hpp"

#include <map>
#include <mutex>

namespace simgpu::cudart {
namespace {

template <class T>
class Handles {
 public:
  void* add(std::shared_ptr<T> object) {
    std::lock_guard lock(mutex_);
    void* key = object.get();
    objects_[key] = std::move(object);
    return key;
  }

  std::shared_ptr<T> find(const void* key) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second;
  }

  bool remove(const void* key) {
    std::lock_guard lock(mutex_);
    return objects_.erase(key) != 0;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<T>> objects_;
};

Handles<Graph>& graphs() {
  static auto* instance = new Handles<Graph>;
  return *instance;
}

Handles<GraphExec>& execs() {
  static auto* instance = new Handles<GraphExec>;
  return *instance;
}

}  // namespace

cudaGraph_t add_graph(std::shared_ptr<Graph> graph) {
  return static_cast<cudaGraph_t>(graphs().add(std::move(graph)));
}

std::shared_ptr<Graph> graph_of(cudaGraph_t handle) { return graphs().find(handle); }

bool remove_graph(cudaGraph_t handle) { return graphs().remove(handle); }

cudaGraphExec_t add_exec(const Graph& graph, unsigned long long flags) {
  return static_cast<cudaGraphExec_t>(
      execs().add(std::make_shared<GraphExec>(GraphExec{graph, flags})));
}

std::shared_ptr<GraphExec> exec_of(cudaGraphExec_t handle) { return execs().find(handle); }

bool remove_exec(cudaGraphExec_t handle) { return execs().remove(handle); }

}  // namespace simgpu::cudart
