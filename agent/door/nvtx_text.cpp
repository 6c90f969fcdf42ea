#include "agent/door/nvtx_text.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "agent/door/interned_text.hpp"

namespace traceagent::door {
namespace {

struct Registered {
  std::uint32_t length;
  char text[124];  // longer ones are cut
};
constexpr std::size_t slots = 4096;
constinit std::array<Registered, slots> registered{};
constinit std::atomic<std::size_t> used{0};

const Registered* find(const void* handle) noexcept {
  const auto* entry = static_cast<const Registered*>(handle);
  // Handles come back from the job: only what lies in our table is read.
  return entry >= registered.data() && entry < registered.data() + slots ? entry : nullptr;
}

std::size_t put_utf8(char* to, std::uint32_t code) noexcept {
  if (code < 0x80) {
    to[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    to[0] = static_cast<char>(0xc0 | code >> 6);
    to[1] = static_cast<char>(0x80 | (code & 0x3f));
    return 2;
  }
  if (code < 0x10000) {
    to[0] = static_cast<char>(0xe0 | code >> 12);
    to[1] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
    to[2] = static_cast<char>(0x80 | (code & 0x3f));
    return 3;
  }
  to[0] = static_cast<char>(0xf0 | (code >> 18 & 7));
  to[1] = static_cast<char>(0x80 | (code >> 12 & 0x3f));
  to[2] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
  to[3] = static_cast<char>(0x80 | (code & 0x3f));
  return 4;
}

}  // namespace

void* register_text(std::string_view text) noexcept {
  const std::size_t index = used.fetch_add(1, std::memory_order_relaxed);
  if (index >= slots) return nullptr;
  Registered& entry = registered[index];
  entry.length = static_cast<std::uint32_t>(std::min(text.size(), sizeof entry.text));
  std::memcpy(entry.text, text.data(), entry.length);
  return &entry;
}

std::string_view registered_text(const void* handle) noexcept {
  const Registered* entry = find(handle);
  return entry != nullptr ? std::string_view(entry->text, entry->length) : std::string_view();
}

std::uint32_t domain_name_offset(const void* domain) noexcept {
  return domain == nullptr ? 0 : intern(registered_text(domain));
}

std::string_view narrow(const wchar_t* text, char (&storage)[256]) noexcept {
  std::size_t used_bytes = 0;
  for (; text != nullptr && *text != L'\0' && used_bytes + 4 <= sizeof storage; ++text) {
    used_bytes += put_utf8(storage + used_bytes, static_cast<std::uint32_t>(*text));
  }
  return {storage, used_bytes};
}

RangeText::RangeText(const nvtxEventAttributes_t* attributes) noexcept {
  if (attributes == nullptr) return;
  colour_and_category = attributes->color | std::uint64_t{attributes->category} << 32;
  payload_type = static_cast<std::uint32_t>(attributes->payloadType);
  std::memcpy(&payload, &attributes->payload, sizeof payload);
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      if (attributes->message.ascii != nullptr) text = attributes->message.ascii;
      break;
    case NVTX_MESSAGE_TYPE_UNICODE:
      text = narrow(attributes->message.unicode, storage);
      break;
    case NVTX_MESSAGE_TYPE_REGISTERED:
      text = registered_text(attributes->message.registered);
      break;
    default:
      break;
  }
}

}  // namespace traceagent::door
