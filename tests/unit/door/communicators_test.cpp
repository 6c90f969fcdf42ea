#include "agent/door/communicators.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "agent/door/nccl_calls.hpp"
#include "tests/unit/door/recording.hpp"

namespace traceagent::door {
namespace {

using event::Collective;

ncclComm_t next_comm() {
  static std::uintptr_t last = 0x7f0000000000;
  return reinterpret_cast<ncclComm_t>(last += 4096);
}

TEST(Communicators, AreKnownFromTheirBirthToTheirEnd) {
  Recording recording;
  const ncclComm_t comm = next_comm();
  const CommunicatorState* made = add_communicator(comm, 42, 8, 3);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(communicator_of(comm), made);
  const ring::Communicator& entry = recording.ring().header().communicators[made->slot - 1];
  EXPECT_EQ(entry.hash.load(), 42u);
  EXPECT_EQ(entry.size, 8);
  EXPECT_EQ(entry.rank, 3);
  remove_communicator(comm);
  EXPECT_EQ(communicator_of(comm)->hash.load(), 0u) << "seen again: another, made unseen";
  remove_communicator(comm);
  EXPECT_EQ(communicator_of(nullptr), nullptr);
}

TEST(Communicators, AnAddressUsedAgainCountsFromZero) {
  Recording recording;
  const ncclComm_t comm = next_comm();
  CommunicatorState* first = add_communicator(comm, 1, 4, 0);
  EXPECT_EQ(next_sequence(*first, Collective::all_reduce, -1), 0u);
  EXPECT_EQ(next_sequence(*first, Collective::send, 2), 0u);
  const std::uint32_t first_slot = first->slot;
  CommunicatorState* second = add_communicator(comm, 2, 4, 0);
  EXPECT_NE(second->slot, first_slot);
  EXPECT_EQ(next_sequence(*second, Collective::all_reduce, -1), 0u);
  EXPECT_EQ(next_sequence(*second, Collective::send, 2), 0u);
  remove_communicator(comm);
}

TEST(Sequences, CountCollectivesOfAllKindsTogether) {
  Recording recording;
  CommunicatorState* state = add_communicator(next_comm(), 1, 4, 0);
  EXPECT_EQ(next_sequence(*state, Collective::all_reduce, -1), 0u);
  EXPECT_EQ(next_sequence(*state, Collective::broadcast, 0), 1u);
  EXPECT_EQ(next_sequence(*state, Collective::all_gather, -1), 2u);
  take_back_sequence(*state, Collective::all_gather, -1);
  EXPECT_EQ(next_sequence(*state, Collective::reduce, 0), 2u) << "a refused call does not count";
}

TEST(Sequences, CountPointToPointByPeerAndDirection) {
  Recording recording;
  CommunicatorState* state = add_communicator(next_comm(), 1, 4, 0);
  for (std::uint64_t n = 0; n < 3; ++n) {
    for (int peer = 0; peer < 4; ++peer) {
      EXPECT_EQ(next_sequence(*state, Collective::send, peer), n);
      EXPECT_EQ(next_sequence(*state, Collective::receive, peer), n);
    }
  }
  EXPECT_EQ(next_sequence(*state, Collective::all_reduce, -1), 0u);
  take_back_sequence(*state, Collective::send, 3);
  EXPECT_EQ(next_sequence(*state, Collective::send, 3), 2u);
}

TEST(Sequences, SurviveAPeerThatDoesNotExist) {
  Recording recording;
  CommunicatorState* state = add_communicator(next_comm(), 1, 4, 0);
  for (const int peer : {-1, 4, 1 << 30}) {
    EXPECT_EQ(next_sequence(*state, Collective::send, peer), 0u);
    take_back_sequence(*state, Collective::send, peer);
  }
}

// NCCL gives the handle of a communicator that is gone to a new one, made by another thread, before
// the call that destroyed it has returned in ours.
TEST(Communicators, TheEndOfOneIsNotTheEndOfItsSuccessor) {
  Recording recording;
  const ncclComm_t comm = next_comm();
  const CommunicatorState* old = add_communicator(comm, 1, 4, 0);
  CommEndCall end(comm);
  end.before(no_communicator);
  event::Record record{};
  end.fill(record);
  EXPECT_EQ(record.extra, old->slot);
  CommunicatorState* next = add_communicator(comm, 2, 4, 0);
  end.after(ncclSuccess);
  EXPECT_EQ(communicator_of(comm), next);
  EXPECT_EQ(next->hash.load(), 2u);
  remove_communicator(comm);
}

TEST(Communicators, ARefusedEndChangesNothing) {
  Recording recording;
  const ncclComm_t comm = next_comm();
  CommunicatorState* state = add_communicator(comm, 7, 4, 0);
  EXPECT_EQ(next_sequence(*state, Collective::send, 2), 0u);
  CommEndCall end(comm);
  end.before(no_communicator);
  end.after(ncclInvalidUsage);
  EXPECT_EQ(communicator_of(comm), state);
  EXPECT_EQ(next_sequence(*state, Collective::send, 2), 1u);
  CommEndCall again(comm);
  again.before(no_communicator);
  again.after(ncclInProgress);
  EXPECT_EQ(communicator_of(comm)->hash.load(), 0u) << "gone";
  remove_communicator(comm);
  CommEndCall unknown(next_comm()), none(nullptr);
  unknown.before(no_communicator);
  unknown.after(ncclSuccess);
  none.before(no_communicator);
  none.after(ncclInvalidArgument);
}

// One rank's part of what all do; a rank is a handle of its own, as in a process of its own.
struct Rank {
  ncclComm_t world = next_comm();
  ncclComm_t split(int color) {
    ncclComm_t child = color >= 0 ? next_comm() : nullptr;
    CommSplitCall call(world, color, &child);
    call.after(ncclSuccess);
    return child;
  }
  ncclComm_t shrink(std::vector<int> excluded) {
    ncclComm_t child = next_comm();
    CommShrinkCall call(world, excluded.data(), static_cast<int>(excluded.size()), &child);
    call.after(ncclSuccess);
    return child;
  }
};

std::vector<Rank> make_world(int size) {
  static char seed = 0;
  ncclUniqueId id{};
  id.internal[0] = ++seed;
  std::vector<Rank> ranks(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) {
    CommInitCall call(&ranks[static_cast<std::size_t>(i)].world, size, i, &id);
    call.after(ncclSuccess);
  }
  return ranks;
}

std::uint64_t hash_of(ncclComm_t comm) { return communicator_of(comm)->hash.load(); }

TEST(Identity, IsEqualOnAllRanksAndUnlikeAnyOther) {
  Recording recording;
  auto first = make_world(4);
  auto second = make_world(4);
  for (const Rank& rank : first) EXPECT_EQ(hash_of(rank.world), hash_of(first[0].world));
  EXPECT_NE(hash_of(first[0].world), hash_of(second[0].world));
  EXPECT_NE(hash_of(first[0].world), 0u);
}

TEST(Identity, OfSplitsIsEqualWithinAColourOnly) {
  Recording recording;
  auto ranks = make_world(4);
  std::set<std::uint64_t> hashes = {hash_of(ranks[0].world)};
  for (int round = 0; round < 3; ++round) {
    std::vector<std::uint64_t> of_rank;
    for (std::size_t i = 0; i < 4; ++i) {
      of_rank.push_back(hash_of(ranks[i].split(static_cast<int>(i % 2))));
    }
    EXPECT_EQ(of_rank[0], of_rank[2]);
    EXPECT_EQ(of_rank[1], of_rank[3]);
    EXPECT_TRUE(hashes.insert(of_rank[0]).second) << "seen before, round " << round;
    EXPECT_TRUE(hashes.insert(of_rank[1]).second) << "seen before, round " << round;
  }
}

// A rank without a colour gets no communicator, but counts the split like all others.
TEST(Identity, OfLaterSplitsAgreesAfterOneThatLeftRanksOut) {
  Recording recording;
  auto ranks = make_world(3);
  ranks[0].split(0);
  ranks[1].split(NCCL_SPLIT_NOCOLOR);
  ranks[2].split(0);
  const std::uint64_t hash = hash_of(ranks[0].split(5));
  EXPECT_EQ(hash_of(ranks[1].split(5)), hash);
  EXPECT_EQ(hash_of(ranks[2].split(5)), hash);
}

TEST(Identity, OfAShrunkCommunicatorAgreesInAnyOrderOfTheExcluded) {
  Recording recording;
  auto ranks = make_world(4);
  const std::uint64_t hash = hash_of(ranks[0].shrink({2, 3}));
  EXPECT_EQ(hash_of(ranks[1].shrink({3, 2})), hash);
  EXPECT_NE(hash_of(ranks[1].shrink({3})), hash);
}

// Each time another one, also for a rank that was itself left out in between.
TEST(Identity, OfTheSameRanksLeftOutAgainIsAnother) {
  Recording recording;
  auto ranks = make_world(4);
  const std::uint64_t first = hash_of(ranks[0].shrink({2, 3}));
  ranks[0].shrink({1});
  const std::uint64_t second = hash_of(ranks[0].shrink({2, 3}));
  EXPECT_NE(second, first);
  EXPECT_EQ(hash_of(ranks[1].shrink({2, 3})), first);
  EXPECT_EQ(hash_of(ranks[1].shrink({2, 3})), second);
}

TEST(Identity, OfAChildOfOneThatIsNotKnownIsNotKnown) {
  Recording recording;
  Rank unseen;
  EXPECT_EQ(hash_of(unseen.split(3)), 0u);
  EXPECT_EQ(hash_of(unseen.shrink({1})), 0u);
}

// NCCL writes the job's variable when the group ends.
TEST(Identity, OfASplitInAGroupIsThatOfOneWithout) {
  Recording recording;
  auto ranks = make_world(2);
  const std::uint64_t wanted[] = {hash_of(ranks[0].split(1)), hash_of(ranks[0].split(2))};
  ncclComm_t children[3] = {};
  GroupCall(1).after(ncclSuccess);
  for (int i = 0; i < 3; ++i) {
    const int color = i < 2 ? i + 1 : NCCL_SPLIT_NOCOLOR;
    CommSplitCall(ranks[1].world, color, &children[i]).after(ncclSuccess);
  }
  children[0] = next_comm();
  children[1] = next_comm();
  GroupCall(-1).after(ncclSuccess);
  EXPECT_EQ(hash_of(children[0]), wanted[0]);
  EXPECT_EQ(hash_of(children[1]), wanted[1]);
  // One that was refused has made none, whatever stands in the variable.
  ncclComm_t refused = nullptr;
  GroupCall(1).after(ncclSuccess);
  CommSplitCall(ranks[1].world, 5, &refused).after(ncclSuccess);
  refused = next_comm();
  GroupCall(-1).after(ncclInvalidUsage);
  EXPECT_EQ(hash_of(refused), 0u);
}

TEST(Sequences, AreNotThoseOfOtherRanksAfterAGroupThatWasSimulated) {
  Recording recording;
  CommunicatorState* state = add_communicator(next_comm(), 1, 4, 0);
  EXPECT_EQ(next_sequence(*state, Collective::all_reduce, -1), 0u);
  EXPECT_EQ(next_sequence(*state, Collective::send, 1), 0u);
  GroupCall(1).after(ncclSuccess);
  GroupCall(1).after(ncclSuccess);
  GroupSimulateCall().after(ncclSuccess);
  EXPECT_EQ(next_sequence(*state, Collective::all_reduce, -1), 1u) << "an inner end does nothing";
  GroupSimulateCall().after(ncclInvalidUsage);
  EXPECT_EQ(next_sequence(*state, Collective::all_reduce, -1), 2u) << "refused";
  GroupCall(1).after(ncclSuccess);
  GroupSimulateCall().after(ncclSuccess);
  EXPECT_GE(next_sequence(*state, Collective::all_reduce, -1), event::sequence_lost);
  EXPECT_GE(next_sequence(*state, Collective::send, 1), event::peer_sequence_lost);
  CommunicatorState* later = add_communicator(next_comm(), 2, 4, 0);
  EXPECT_EQ(next_sequence(*later, Collective::all_reduce, -1), 0u);
}

TEST(Reductions, OfTheJobsOwnAreNoneOfNcclsOwn) {
  EXPECT_EQ(recorded_reduction(ncclAvg), ncclAvg);
  for (const int own : {5, 255, 256, 260, 0x7fffff00}) EXPECT_EQ(recorded_reduction(own), 254);
  EXPECT_EQ(recorded_reduction(no_reduction), 255);
}

TEST(Communicators, MoreThanTheTableHoldsAreCountedAndFollowed) {
  Recording recording;
  std::vector<ncclComm_t> comms;
  for (std::size_t i = 0; i < ring::communicator_slots + 10; ++i) {
    comms.push_back(next_comm());
    CommunicatorState* state = add_communicator(comms.back(), i + 1, 2, 0);
    ASSERT_NE(state, nullptr);
    EXPECT_EQ(state->slot == 0, i >= ring::communicator_slots);
    EXPECT_EQ(next_sequence(*state, Collective::all_reduce, -1), 0u);
  }
  EXPECT_EQ(recording.dropped(ring::DropCause::communicators_full), 10u);
  EXPECT_EQ(recording.ring().header().communicator_count.load(), ring::communicator_slots);
  for (const ncclComm_t comm : comms) remove_communicator(comm);
}

TEST(Communicators, ComeAndGoForEver) {
  Recording recording;
  const ncclComm_t steady = next_comm();
  add_communicator(steady, 7, 2, 0);
  for (int i = 0; i < 50'000; ++i) {
    const ncclComm_t comm = next_comm();
    ASSERT_NE(add_communicator(comm, 1, 2, 0), nullptr) << "after " << i;
    remove_communicator(comm);
  }
  EXPECT_EQ(hash_of(steady), 7u);
  remove_communicator(steady);
}

// 1,024 places: those of communicators that have gone are taken again, but not while a window that
// may show their calls has yet to be written.
TEST(Communicators, GiveTheirPlacesToOthersOnceWritten) {
  Recording recording;
  ring::Window& window = recording.ring().header().windows[0];
  window.begin_ticks = 1;
  window.state = ring::WindowState::closed;
  const ncclComm_t steady = next_comm();
  const std::uint32_t kept = add_communicator(steady, 7, 2, 0)->slot;
  std::set<std::uint32_t> slots;
  for (std::size_t i = 1; i < ring::communicator_slots; ++i) {
    const ncclComm_t comm = next_comm();
    slots.insert(add_communicator(comm, 1, 2, 0)->slot);
    remove_communicator(comm);
  }
  EXPECT_EQ(slots.size(), ring::communicator_slots - 1) << "none twice within a window";
  const ncclComm_t early = next_comm(), late = next_comm();
  EXPECT_EQ(add_communicator(early, 1, 2, 0)->slot, 0u);
  EXPECT_EQ(recording.dropped(ring::DropCause::communicators_full), 1u);

  window.state = ring::WindowState::written;
  const std::uint32_t slot = add_communicator(late, 42, 8, 3)->slot;
  EXPECT_TRUE(slots.contains(slot)) << slot;
  const ring::Communicator& entry = recording.ring().header().communicators[slot - 1];
  EXPECT_EQ(entry.hash.load(), 42u);
  EXPECT_EQ(entry.size, 8);
  EXPECT_EQ(recording.ring().header().communicators[kept - 1].hash.load(), 7u);
  EXPECT_EQ(recording.dropped(ring::DropCause::communicators_full), 1u);
  for (const ncclComm_t comm : {steady, early, late}) remove_communicator(comm);
}

TEST(Communicators, ANewRingKnowsThoseThatLive) {
  const ncclComm_t comm = next_comm();
  {
    Recording parents;
    add_communicator(comm, 4711, 4, 2);
  }
  Recording own;
  rewrite_communicators();
  const CommunicatorState* state = communicator_of(comm);
  ASSERT_NE(state->slot, 0u);
  EXPECT_EQ(own.ring().header().communicators[state->slot - 1].hash.load(), 4711u);
  remove_communicator(comm);
}

}  // namespace
}  // namespace traceagent::door
