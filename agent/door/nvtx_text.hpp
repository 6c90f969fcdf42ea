#pragma once
// NVTX's texts: registered strings, domains, wide characters.

#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <string_view>

namespace traceagent::door {

// Keeps a copy for the process's life and returns its handle, which serves as nvtxStringHandle_t
// and as nvtxDomainHandle_t; nullptr when there is no room for more (4,096 texts).
void* register_text(std::string_view text) noexcept;
// "" for what is no handle of ours.
std::string_view registered_text(const void* handle) noexcept;
// Offset of a domain's name in the ring; 0 for the default domain.
std::uint32_t domain_name_offset(const void* domain) noexcept;

// Wide characters as UTF-8, cut to `storage`.
std::string_view narrow(const wchar_t* text, char (&storage)[256]) noexcept;

// What a range or a mark says of itself. Not copyable: `text` may lie in `storage`.
struct RangeText {
  explicit RangeText(const char* message) noexcept {
    if (message != nullptr) text = message;
  }
  explicit RangeText(const wchar_t* message) noexcept : text(narrow(message, storage)) {}
  // Fields beyond `size` do not exist in the attributes of an older NVTX; all read here are in v2.
  explicit RangeText(const nvtxEventAttributes_t* attributes) noexcept;
  RangeText(const RangeText&) = delete;
  RangeText& operator=(const RangeText&) = delete;

  std::string_view text;
  std::uint32_t payload_type = NVTX_PAYLOAD_UNKNOWN;
  std::uint64_t payload = 0;
  std::uint64_t colour_and_category = 0;
  char storage[256];
};

}  // namespace traceagent::door
