#pragma once

#include <cstdint>
#include <string_view>

#include "tests/sim/engine/record.hpp"

/// The process's truth file, named by SIMGPU_TRUTH ({pid} and {rank} are filled in). It is mapped
/// shared, so that what was written survives a SIGKILL.
namespace simgpu::truth {

/// A fresh record, already touched, so that writing it costs no page fault; nullptr when no truth
/// is asked for. Creates the file at the first call.
Record* claim() noexcept;

/// The id of a name, spelled out in the file at its first use. Never no_name for a non-empty name.
std::uint32_t name_id(std::string_view name);
/// The name behind an id, for as long as the process lives; "" for no_name.
const char* name_text(std::uint32_t id);

}  // namespace simgpu::truth
