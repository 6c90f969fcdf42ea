#pragma once
// Two copies of one library in one process: a wheel's own libcudart beside the one that is loaded,
// an NCCL within libtorch beside libnccl.so.2. The loader ties each caller to one of them, but our
// wrappers stand before both and lead to one: what a caller made with its own copy (a kernel that
// is registered, a communicator) would be unknown there. So a caller that belongs to another copy
// than the one our wrappers lead to gets back, word by word, the addresses that it would have
// without us. It is not traced, and the coverage report says so.

#include <string>
#include <vector>

#include "agent/api/function.hpp"
#include "agent/door/targets.hpp"

namespace traceagent::door {

// Looks at what has been loaded since the last time; where that is nothing, it costs one call of
// dl_iterate_phdr. Before a wrapper has led to a copy it does nothing.
void give_back_other_copies() noexcept;
// The wrappers of one more library lead to a copy: nothing has been looked at yet.
void watch_for_other_copies() noexcept;

// For a call that has come through a wrapper all the same: the function of its own copy where the
// object that holds `caller` belongs to another than ours, else nullptr.
void* of_own_copy(Library library, api::Function function, const void* caller) noexcept;

// The paths of the objects that were given back what is theirs, also of those that have gone.
std::vector<std::string> callers_of_other_copies();

// True where the loader's memory of a caller could not be written, so that the calls of all come
// through our wrappers for ever: no target of this library may be kept.
bool must_tell_callers_apart(Library library) noexcept;

}  // namespace traceagent::door
