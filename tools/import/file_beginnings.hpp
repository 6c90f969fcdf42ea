#pragma once

#include "tools/import/foreign_file.hpp"

namespace traceagent::tools {

// Files that another one, of those that are taken, begins with: they were copied before that one
// was written to its end, or their copying was broken off. Plain ones alone: two that are
// compressed tell it only where they are inflated once more.
void leave_out_beginnings(ForeignFiles& files);

}  // namespace traceagent::tools
