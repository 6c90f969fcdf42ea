#include "agent/device/record_text.hpp"

#include <algorithm>
#include <cstring>

namespace traceagent::device {
namespace {

// CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind, CUpti_ActivitySynchronizationType.
constexpr std::array<std::string_view, 11> copy_kinds = {
    "<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::array<std::string_view, 8> memory_kinds = {
    "Unknown", "Pageable", "Pinned",        "Device",
    "Array",   "Managed",  "Device Static", "Managed Static"};
constexpr std::array<std::string_view, 5> synchronisations = {
    "Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
// CUpti_ActivityOverheadKind: the compiler is 1, CUPTI's own are multiples of 65,536.
constexpr std::array<std::string_view, 9> overheads = {"Overhead",
                                                       "Buffer Flush",
                                                       "Instrumentation",
                                                       "Resource",
                                                       "Runtime Triggered Module Loading",
                                                       "Lazy Function Loading",
                                                       "Command Buffer Full",
                                                       "Activity Buffer Request",
                                                       "UVM Activity Init"};

template <std::size_t count>
std::string_view entry_of(const std::array<std::string_view, count>& names, unsigned index) {
  return index < count ? names[index] : names[0];
}

std::string_view join(NameBuffer& buffer, std::initializer_list<std::string_view> parts) noexcept {
  std::size_t used = 0;
  for (const std::string_view part : parts) {
    const std::size_t size = std::min(part.size(), buffer.size() - used);
    std::memcpy(buffer.data() + used, part.data(), size);
    used += size;
  }
  return {buffer.data(), used};
}

}  // namespace

std::string_view copy_kind_name(unsigned kind) noexcept { return entry_of(copy_kinds, kind); }
std::string_view memory_kind_name(unsigned kind) noexcept { return entry_of(memory_kinds, kind); }
std::string_view synchronisation_name(unsigned type) noexcept {
  return entry_of(synchronisations, type);
}
std::string_view overhead_name(unsigned kind) noexcept {
  if (kind == 1) return "Driver Compiler";
  return entry_of(overheads, kind % 65536 == 0 ? kind / 65536 : 0);
}

std::string_view copy_name(unsigned kind, unsigned from, unsigned to, NameBuffer& buffer) noexcept {
  return join(buffer, {"Memcpy ", copy_kind_name(kind), " (", memory_kind_name(from), " -> ",
                       memory_kind_name(to), ")"});
}

std::string_view set_name(unsigned memory_kind, NameBuffer& buffer) noexcept {
  return join(buffer, {"Memset (", memory_kind_name(memory_kind), ")"});
}

std::string_view memory_name(bool is_release, unsigned memory_kind, NameBuffer& buffer) noexcept {
  return join(buffer, {is_release ? "Memory Release (" : "Memory Allocation (",
                       memory_kind_name(memory_kind), ")"});
}

void FactsText::append(std::string_view text) noexcept {
  const std::size_t size = std::min(text.size(), size_ - used_);
  std::memcpy(buffer_ + used_, text.data(), size);
  used_ += size;
}

void FactsText::append_number(std::int64_t value) noexcept {
  used_ = static_cast<std::size_t>(std::to_chars(buffer_ + used_, buffer_ + size_, value).ptr -
                                   buffer_);
}

void FactsText::begin(std::string_view key) noexcept {
  if (used_ != 0) append(",");
  append("\"");
  append(key);
  append("\":");
}

// One byte is always left, so that a full buffer is known for one that was cut.
void FactsText::end() noexcept {
  if (used_ < size_) kept_ = used_;
  used_ = kept_;
}

FactsText& FactsText::number(std::string_view key, std::int64_t value) noexcept {
  begin(key);
  append_number(value);
  end();
  return *this;
}

FactsText& FactsText::triple(std::string_view key,
                             const std::array<std::int32_t, 3>& values) noexcept {
  begin(key);
  for (std::size_t i = 0; i < values.size(); ++i) {
    append(i == 0 ? "[" : ",");
    append_number(values[i]);
  }
  append("]");
  end();
  return *this;
}

FactsText& FactsText::fraction(std::string_view key, double value) noexcept {
  begin(key);
  const auto hundredths = static_cast<std::int64_t>(value * 100 + 0.5);
  append_number(hundredths / 100);
  append(".");
  append_number(hundredths / 10 % 10);
  append_number(hundredths % 10);
  end();
  return *this;
}

}  // namespace traceagent::device
