#pragma once

#include "agent/process/identity.hpp"
#include "config/name_template.hpp"

namespace traceagent::process {

struct Agent;

// Writes into the ring who this process is, so that its file can be written after its death.
void write_identity(Agent& agent);

config::NameVariables name_variables(const Identity& identity);

}  // namespace traceagent::process
