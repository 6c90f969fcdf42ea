#pragma once

#include <ostream>
#include <vector>

#include "tests/sim/truth/reader.hpp"

namespace simgpu {

/// Writes the lines in the order of their begin; lines of one instant keep their order.
void print_lines(std::vector<Line> lines, std::ostream& out);

}  // namespace simgpu
