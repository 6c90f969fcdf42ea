#pragma once
// The lock of the loader's list of objects, which dl_iterate_phdr and dlopen take. A child that was
// forked while another thread of the job had it never gets it back: glibc gives a child its other
// locks anew, this one not (seen with 2.36). The child is alive all the same as long as nobody goes
// through the list, so neither may we: who calls one function of CUDA in it would hang in ours.

#include <link.h>

#include <cstddef>

namespace traceagent::event {

// Finds the lock in the loader's own data, `bytes` from `data` on: it is the one that a thread has
// in its call of dl_iterate_phdr, and no longer has after it. Once, before any fork. Where it is
// not found (a libc that has another), nothing is ever stuck.
void learn_loader_lock(const void* data, std::size_t bytes) noexcept;

// Whether a thread has the lock that this process does not have. Keeps errno; no system call but
// getpid, unless in a forked child.
bool is_loader_stuck() noexcept;

// Why no library can be opened there.
inline constexpr char stuck_loader_in_words[] =
    "this process was forked while another thread had the loader's lock: no library can be opened "
    "in it";

// What dl_iterate_phdr does, without the lock. Only where it is stuck: then no thread can add an
// object or take one out. What is not in an object's head is left out: dlpi_adds and all behind.
int visit_stuck_objects(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) noexcept;

}  // namespace traceagent::event
