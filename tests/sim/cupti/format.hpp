#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

/// What differs between the majors of CUPTI that this code plays.
namespace simgpu::cupti {

/// 13, 12 or 11: the one thing in which the builds of this library differ.
extern const std::uint16_t cupti_major;

/// As cuptiGetVersion says: 13.0 Update 1 (13.0 where the script says so), 12.4, 11.8.
std::uint32_t api_version();

/// How long a record of this kind is in the major's format, a multiple of 8; 0 for a kind that the
/// simulation does not write. Later formats go on where earlier ones end, so that the first bytes
/// of the newest are the older record.
std::size_t record_bytes(CUpti_ActivityKind kind);

/// Whether the header knows the kind: enabling any other is a misuse.
bool is_kind(CUpti_ActivityKind kind);

}  // namespace simgpu::cupti
