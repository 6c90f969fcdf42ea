#include "tests/sim/engine/truth_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/sim/engine/rank.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::truth {
namespace {

constexpr std::uint64_t mapped_bytes = std::uint64_t{64} << 30;  // address space only
constexpr std::uint64_t grow_bytes = 1 << 20;
constexpr std::uint64_t grow_records = grow_bytes / sizeof(Record);

struct File {
  std::mutex mutex;
  std::atomic<char*> base{nullptr};
  std::atomic<bool> opened{false};  // or found not to be wanted
  std::atomic<std::uint64_t> capacity{0};
  int descriptor = -1;
  std::map<std::string, std::uint32_t, std::less<>> names;
  std::vector<const char*> texts;  // by id less one; the texts lie in names
};

// Leaked: calls may come from destructors that run after ours.
File*& file() {
  static File* instance = new File;
  return instance;
}

// The child of a fork writes a file of its own; the parent's mapping stays, untouched.
void forget_parent() {
  if (File* parent = file(); parent->descriptor >= 0) {
    close(parent->descriptor);
  }
  file() = new File;
}

std::string replace_all(std::string text, std::string_view key, const std::string& value) {
  for (auto at = text.find(key); at != std::string::npos; at = text.find(key, at)) {
    text.replace(at, key.size(), value);
    at += value.size();
  }
  return text;
}

std::string path_from(const char* pattern) {
  const std::string with_pid = replace_all(pattern, "{pid}", std::to_string(getpid()));
  return replace_all(with_pid, "{rank}", std::to_string(rank_of_process()));
}

[[noreturn]] void fail(const std::string& path) {
  std::fprintf(stderr, "simgpu: cannot write the truth file: %s: %s\n", path.c_str(),
               std::strerror(errno));
  std::abort();
}

void grow(File& to, std::uint64_t index) {
  std::lock_guard lock(to.mutex);
  while (index >= to.capacity.load(std::memory_order_relaxed)) {
    const std::uint64_t capacity = to.capacity.load(std::memory_order_relaxed) + grow_records;
    const std::uint64_t bytes = sizeof(TruthHeader) + capacity * sizeof(Record);
    if (ftruncate(to.descriptor, static_cast<off_t>(bytes)) != 0) {
      fail("grow");
    }
    char* grown = to.base.load(std::memory_order_relaxed) + (bytes - grow_bytes) / 4096 * 4096;
    madvise(grown, grow_bytes, MADV_POPULATE_WRITE);  // a hint: the caller touches its record
    to.capacity.store(capacity, std::memory_order_release);
  }
}

void write_header(char* base) {
  auto& header = *reinterpret_cast<TruthHeader*>(base);
  header.version = truth_version;
  header.record_bytes = sizeof(Record);
  header.pid = getpid();
  header.rank = rank_of_process();
  header.clock_offset_ns = script().clock_offset_ns;
  header.magic = truth_magic;
}

void open_file(File& to) {
  std::lock_guard lock(to.mutex);
  if (to.opened.load(std::memory_order_relaxed)) {
    return;
  }
  const char* pattern = std::getenv("SIMGPU_TRUTH");
  if (pattern != nullptr && *pattern != '\0') {
    const std::string path = path_from(pattern);
    to.descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (to.descriptor < 0 || ftruncate(to.descriptor, sizeof(TruthHeader)) != 0) {
      fail(path);
    }
    void* base = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      to.descriptor, 0);
    if (base == MAP_FAILED) {
      fail(path);
    }
    write_header(static_cast<char*>(base));
    to.base.store(static_cast<char*>(base), std::memory_order_relaxed);
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget_parent); });
  }
  to.opened.store(true, std::memory_order_release);
}

char* claim_slot(File& from) {
  char* base = from.base.load(std::memory_order_relaxed);
  auto& header = *reinterpret_cast<TruthHeader*>(base);
  const std::uint64_t index = header.claimed.fetch_add(1, std::memory_order_relaxed);
  if (index >= from.capacity.load(std::memory_order_acquire)) {
    grow(from, index);
  }
  return base + sizeof(TruthHeader) + index * sizeof(Record);
}

char* claim_if_wanted() {
  File& from = *file();
  if (!from.opened.load(std::memory_order_acquire)) {
    open_file(from);
  }
  return from.base.load(std::memory_order_relaxed) == nullptr ? nullptr : claim_slot(from);
}

void spell_out(std::uint32_t id, std::string_view name) {
  constexpr std::size_t room = sizeof(NameRecord::text);
  std::uint8_t part = 0;
  for (std::size_t at = 0; at < name.size(); at += room, ++part) {
    auto* record = reinterpret_cast<NameRecord*>(claim_if_wanted());
    if (record == nullptr) {
      return;
    }
    const std::string_view piece = name.substr(at, room);
    record->kind = RecordKind::name;
    record->part = part;
    record->length = static_cast<std::uint16_t>(piece.size());
    record->name = id;
    std::copy(piece.begin(), piece.end(), record->text);
    record->state.store(RecordState::closed, std::memory_order_release);
  }
}

}  // namespace

Record* claim() noexcept {
  char* slot = claim_if_wanted();
  if (slot == nullptr) {
    return nullptr;
  }
  auto* record = reinterpret_cast<Record*>(slot);
  record->unused[0] = 0;  // the page fault, if any, happens now and not at the end of the call
  return record;
}

std::uint32_t name_id(std::string_view name) {
  if (name.empty()) {
    return no_name;
  }
  File& in = *file();
  std::uint32_t id = no_name;
  {
    std::lock_guard lock(in.mutex);
    if (const auto found = in.names.find(name); found != in.names.end()) {
      return found->second;
    }
    id = static_cast<std::uint32_t>(in.names.size()) + 1;
    in.texts.push_back(in.names.emplace(name, id).first->first.c_str());
  }
  spell_out(id, name);
  return id;
}

const char* name_text(std::uint32_t id) {
  File& in = *file();
  std::lock_guard lock(in.mutex);
  return id == no_name || id > in.texts.size() ? "" : in.texts[id - 1];
}

}  // namespace simgpu::truth
