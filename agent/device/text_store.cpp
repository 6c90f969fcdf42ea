#include "agent/device/text_store.hpp"

#include <sched.h>

#include <cstring>

#include "agent/event/hash.hpp"

namespace traceagent::device {
namespace {
constexpr std::size_t longest_name = 16383;  // what the ring keeps of one
}

TextStore::Locked::Locked(std::atomic<bool>& busy) noexcept : busy_(busy) {
  while (busy_.exchange(true, std::memory_order_acquire)) sched_yield();
}

TextStore::TextStore(ring::Ring ring)
    : ring_(ring),
      pointers_(std::make_unique<Pointer[]>(pointer_slots)),
      entries_(std::make_unique<Entry[]>(entry_slots)) {}

const TextStore::Entry* TextStore::find(std::uint64_t key) const noexcept {
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    const Entry& entry = entries_[(key + probe) % entry_slots];
    if (entry.key == key) return &entry;
    if (entry.key == 0) return nullptr;
  }
  return nullptr;
}

void TextStore::insert(std::uint64_t key, std::uint32_t offset) noexcept {
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    Entry& entry = entries_[(key + probe) % entry_slots];
    if (entry.key != 0) continue;
    entry = {key, offset};
    return;
  }
  // The table is bounded: the oldest neighbour's text may then be stored a second time.
  entries_[key % entry_slots] = {key, offset};
}

std::uint32_t TextStore::text_unlocked(std::string_view text) noexcept {
  if (text.empty()) return 0;
  if (text.size() > longest_name) text = text.substr(0, longest_name);
  const std::uint64_t key = event::hash_text(text) | 1;
  const Entry* known = find(key);
  if (known != nullptr && ring_.name(known->offset) == text) return known->offset;
  const std::uint32_t offset = ring_.add_name(text);
  if (offset != 0 && known == nullptr) insert(key, offset);
  return offset;
}

std::uint32_t TextStore::text(std::string_view text) noexcept {
  const Locked locked(busy_);
  return text_unlocked(text);
}

bool TextStore::holds(std::uint32_t offset, const char* text) const noexcept {
  const std::string_view stored = ring_.name(offset);
  return std::strncmp(stored.data(), text, stored.size()) == 0 &&
         (stored.size() == longest_name || text[stored.size()] == '\0');
}

std::uint32_t TextStore::name(const char* text) noexcept {
  if (text == nullptr || *text == '\0') return 0;
  const Locked locked(busy_);
  Pointer& pointer = pointers_[event::mix(reinterpret_cast<std::uintptr_t>(text)) % pointer_slots];
  if (pointer.text == text && holds(pointer.offset, text)) return pointer.offset;
  const std::uint32_t offset = text_unlocked({text, strnlen(text, longest_name)});
  if (offset != 0) pointer = {text, offset};
  return offset;
}

std::uint32_t TextStore::add_facts(std::uint64_t key, std::string_view text) noexcept {
  if (text.empty()) return 0;
  if (facts_used_ + text.size() > ring_.header().names_bytes / 4) {
    ring_.count_drop(ring::DropCause::names_full);
    return 0;
  }
  const std::uint32_t offset = text_unlocked(text);
  facts_used_ += text.size();
  if (offset != 0) insert(key, offset);
  return offset;
}

}  // namespace traceagent::device
