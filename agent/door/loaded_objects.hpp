#pragma once
// Looking symbols up in loaded objects without going through dlsym, which we wrap ourselves.

#include <cstdint>

namespace traceagent::door {

// The address of `symbol` of this version (null: of any; "": without one) in the loaded object of
// this SONAME; "": in any that was loaded after our own: who stands before us has been asked by the
// loader, or is a tool that goes on to others. nullptr when it has none. Takes the loader's lock.
void* symbol_in_object(const char* soname, const char* symbol,
                       const char* version = nullptr) noexcept;

// The same, of any version, in the object that holds `address`.
void* symbol_beside(const void* address, const char* symbol) noexcept;

// Where the object that holds `address` lies. Unlike dladdr it does not go through all of its
// symbols, of which PyTorch's have a hundred thousand. Takes the loader's lock.
struct ObjectPlace {
  std::uintptr_t begin = 0, end = 0;
};
bool find_object(const void* address, ObjectPlace& place) noexcept;

// glibc's own dlsym, dlvsym; found once.
using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);
DlsymFunction true_dlsym() noexcept;
DlvsymFunction true_dlvsym() noexcept;
// What callers would have reached without us: those of another tool that stands behind us (some
// share out a GPU by it), or glibc's.
DlsymFunction next_dlsym() noexcept;
DlvsymFunction next_dlvsym() noexcept;

// Keeps the object that holds `address` loaded until the process ends, whatever the job closes: a
// wrapper's cached target must never point into a library that is gone.
void keep_loaded(const void* address) noexcept;

// False when it lies in an object of another namespace (dlmopen), where keep_loaded() does not
// reach, or in none. Takes the loader's lock.
bool is_in_our_namespace(const void* address) noexcept;

// The file of the object that holds `address`, as the loader knows it; "" for the program, whose
// name may be a title by now, and where there is none.
const char* path_of_object(const void* address) noexcept;

// Whether the loader has tied the object that holds `address` to our own function of the name.
bool is_tied_to_ours(const void* address, const char* symbol) noexcept;

// True when the address lies in this library. Takes no lock.
bool is_ours(const void* address) noexcept;

// True when it lies in an object whose file name says libcudart. Takes the loader's lock.
bool is_in_a_cudart(const void* address) noexcept;

// True when both lie in the same loaded object.
bool are_in_one_object(const void* first, const void* second) noexcept;

}  // namespace traceagent::door
