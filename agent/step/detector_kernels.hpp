#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace traceagent::step {

/// Tells kernels that ran while a pattern was learned from others. What interrupts training tells
/// itself by them: an evaluation runs the kernels of the forward pass again, the optimizer that a
/// too short pattern left out has kernels of its own.
class KernelSet {
 public:
  KernelSet() : entries_(std::make_unique<Entry[]>(capacity)) {}

  /// The `ordinal`th launch of the job; whether its kernel is none of the known.
  bool note(std::uint64_t kernel, std::uint32_t ordinal) noexcept {
    Entry& entry = find(kernel);
    if (entry.kernel != kernel || entry.last == 0) {
      entry = {kernel, 0, epoch_, epoch_ == 0};
    } else if (entry.epoch != epoch_) {
      entry.known = entry.last > first_;
      entry.epoch = epoch_;
    }
    entry.last = ordinal + 1;
    return !entry.known;
  }

  /// From now on the kernels that have run since the `first`th launch are the known ones.
  void know_since(std::uint32_t first) noexcept {
    first_ = first;
    ++epoch_;
  }

 private:
  struct Entry {
    std::uint64_t kernel = 0;
    std::uint32_t last = 0;  ///< ordinal + 1; 0: free
    std::uint32_t epoch = 0;
    bool known = false;
  };
  static constexpr std::size_t capacity = 4096;
  static constexpr std::size_t tries = 8;

  /// The kernel's entry, or the one to give it: a full neighbourhood forgets its first.
  Entry& find(std::uint64_t kernel) noexcept {
    const std::uint64_t home = (kernel * 0x9e3779b97f4a7c15ULL) >> 52;
    for (std::size_t i = 0; i < tries; ++i) {
      Entry& entry = entries_[(home + i) % capacity];
      if (entry.last == 0 || entry.kernel == kernel) return entry;
    }
    return entries_[home];
  }

  std::unique_ptr<Entry[]> entries_;
  std::uint32_t first_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace traceagent::step
