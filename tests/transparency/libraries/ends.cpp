// A plugin that finds at its start that it cannot work, and ends the program: within dlopen, whose
// lock is held.
#include <cstdlib>

[[gnu::constructor]] static void end() { std::exit(3); }
