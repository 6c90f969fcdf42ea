#pragma once

namespace traceagent::tools {

// One line on standard error; takes no memory.
void say_out_of_memory() noexcept;

// The same of a standard output that took less than it was given.
void say_output_cut() noexcept;

// What cannot be caught (in libstdc++'s noexcept functions, while another exception is handled)
// ends the tool with that line and exit_bad_data, not with SIGABRT and libstdc++'s words.
void end_with_a_line_at_terminate() noexcept;

}  // namespace traceagent::tools
