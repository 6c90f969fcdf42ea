#pragma once
// Two copies of one library in one process: a wheel's own libcudart beside the one that is loaded,
// an NCCL beside another. The loader ties each caller to one of them, but all come through the same
// wrapper; and what a caller made with its own copy (a kernel that is registered, a communicator)
// is unknown to the other. So where two copies are seen to be called, no target is kept any more:
// each call is told by where it returns to, and goes to its own.
//
// Who has no copy of its own, having asked our dlsym for a function, gets what that handed out: a
// stub that opens the library itself has the function too, and must not be led to itself.
//
// They are seen at each library that registers kernels, at each communicator that is made, and at
// the first call of each function. Not seen are
//   - who has no kernels and calls nothing of its own libcudart that others have not called before:
//     it stays with the first copy, which knows the same devices, contexts and streams;
//   - who has the library within itself, as libtorch may have NCCL;
//   - who ends with a jump to the library (return ncclGroupEnd();): its caller is taken for it;
//   - a stub that calls its own functions by name, and from a function of its own goes on to what
//     RTLD_DEFAULT gives: it is taken for a copy, and led to itself for ever;
//   - a tool before us that asks for the next one's: it gets a copy that somebody has for himself,
//     where it would have been told that there is none.
//
// Rejected: to write the addresses back into the caller's memory. It is the loader's: another
// thread may be binding it, and it may be read-only for more reasons than RELRO.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/api/function.hpp"

namespace traceagent::door {

enum class Library : std::uint8_t;

// Where the call returns to that found no target: written by the wrapper, read by its slow way.
extern constinit thread_local const void* calling __attribute__((tls_model("initial-exec")));

bool are_told_apart(Library library) noexcept;
void tell_apart(Library library) noexcept;
void note_handed_out(Library library, api::Function function, void* target) noexcept;
// nullptr: its wrapper was not handed out.
void* handed_out_for(Library library, api::Function function) noexcept;

// What the callers of libraries that are told apart have been found to call. nullptr: not known.
void* known_of_caller(Library library, api::Function function, const void* caller) noexcept;
// Where there is no room it is looked up at each call.
void remember_of_caller(Library library, api::Function function, const void* caller,
                        void* found) noexcept;

// A module of kernels and who registered it. What ends it is called from anywhere (atexit).
void remember_module(void** module, void* unregister) noexcept;
// nullptr: registered before any copies were told apart, or there was no room.
void* unregister_of(void** module) noexcept;

}  // namespace traceagent::door
