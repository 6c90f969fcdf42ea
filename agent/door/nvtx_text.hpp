#pragma once
// NVTX's texts: registered strings, domains, wide characters.

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

}  // namespace traceagent::door
