#include "tests/sim/truth/printer.hpp"

#include <algorithm>

namespace simgpu {

void print_lines(std::vector<Line> lines, std::ostream& out) {
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.begin_ns < b.begin_ns; });
  for (const Line& line : lines) {
    out << line.json << '\n';
  }
}

}  // namespace simgpu
