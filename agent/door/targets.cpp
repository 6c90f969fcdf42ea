#include "agent/door/targets.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "agent/door/loaded_objects.hpp"

namespace traceagent::door {

constinit std::array<std::array<Target, api::function_count>, library_count> targets{};

namespace {

// An address in the copy that was called first; nullptr: in the global scope, or none yet.
constinit std::array<std::atomic<void*>, library_count> homes{};

void* look_up(void* handle, const char* symbol, const char* version) noexcept {
  if (version != nullptr) {
    const DlvsymFunction with_version = true_dlvsym();
    return with_version != nullptr ? with_version(handle, symbol, version) : nullptr;
  }
  const DlsymFunction without_version = true_dlsym();
  return without_version != nullptr ? without_version(handle, symbol) : nullptr;
}

// What the caller would have got without us: the loader takes an unversioned definition too, so a
// tool that is preloaded behind us has its turn, but dlvsym does not.
void* next_after_us(const LibraryName& library, const char* symbol) noexcept {
  void* found = look_up(RTLD_NEXT, symbol, nullptr);
  const bool is_other_tool = found != nullptr && !is_ours(found) && !is_in_a_cudart(found);
  if (library.version == nullptr || is_other_tool) return found;
  return look_up(RTLD_NEXT, symbol, library.version);
}

void* in_loaded_library(const LibraryName& library, const char* symbol) noexcept {
  void* handle = dlopen(library.soname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = look_up(handle, symbol, library.version);
  // Simulated and future builds may leave their symbols unversioned.
  if (found == nullptr) found = look_up(handle, symbol, nullptr);
  dlclose(handle);
  return found;
}

void* home_of(Library library) noexcept {
  return homes[static_cast<std::size_t>(library)].load(std::memory_order_relaxed);
}

struct Found {
  void* address = nullptr;
  bool is_for_all = false;  // in the global scope
};

// Another tool wraps a function or two; who has this one has the library.
const char* proof_of(Library library) noexcept {
  return library == Library::nccl ? "ncclGetUniqueId" : "cudaGetLastError";
}

bool is_whole_copy(Library library, const void* address) noexcept {
  return symbol_beside(address, proof_of(library)) != nullptr;
}

bool is_in_global_scope(Library library) noexcept {
  const LibraryName& name = library_names[static_cast<std::size_t>(library)];
  const void* const found = next_after_us(name, proof_of(library));
  return found != nullptr && !is_ours(found);
}

// A copy that has come into the global scope after another was called: it is not for its callers.
bool is_later_copy(Library library, const void* next) noexcept {
  const void* const home = library != Library::cuda ? home_of(library) : nullptr;
  return home != nullptr && next != nullptr && !are_in_one_object(next, home) &&
         is_whole_copy(library, next);
}

// Whether a call from an object to itself comes here because the loader led it here: one NCCL
// function calls another. Not where a tool or a stub, which has the function too, goes on to the
// next one's: to lead it to itself would be a loop. It asks dlsym for that, mostly in the function
// of the name, and the loader has not tied it to us.
bool is_call_within(Library library, const char* symbol, const void* found,
                    const void* caller) noexcept {
  Dl_info place{};
  const bool is_named = dladdr(caller, &place) != 0 && place.dli_sname != nullptr;
  if (is_named && std::strcmp(place.dli_sname, symbol) == 0) return false;
  return is_tied_to_ours(caller, symbol) && is_whole_copy(library, found);
}

// As the loader does for a library of its own: itself, then breadth-first what it needs.
void* of_callers_own(Library library, api::Function function, const void* caller) noexcept {
  const LibraryName& name = library_names[static_cast<std::size_t>(library)];
  const char* symbol = api::name_of(function).symbol.data();
  // By dladdr1, though it goes through all of an object's symbols: it asks for no lock that a
  // forked child may never get.
  const char* const path = path_of_object(caller);
  void* handle = path[0] != '\0' ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (handle == nullptr) return nullptr;
  void* found = look_up(handle, symbol, name.version);
  if (found == nullptr) found = look_up(handle, symbol, nullptr);
  dlclose(handle);
  if (found == nullptr || is_ours(found)) return nullptr;
  if (!are_in_one_object(found, caller)) return found;
  return is_call_within(library, symbol, found, caller) ? found : nullptr;
}

// Nobody's: it is not in this version under whatever SONAME: wheels rename what they bundle
// (libcudart-d0da41ae.so.12), and who was linked to that goes by the version node, which stays.
// libtorch may carry NCCL within itself. A libcudart of another major is not the same function.
void* of_anybody(Library library, const char* symbol) noexcept {
  const LibraryName& name = library_names[static_cast<std::size_t>(library)];
  void* const home = home_of(library);
  void* found = home != nullptr ? symbol_beside(home, symbol) : nullptr;
  if (found == nullptr) found = in_loaded_library(name, symbol);
  if (found == nullptr || is_ours(found)) found = symbol_in_object(name.soname, symbol);
  if (found == nullptr && library != Library::cuda) {
    found = symbol_in_object("", symbol, name.version);
  }
  return found;
}

// What is in the global scope is for all, unless it came there after another copy was called: then
// it is for who has none of its own.
Found of_its_version(Library library, api::Function function, const void* caller) noexcept {
  const char* symbol = api::name_of(function).symbol.data();
  void* next = next_after_us(library_names[static_cast<std::size_t>(library)], symbol);
  if (next != nullptr && is_ours(next)) next = nullptr;
  const bool is_later = is_later_copy(library, next);
  if (next != nullptr && !is_later) return {next, true};
  void* found = nullptr;
  if (caller != nullptr && library != Library::cuda) {
    found = of_callers_own(library, function, caller);
  }
  if (found == nullptr) found = handed_out_for(library, function);
  if (found == nullptr) found = next;
  if (found == nullptr) found = of_anybody(library, symbol);
  return {found, false};
}

// What a caller means that asks for no version, which the loader takes to be our first: the next
// one of whatever version, or that of a library that carries libcudart within itself, or any.
void* of_no_version(const char* symbol) noexcept {
  void* found = look_up(RTLD_NEXT, symbol, nullptr);
  if (found != nullptr && !is_ours(found)) return found;
  found = symbol_in_object("", symbol, "");
  return found != nullptr ? found : symbol_in_object("", symbol);
}

// Not where one function alone is missing in the global scope: the library is for all.
void see_copy(Library library, void* found) noexcept {
  if (home_of(library) == nullptr && is_in_global_scope(library)) return;
  std::atomic<void*>& home = homes[static_cast<std::size_t>(library)];
  void* first = nullptr;
  if (home.compare_exchange_strong(first, found, std::memory_order_relaxed)) return;
  if (!are_in_one_object(first, found)) tell_apart(library);
}

void keep(Library library, api::Function function, const Found& found) noexcept {
  keep_loaded(found.address);
  if (!found.is_for_all && library != Library::cuda) see_copy(library, found.address);
  if (are_told_apart(library) || (makes_communicators(function) && !found.is_for_all)) return;
  target(library, function).store(found.address, std::memory_order_relaxed);
  // Another thread may have found a second copy meanwhile, and have emptied what it saw.
  if (are_told_apart(library)) target(library, function).store(nullptr, std::memory_order_relaxed);
}

void* find(Library library, api::Function function, bool is_called, const void* caller) noexcept {
  const int saved_errno = errno;
  const char* symbol = api::name_of(function).symbol.data();
  const bool is_versioned = library_names[static_cast<std::size_t>(library)].version != nullptr;
  Found found = of_its_version(library, function, caller);
  if (found.address == nullptr && is_called && is_versioned) found.address = of_no_version(symbol);
  // A look-up alone is no call, which would tell copies apart.
  const bool is_kept = is_called || is_of_first_copy(library, found.address);
  if (found.address != nullptr && is_kept) keep(library, function, found);
  dlerror();  // the failed look-ups are ours: the program must not read them
  errno = saved_errno;
  return found.address;
}

}  // namespace

// Each rank's first calls of NCCL: there is time to see whether who makes a communicator belongs to
// another copy.
bool makes_communicators(api::Function function) noexcept {
  using api::Function;
  return function == Function::ncclGetUniqueId || function == Function::ncclCommInitRank ||
         function == Function::ncclCommInitRankConfig || function == Function::ncclCommInitAll ||
         function == Function::ncclCommInitRankScalable;
}

bool has_copy(Library library) noexcept { return home_of(library) != nullptr; }

bool is_of_first_copy(Library library, const void* address) noexcept {
  const void* const home = home_of(library);
  return home == nullptr || are_in_one_object(home, address);
}

void* find_target(Library library, api::Function function) noexcept {
  return find(library, function, false, nullptr);
}

void* find_for_caller(Library library, api::Function function, const void* caller) noexcept {
  return find(library, function, true, caller);
}

void* find_called_target(Library library, api::Function function, const void* caller) noexcept {
  if (!are_told_apart(library)) return find(library, function, true, caller);
  void* found = known_of_caller(library, function, caller);
  if (found != nullptr) return found;
  found = find(library, function, true, caller);
  // What is remembered by an address must not be another object's one day.
  if (caller != nullptr) keep_loaded(caller);
  remember_of_caller(library, function, caller, found);
  return found;
}

}  // namespace traceagent::door
