#pragma once

#include <string>

namespace traceagent::trace {

// "<what>: <path>: <why>: <remedy>" in one line, from an errno.
std::string file_problem(const char* what, const std::string& path, int error_number);
// The same of a trace that is read.
std::string reading_problem(const std::string& path, int error_number);

// Whose options the remedies name: the job's, or those of `traceagent merge`. Once, at the start.
enum class Wording { of_job, of_merge };
void word_file_problems(Wording whose);

}  // namespace traceagent::trace
