#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <initializer_list>

#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/meeting.hpp"
#include "tests/sim/engine/meeting_memory.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu {
namespace {

std::int64_t cost_ns(std::uint64_t bytes, double factor) {
  const Script& speeds = script();
  const double transfer_ns = static_cast<double>(bytes) / speeds.nccl_bandwidth * 1e9;
  return static_cast<std::int64_t>((static_cast<double>(speeds.nccl_latency_ns) + transfer_ns) *
                                   factor);
}

std::uint64_t signature_of(const Label& label) {
  std::uint64_t hash = 1469598103934665603U;
  for (const std::uint64_t part :
       {std::uint64_t{label.function}, label.count, static_cast<std::uint64_t>(label.dtype),
        static_cast<std::uint64_t>(label.op), static_cast<std::uint64_t>(label.peer)}) {
    hash = (hash ^ part) * 1099511628211U;
  }
  return hash;
}

void fill(Record& record, const Label& label, std::uint64_t seq, const Meeting& meeting) {
  record.library = Library::nccl;
  record.function = label.function;
  record.comm_hash = label.comm_hash;
  record.comm_seq = seq;
  record.comm_rank = meeting.rank();
  record.comm_size = meeting.size();
  record.count = label.count;
  record.bytes = label.bytes;
  record.dtype = label.dtype;
  record.op = label.op;
  record.peer = label.peer;
}

void write(MeetingCell& cell, std::uint64_t seq, std::int64_t arrived_ns, std::uint64_t signature) {
  cell.arrived_ns = arrived_ns;
  cell.signature = signature;
  cell.stamp.store(seq + 1, std::memory_order_release);
}

bool present(const MeetingCell& cell, std::uint64_t seq) {
  return cell.stamp.load(std::memory_order_acquire) == seq + 1;
}

}  // namespace

class CollectivePart final : public Rendezvous {
 public:
  CollectivePart(std::shared_ptr<Meeting> meeting, const Label& label)
      : meeting_(std::move(meeting)), label_(label), seq_(meeting_->begin_collective()) {}

  ~CollectivePart() override {
    if (!end_ns_) {
      meeting_->settle_collective(seq_);
    }
  }

  bool arrive(std::int64_t start_ns) override {
    if (arrived_ || meeting_->aborted()) {
      return true;
    }
    const Script& faults = script();
    const bool lost = faults.never_arrives_from >= 0 &&
                      static_cast<std::int64_t>(seq_) >= faults.never_arrives_from;
    if (lost || !meeting_->collective_cell_free(seq_)) {
      return false;
    }
    const bool differs = static_cast<std::int64_t>(seq_) == faults.differs_at;
    write(meeting_->collective_cell(seq_, meeting_->rank()), seq_, start_ns,
          signature_of(label_) + (differs ? 1 : 0));
    arrived_ = true;
    return true;
  }

  std::optional<std::int64_t> end_ns() override {
    if (!end_ns_ && meeting_->aborted()) {
      finish(now_ns());
    } else if (!end_ns_ && everyone_arrived()) {
      finish(last_ns_ + cost_ns(label_.bytes, meeting_->link_factor()));
    }
    return end_ns_;
  }

  void describe(Record& record) const override { fill(record, label_, seq_, *meeting_); }

 private:
  bool everyone_arrived() {
    last_ns_ = 0;
    const MeetingCell& own = meeting_->collective_cell(seq_, meeting_->rank());
    for (int rank = 0; rank < meeting_->size(); ++rank) {
      const MeetingCell& cell = meeting_->collective_cell(seq_, rank);
      if (!present(cell, seq_)) {
        return false;
      }
      last_ns_ = std::max(last_ns_, cell.arrived_ns);
      if (cell.signature != own.signature) {
        complain(rank);
        return false;
      }
    }
    return true;
  }

  // As on real devices, ranks that call different collectives wait for ever. Real NCCL is silent.
  void complain(int rank) {
    if (!complained_) {
      complained_ = true;
      std::fprintf(stderr,
                   "simgpu: collective %" PRIu64 " of communicator %016" PRIx64
                   " differs between rank %d and rank %d: it will not end\n",
                   seq_, label_.comm_hash, meeting_->rank(), rank);
    }
  }

  void finish(std::int64_t end_ns) {
    end_ns_ = end_ns;
    meeting_->settle_collective(seq_);
  }

  std::shared_ptr<Meeting> meeting_;
  Label label_;
  std::uint64_t seq_;
  bool arrived_ = false;
  bool complained_ = false;
  std::int64_t last_ns_ = 0;
  std::optional<std::int64_t> end_ns_;
};

class PairPart final : public Rendezvous {
 public:
  PairPart(std::shared_ptr<Meeting> meeting, const Label& label, bool sends)
      : meeting_(std::move(meeting)),
        label_(label),
        side_(sends ? 0 : 1),
        from_(sends ? meeting_->rank() : label.peer),
        to_(sends ? label.peer : meeting_->rank()),
        number_(meeting_->begin_pair(label.peer, sends)) {}

  ~PairPart() override {
    if (!end_ns_) {
      meeting_->leave_pair();
    }
  }

  bool arrive(std::int64_t start_ns) override {
    if (arrived_ || meeting_->aborted()) {
      return true;
    }
    const auto settled = [this](int side) {
      return meeting_->pair_settled(from_, to_, side).load(std::memory_order_acquire);
    };
    if (number_ >= pair_ring && std::min(settled(0), settled(1)) <= number_ - pair_ring) {
      return false;
    }
    write(meeting_->pair_cell(from_, to_, number_, side_), number_, start_ns, label_.bytes);
    arrived_ = true;
    return true;
  }

  std::optional<std::int64_t> end_ns() override {
    if (end_ns_) {
      return end_ns_;
    }
    if (meeting_->aborted()) {
      finish(now_ns());
      return end_ns_;
    }
    const MeetingCell& sender = meeting_->pair_cell(from_, to_, number_, 0);
    const MeetingCell& receiver = meeting_->pair_cell(from_, to_, number_, 1);
    if (present(sender, number_) && present(receiver, number_)) {
      const std::int64_t last_ns = std::max(sender.arrived_ns, receiver.arrived_ns);
      finish(last_ns + cost_ns(sender.signature, meeting_->link_factor(label_.peer)));
    }
    return end_ns_;
  }

  void describe(Record& record) const override { fill(record, label_, number_, *meeting_); }

 private:
  void finish(std::int64_t end_ns) {
    end_ns_ = end_ns;
    auto& settled = meeting_->pair_settled(from_, to_, side_);
    settled.store(std::max(settled.load(), number_ + 1), std::memory_order_release);
    meeting_->leave_pair();
  }

  std::shared_ptr<Meeting> meeting_;
  Label label_;
  int side_;
  int from_;
  int to_;
  std::uint64_t number_;
  bool arrived_ = false;
  std::optional<std::int64_t> end_ns_;
};

std::unique_ptr<Rendezvous> collective_part(std::shared_ptr<Meeting> meeting, const Label& label) {
  return std::make_unique<CollectivePart>(std::move(meeting), label);
}

std::unique_ptr<Rendezvous> pair_part(std::shared_ptr<Meeting> meeting, const Label& label,
                                      bool sends) {
  return std::make_unique<PairPart>(std::move(meeting), label, sends);
}

}  // namespace simgpu
