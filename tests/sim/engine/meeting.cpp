#include "tests/sim/engine/meeting.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "tests/sim/engine/meeting_memory.hpp"
#include "tests/sim/engine/rank.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu {
namespace {

MeetingMember* members(MeetingHeader* header) {
  return reinterpret_cast<MeetingMember*>(header + 1);
}

std::size_t cells_offset(int size) {
  return sizeof(MeetingHeader) + static_cast<std::size_t>(size) * sizeof(MeetingMember);
}

std::size_t pairs_offset(int size) {
  return cells_offset(size) +
         collective_ring * static_cast<std::size_t>(size) * sizeof(MeetingCell);
}

MeetingPair& pair(MeetingHeader* header, int size, int from, int to) {
  auto* pairs =
      reinterpret_cast<MeetingPair*>(reinterpret_cast<char*>(header) + pairs_offset(size));
  return pairs[from * size + to];
}

std::size_t meeting_bytes(int size) {
  return pairs_offset(size) +
         static_cast<std::size_t>(size) * static_cast<std::size_t>(size) * sizeof(MeetingPair);
}

std::string name_of(std::uint64_t hash) {
  char name[64];
  std::snprintf(name, sizeof name, "/simgpu-%016" PRIx64, hash);
  return name;
}

MeetingHeader* map(const std::string& name, std::size_t bytes) {
  const int descriptor = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    throw std::runtime_error("shared memory " + name + ": " + std::strerror(errno));
  }
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (base == MAP_FAILED) {
    throw std::runtime_error("shared memory " + name + ": " + std::strerror(errno));
  }
  return static_cast<MeetingHeader*>(base);
}

}  // namespace

Meeting::Meeting(std::uint64_t hash, int rank, int size, int device)
    : name_(name_of(hash)),
      rank_(rank),
      size_(size),
      bytes_(meeting_bytes(size)),
      header_(map(name_, bytes_)),
      next_pair_(static_cast<std::size_t>(size) * 2, 0) {
  std::uint32_t agreed = 0;
  header_->size.compare_exchange_strong(agreed, static_cast<std::uint32_t>(size));
  if (agreed != 0 && agreed != static_cast<std::uint32_t>(size)) {
    throw std::runtime_error("ranks of one communicator name different sizes");
  }
  MeetingMember& self = members(header_)[rank];
  if (self.joined.load() != 0) {
    throw std::runtime_error("two processes or threads are the same rank of one communicator");
  }
  self.global_rank = rank_of_process();
  self.device = device;
  self.pid = getpid();
  self.joined.store(1, std::memory_order_release);
}

Meeting::~Meeting() { munmap(header_, bytes_); }

bool Meeting::everyone_in() {
  for (int each = 0; each < size_; ++each) {
    if (members(header_)[each].joined.load(std::memory_order_acquire) == 0) {
      return false;
    }
  }
  if (!unlinked_) {
    unlinked_ = true;
    shm_unlink(name_.c_str());  // everyone has it open; whoever is second finds it gone
  }
  return true;
}

void Meeting::say(std::uint64_t round, std::int64_t first, std::int64_t second) {
  MeetingMember& self = members(header_)[rank_];
  self.said[round % 2][0] = first;
  self.said[round % 2][1] = second;
  self.said_round.store(round + 1, std::memory_order_release);
}

bool Meeting::exchanged(std::uint64_t round) {
  for (int each = 0; each < size_; ++each) {
    if (members(header_)[each].said_round.load(std::memory_order_acquire) <= round) {
      return false;
    }
  }
  return true;
}

std::pair<std::int64_t, std::int64_t> Meeting::said(std::uint64_t round, int rank) const {
  const auto& numbers = members(header_)[rank].said[round % 2];
  return {numbers[0], numbers[1]};
}

bool Meeting::idle() {
  std::lock_guard lock(mutex_);
  return open_collectives_.empty() && open_pairs_ == 0;
}

MeetingCell& Meeting::collective_cell(std::uint64_t seq, int rank) {
  auto* cells =
      reinterpret_cast<MeetingCell*>(reinterpret_cast<char*>(header_) + cells_offset(size_));
  return cells[(seq % collective_ring) * static_cast<std::uint64_t>(size_) +
               static_cast<std::uint64_t>(rank)];
}

MeetingCell& Meeting::pair_cell(int from, int to, std::uint64_t number, int side) {
  return pair(header_, size_, from, to).cells[number % pair_ring][side];
}

std::atomic<std::uint64_t>& Meeting::pair_settled(int from, int to, int side) {
  return pair(header_, size_, from, to).settled[side];
}

std::uint64_t Meeting::begin_collective() {
  std::lock_guard lock(mutex_);
  open_collectives_.insert(next_collective_);
  return next_collective_++;
}

std::uint64_t Meeting::begin_pair(int peer, bool sends) {
  std::lock_guard lock(mutex_);
  ++open_pairs_;
  return next_pair_[static_cast<std::size_t>(sends ? peer : size_ + peer)]++;
}

void Meeting::settle_collective(std::uint64_t seq) {
  std::lock_guard lock(mutex_);
  open_collectives_.erase(seq);
  const std::uint64_t below =
      open_collectives_.empty() ? next_collective_ : *open_collectives_.begin();
  members(header_)[rank_].settled.store(below, std::memory_order_release);
}

void Meeting::leave_pair() {
  std::lock_guard lock(mutex_);
  --open_pairs_;
}

// The ring's cell still holds a meeting that some rank has not read to the end?
bool Meeting::collective_cell_free(std::uint64_t seq) {
  if (seq < collective_ring) {
    return true;
  }
  for (int each = 0; each < size_; ++each) {
    const auto settled = members(header_)[each].settled.load(std::memory_order_acquire);
    if (settled <= seq - collective_ring) {
      return false;
    }
  }
  return true;
}

double Meeting::link_factor() const {
  double worst = 1;
  for (int from = 0; from < size_; ++from) {
    for (int to = 0; to < size_; ++to) {
      worst = std::max(worst, script().link_factor(members(header_)[from].global_rank,
                                                   members(header_)[to].global_rank));
    }
  }
  return worst;
}

double Meeting::link_factor(int peer) const {
  return script().link_factor(members(header_)[rank_].global_rank,
                              members(header_)[peer].global_rank);
}

}  // namespace simgpu
