#include "agent/door/library_copies.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <span>

#include "agent/door/elf_tables.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/wrappers.hpp"
#include "agent/event/fork_hold.hpp"

namespace traceagent::door {
namespace {

// Whoever defines this one has the library's others.
constexpr const char* proof_of(Library library) noexcept {
  return library == Library::nccl ? "ncclGetUniqueId" : "cudaGetLastError";
}
// The driver is one, and may say under two addresses what is the same (wrappers.cpp).
constexpr std::array libraries_with_copies = {Library::cudart_11, Library::cudart_12,
                                              Library::cudart_13, Library::nccl};

struct Span {
  std::uintptr_t begin = 0, end = 0;
  bool has(const void* address) const noexcept {
    const auto byte = reinterpret_cast<std::uintptr_t>(address);
    return byte >= begin && byte < end;
  }
};

Span span_of(const dl_phdr_info& object) noexcept {
  Span span{UINTPTR_MAX, 0};
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    span.begin = std::min<std::uintptr_t>(span.begin, object.dlpi_addr + part.p_vaddr);
    span.end = std::max<std::uintptr_t>(span.end, object.dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  return span;
}

struct Copy {
  Span span;
  ElfTables tables;
};

// Of one library, those that the loader shows to us.
struct Copies {
  Library library;
  std::array<Copy, 8> all;
  std::size_t count = 0;
  const Copy* ours = nullptr;  // where the wrappers lead
  // Functions that are in the global scope are the same for all.
  std::array<bool, api::function_count> is_global{};

  explicit Copies(Library of) noexcept : library(of) {}
  const char* version() const noexcept {
    return library_names[static_cast<std::size_t>(library)].version;
  }
  // A definition without a version answers who asks for one.
  void* defined_by(const ElfTables& tables, const char* symbol) const noexcept {
    void* found = defined_in(tables, {symbol, version()});
    return found != nullptr || version() == nullptr ? found : defined_in(tables, {symbol, ""});
  }
  const Copy* with(const void* address) const noexcept {
    const auto* const end = all.begin() + count;
    const auto* const found =
        std::find_if(all.begin(), end, [&](const Copy& copy) { return copy.span.has(address); });
    return found != end ? found : nullptr;
  }
};

int collect(dl_phdr_info* object, std::size_t, void* data) noexcept {
  auto& copies = *static_cast<Copies*>(data);
  const Span span = span_of(*object);
  if (is_ours(reinterpret_cast<const void*>(span.begin))) return 0;
  const ElfTables tables = elf_tables(*object);
  if (copies.defined_by(tables, proof_of(copies.library)) == nullptr) return 0;
  copies.all[copies.count++] = {span, tables};
  return copies.count == copies.all.size() ? 1 : 0;
}

// An object that is tied to another copy. Written under the loader's lock, read without; where it
// lies and what it is called never change.
struct Caller {
  std::atomic<Library> library{Library::count};  // count: no more, it was unloaded
  std::atomic<const void*> copy{nullptr};        // an address within it
  Span span;
  std::array<char, 256> path{};

  bool is(Library which, const Span& other) const noexcept {
    return library.load(std::memory_order_acquire) == which && span.begin < other.end &&
           span.end > other.begin;
  }
};
constinit std::array<Caller, 64> callers{};
constinit std::atomic<std::size_t> caller_count{0};
constinit std::array<std::atomic<bool>, library_count> are_told_apart{};

std::span<Caller> noted_callers() noexcept {
  return {callers.data(), caller_count.load(std::memory_order_acquire)};
}

void forget_caller(Library library, const Span& span) noexcept {
  for (Caller& caller : noted_callers()) {
    if (caller.is(library, span)) caller.library.store(Library::count, std::memory_order_relaxed);
  }
}

bool is_the_same(const Caller& caller, const Span& span, const char* path) noexcept {
  return caller.span.begin == span.begin && caller.span.end == span.end &&
         is_same_text(caller.path.data(), path);
}

// More than there is room for are given back what is theirs all the same.
void note_caller(Library library, const Span& span, const Copy& copy, const char* path) noexcept {
  forget_caller(library, span);
  const std::span<Caller> noted = noted_callers();
  const auto known = std::find_if(noted.begin(), noted.end(), [&](const Caller& caller) {
    return is_the_same(caller, span, path);
  });
  const auto place = static_cast<std::size_t>(known - noted.begin());
  if (place == callers.size()) return;
  Caller& caller = callers[place];
  if (known == noted.end()) {
    caller.span = span;
    for (std::size_t i = 0; i + 1 < caller.path.size() && path[i] != '\0'; ++i) {
      caller.path[i] = path[i];
    }
  }
  caller.copy.store(reinterpret_cast<const void*>(copy.span.begin), std::memory_order_relaxed);
  caller.library.store(library, std::memory_order_release);
  if (known == noted.end()) caller_count.store(place + 1, std::memory_order_release);
}

// The copy to which the loader has tied an object, as far as it can be seen: by a function that we
// do not stand before; else by its own, or by the library that it names.
const Copy* copy_of(const Copies& copies, const Span& span, const ElfTables& tables) noexcept {
  const Copy* seen = nullptr;
  visit_bindings(tables, [&](const Binding& binding) {
    if (!span.has(*binding.word)) seen = copies.with(*binding.word);
    return seen != nullptr;
  });
  if (seen != nullptr) return seen;
  for (std::size_t i = 0; i < copies.count; ++i) {
    const Copy& copy = copies.all[i];
    if (copy.tables.base == tables.base || needs(tables, copy.tables.soname)) return &copy;
  }
  return nullptr;
}

// What a word of the object's must hold; nullptr: what it holds.
void* instead_of(const Copies& copies, const Copy& own, const Span& span,
                 const Binding& binding) noexcept {
  const api::Function function = find_function(binding.symbol);
  if (function == api::Function::none || copies.is_global[static_cast<std::size_t>(function)]) {
    return nullptr;
  }
  // Within the object: it is looked up at the first call, and would be found to be ours.
  const void* wrapper = wrapper_of(copies.library, function);
  if (wrapper == nullptr || (*binding.word != wrapper && !span.has(*binding.word))) return nullptr;
  return copies.defined_by(own.tables, binding.symbol);
}

// The part of an object that the loader makes read-only once it has written there.
Span read_only_part(const dl_phdr_info& object) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type != PT_GNU_RELRO) continue;
    const std::uintptr_t begin = object.dlpi_addr + part.p_vaddr;
    return {begin / page * page, (begin + part.p_memsz) / page * page};
  }
  return {};
}

bool protect(const Span& span, int protection) noexcept {
  if (span.begin >= span.end) return true;
  return mprotect(reinterpret_cast<void*>(span.begin), span.end - span.begin, protection) == 0;
}

// False where its memory cannot be written.
bool give_back(const Copies& copies, const Copy& own, const dl_phdr_info& object, const Span& span,
               const ElfTables& tables) noexcept {
  const auto each = [&](const auto& take) {
    return visit_bindings(tables, [&](const Binding& binding) {
      void* const given = instead_of(copies, own, span, binding);
      return given != nullptr && given != *binding.word && take(binding.word, given);
    });
  };
  if (!each([](void**, void*) { return true; })) return true;
  const Span locked = read_only_part(object);
  if (!protect(locked, PROT_READ | PROT_WRITE)) return false;
  // Other threads of the job may be calling through the word.
  each([](void** word, void* given) {
    __atomic_store_n(word, given, __ATOMIC_RELAXED);
    return false;
  });
  protect(locked, PROT_READ);
  return true;
}

int look_at_caller(dl_phdr_info* object, std::size_t, void* data) noexcept {
  const auto& copies = *static_cast<const Copies*>(data);
  const Span span = span_of(*object);
  if (is_ours(reinterpret_cast<const void*>(span.begin))) return 0;
  const ElfTables tables = elf_tables(*object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return 0;
  const Copy* const own = copy_of(copies, span, tables);
  if (own == nullptr || own == copies.ours) {
    forget_caller(copies.library, span);
    return 0;
  }
  const bool is_caller = visit_bindings(tables, [&](const Binding& binding) {
    return instead_of(copies, *own, span, binding) != nullptr;
  });
  if (!is_caller) return 0;
  note_caller(copies.library, span, *own, object->dlpi_name);
  if (!give_back(copies, *own, *object, span, tables)) {
    are_told_apart[static_cast<std::size_t>(copies.library)].store(true);
  }
  return 0;
}

void look_at_library(Library library) noexcept {
  Copies copies(library);
  dl_iterate_phdr(collect, &copies);
  copies.ours = copies.with(home(library));
  if (copies.count < 2 || copies.ours == nullptr) return;
  // Not from within dl_iterate_phdr, whose lock comes after dlsym's.
  for (std::size_t i = 0; i < api::function_count; ++i) {
    const auto function = static_cast<api::Function>(i);
    copies.is_global[i] = wrapper_of(library, function) != nullptr && is_global(library, function);
  }
  dl_iterate_phdr(look_at_caller, &copies);
  if (!must_tell_callers_apart(library)) return;
  for (Target& target : targets[static_cast<std::size_t>(library)]) target.store(nullptr);
}

int count_loads(dl_phdr_info* object, std::size_t, void* loads) noexcept {
  *static_cast<std::uint64_t*>(loads) = object->dlpi_adds;
  return 1;
}

constinit std::atomic<bool> is_watching{false};
constinit std::atomic<std::uint64_t> loads_seen{0};  // 0: none
// Somebody's dl_iterate_phdr, in place of the loader's, may call dlsym.
constinit thread_local bool is_looking __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

void watch_for_other_copies() noexcept {
  is_watching.store(true, std::memory_order_relaxed);
  loads_seen.store(0, std::memory_order_relaxed);
}

void give_back_other_copies() noexcept {
  if (!is_watching.load(std::memory_order_relaxed) || is_looking) return;
  is_looking = true;
  const int saved_errno = errno;
  {
    const event::ForkHold hold;
    std::uint64_t loads = 0;
    dl_iterate_phdr(count_loads, &loads);
    if (loads != loads_seen.load(std::memory_order_acquire)) {
      for (const Library library : libraries_with_copies) look_at_library(library);
      // Only now: another thread that has loaded something may not go on before.
      loads_seen.store(loads, std::memory_order_release);
    }
  }
  errno = saved_errno;
  is_looking = false;
}

void* of_own_copy(Library library, api::Function function, const void* caller) noexcept {
  const auto byte = reinterpret_cast<std::uintptr_t>(caller);
  for (const Caller& each : noted_callers()) {
    if (!each.is(library, {byte, byte + 1})) continue;
    return symbol_beside(each.copy.load(std::memory_order_relaxed),
                         api::name_of(function).symbol.data());
  }
  return nullptr;
}

std::vector<std::string> callers_of_other_copies() {
  std::vector<std::string> paths;
  for (const Caller& each : noted_callers()) paths.emplace_back(each.path.data());
  return paths;
}

bool must_tell_callers_apart(Library library) noexcept {
  return are_told_apart[static_cast<std::size_t>(library)].load(std::memory_order_relaxed);
}

}  // namespace traceagent::door
