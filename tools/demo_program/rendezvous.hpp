#pragma once

#include <string>

#include "tools/demo_program/ranks.hpp"

namespace traceagent::demo {

/// Gives rank 0's message to all ranks through files in a folder that all of them see. Files that
/// an earlier launch left there are recognized by their nonces and do no harm. Throws
/// std::runtime_error when the others do not come.
std::string exchange(const Ranks& ranks, const std::string& folder, const std::string& message);

/// The folder for this launch: the one asked for, or one in /dev/shm or TMPDIR.
std::string rendezvous_folder(const Ranks& ranks, const std::string& wanted);

}  // namespace traceagent::demo
