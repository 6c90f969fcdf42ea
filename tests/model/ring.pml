/* The ring of agent/ring as a model that spin searches: how chunks change hands, how records are
 * published and their ends patched, and what is found when the process is killed at any moment.
 * README.md says which code each part stands for, what is left out, and which mutations were tried.
 * Memory is sequentially consistent here: what a killed process leaves behind on x86 is what its
 * threads had stored, in program order. What no other thread can tell apart is one step.
 *
 * OVERWRITE   ring.full: overwrite; else drop
 * HANDLER     calls of a signal handler that may interrupt thread 0 anywhere; else none
 * BREAK       the number of a mutation
 */
#ifndef BREAK
#define BREAK 0
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef CHUNKS
#define CHUNKS 2
#endif
#ifndef CALLS
#define CALLS 3 /* of thread 0; one less of thread 1 */
#endif
#ifndef ROUNDS
#define ROUNDS 1 /* windows that the drain writes while threads record; one more at the end */
#endif
#define SLOTS 2
#define ATTEMPTS 2 /* of an overwriting thread; the last takes even a chunk with a call in flight */

#define FREE 0
#define OWNED 1
#define RETIRED 2
#define NONE 255
#define DRAIN 100

#define BIT(tick) (1 << (tick))
#define HAS(set, tick) ((set) & BIT(tick))

typedef Chunk {
  byte state;
  byte claim; /* claim_number; 0: between two owners */
  byte begin[SLOTS]; /* the tick of the call, which is its identity here; 0: not published */
  byte field[SLOTS]; /* what else the record says: the tick again */
  byte ended[SLOTS];
}
Chunk chunk[CHUNKS];
byte next_claim = 0;
short free_chunks = CHUNKS;

/* The writers' thread-local state: Writer::chunk, ::next and ::filling. */
byte mine[THREADS] = NONE;
byte slot[THREADS] = SLOTS;
bit filling[THREADS]; /* from before a slot is claimed until its record is published */

/* Calls that began in [window_begin, now) are the open window's; those before it are in files. */
byte window_begin = 1;
bit overwrite = 0;

/* What the properties are stated with; no code reads it. */
byte clock = 0;
short published = 0, lost = 0, overwritten = 0, staged = 0, written = 0; /* sets of ticks */
byte user[CHUNKS]; /* 1 + the thread that may write there, DRAIN */
byte writing[THREADS]; /* the tick of a call that is not published yet */
byte handler_tick = 0;
byte claiming = 0; /* threads that claim, having seen `overwrite` */
byte running = THREADS;
byte interrupted = 0, first_writer = 0; /* numbers of processes */

/* Only within a step. */
hidden byte i;
hidden byte tick;
hidden short seen;

#define each_slot i = 0; do :: i < SLOTS ->
#define each_chunk i = 0; do :: i < CHUNKS ->
#define next i++ :: else -> break od; i = 0

/* --- the kill ------------------------------------------------------------------------------ */
/* After every step that changes what others see: what another process would find now. */
inline find_records(c) {
  if
  :: chunk[c].claim == 0
  :: else ->
     each_slot
       tick = chunk[c].begin[i];
       if
       :: tick != 0 && tick >= window_begin ->
          assert(chunk[c].field[i] == tick); /* no half-written record is read as whole */
          assert(HAS(published, tick) && !HAS(seen, tick));
          seen = seen | BIT(tick)
       :: else
       fi;
     next
  fi
}

inline kill_here() {
  seen = 0;
  find_records(0);
  find_records(1);
#if CHUNKS > 2
  find_records(2);
#endif
  assert((seen & written) == 0); /* none is read twice */
  assert((published & ~(seen | written | overwritten)) == 0) /* no published record is lost */
}

/* --- chunks -------------------------------------------------------------------------------- */
inline take_ownership(c, expected, who) { /* compare_exchange */
  if
  :: chunk[c].state == expected ->
     chunk[c].state = OWNED;
     assert(user[c] == 0); /* no chunk is given to two */
     user[c] = who
  :: else -> c = NONE
  fi
}

inline retire(c) { chunk[c].state = RETIRED; user[c] = 0 }

/* memset knows no order: a record may lose its fields before its begin. */
inline clear(c) {
#if BREAK != 1
  d_step { chunk[c].claim = 0; kill_here() };
#endif
  d_step { each_slot chunk[c].field[i] = 0; next; kill_here() };
  d_step {
    each_slot chunk[c].begin[i] = 0; chunk[c].ended[i] = 0; next;
    chunk[c].claim = 0;
    kill_here()
  }
}

inline look_in_flight(c) {
  found = 0;
  each_slot
    if :: chunk[c].begin[i] != 0 && chunk[c].ended[i] == 0 -> found = 1 :: else fi;
  next
}

inline take_free(who) {
  d_step {
    c = NONE;
    each_chunk
      if :: free_chunks != 0 && c == NONE && chunk[i].state == FREE -> c = i :: else fi;
    next;
    if :: c != NONE -> take_ownership(c, FREE, who) :: else fi
  };
  if
  :: c == NONE
  :: else -> free_chunks--
  fi
}

inline oldest_retired() {
  c = NONE;
  each_chunk
    if
    :: chunk[i].state == RETIRED && chunk[i].claim > after &&
       (c == NONE || chunk[i].claim < chunk[c].claim) -> c = i
    :: else
    fi;
  next;
  if :: c != NONE -> after = chunk[c].claim :: else fi
}

inline count_overwritten(c) {
#if BREAK != 2
  each_slot
    tick = chunk[c].begin[i];
    if :: tick != 0 && tick >= window_begin -> overwritten = overwritten | BIT(tick) :: else fi;
  next
#else
  skip
#endif
}

inline take_over_oldest(who) {
  d_step { attempt = 1; after = 0 };
  do
  :: attempt <= ATTEMPTS ->
     d_step { oldest_retired() };
     if
     :: c == NONE -> break
     :: else -> d_step { take_ownership(c, RETIRED, who); if :: c != NONE -> look_in_flight(c) :: else fi }
     fi;
     if
     :: c == NONE
     :: c != NONE && found && attempt < ATTEMPTS -> d_step { retire(c); c = NONE }
     :: c != NONE && (!found || attempt == ATTEMPTS) ->
        d_step { count_overwritten(c) };
        clear(c);
        break
     fi;
     attempt++
  :: else -> break
  od;
  attempt = 0;
  d_step { after = 0; found = 0 }
}

/* --- a thread's call ----------------------------------------------------------------------- */
inline next_in_new_chunk(w) {
  d_step { c = mine[w]; mine[w] = NONE };
  d_step { if :: c != NONE -> retire(c); c = NONE :: else fi };
  take_free(1 + w);
#ifdef OVERWRITE
  if
  :: c == NONE && overwrite -> claiming++; take_over_oldest(1 + w); claiming--
  :: c != NONE || !overwrite
  fi;
#endif
  if
  :: c == NONE
  :: else -> /* take(), adopt() */
     d_step {
       next_claim++;
       chunk[c].claim = next_claim;
       mine[w] = c;
       slot[w] = 0;
       c = NONE;
       kill_here()
     }
  fi
}

inline publish(w, t, unpublished) {
  d_step {
    assert(user[at_chunk] == 1 + w);
    chunk[at_chunk].begin[at_slot] = t;
    published = published | BIT(t);
    unpublished = 0;
    kill_here()
  }
}

inline record(w, t, unpublished) {
  d_step { clock++; t = clock; unpublished = t };
  if
#if BREAK != 8
  :: filling[w] -> d_step { at_chunk = NONE; lost = lost | BIT(t); unpublished = 0 }
  :: atomic { !filling[w] -> filling[w] = 1 };
     fill(w, t, unpublished);
     filling[w] = 0
#else
  :: fill(w, t, unpublished)
#endif
  fi
}

inline fill(w, t, unpublished) {
  if
  :: slot[w] == SLOTS -> next_in_new_chunk(w)
  :: slot[w] != SLOTS
  fi;
  d_step {
    at_chunk = mine[w];
    at_slot = slot[w];
    if
    :: slot[w] != SLOTS ->
       slot[w] = slot[w] + 1;
#if BREAK != 3
       assert(user[at_chunk] == 1 + w);
       chunk[at_chunk].field[at_slot] = t
#endif
    :: else -> at_chunk = NONE; lost = lost | BIT(t); unpublished = 0
    fi
  };
  if
  :: at_chunk == NONE
  :: else ->
     publish(w, t, unpublished);
#if BREAK == 3
     chunk[at_chunk].field[at_slot] = t
#endif
  fi
}

/* The slot may be another call's by now: only where it is not is the end patched. */
inline patch_end(t, to_chunk, to_slot) {
  if
  :: to_chunk == NONE
  :: to_chunk != NONE ->
#if BREAK == 4
     assert(chunk[to_chunk].begin[to_slot] == t); /* no call ends another's record */
#endif
     if :: chunk[to_chunk].begin[to_slot] == t -> chunk[to_chunk].ended[to_slot] = 1 :: else fi
  fi
}

/* A first call that lasts until all the others are over, within which they are made. */
proctype writer(byte w) provided (_pid != interrupted) {
  byte c = NONE, attempt, after, t, at_chunk, at_slot, outer, outer_chunk, outer_slot, calls;
  bit found;
  record(w, t, writing[w]);
  d_step { outer = t; outer_chunk = at_chunk; outer_slot = at_slot; calls = 1 };
  do
  :: calls < CALLS - w ->
     record(w, t, writing[w]);
     d_step { patch_end(t, at_chunk, at_slot); calls++ }
  :: else -> break
  od;
  calls = 0;
  d_step {
    patch_end(outer, outer_chunk, outer_slot);
    outer = 0; outer_chunk = 0; outer_slot = 0; t = 0; at_chunk = 0; at_slot = 0
  };
  d_step { /* give_back_chunk(), the thread's end */
    if :: mine[w] != NONE -> c = mine[w]; mine[w] = NONE; retire(c) :: else fi;
    c = NONE;
    running--
  }
}

#ifdef HANDLER
/* Runs in thread 0, at any moment of it, to its end. */
proctype handler() {
  byte c = NONE, attempt, after, t, at_chunk, at_slot, calls;
  bit found;
  if
  :: atomic { running == THREADS -> interrupted = first_writer };
     do
     :: calls < HANDLER ->
        record(0, t, handler_tick);
        d_step { patch_end(t, at_chunk, at_slot); calls++ }
     :: else -> break
     od;
     interrupted = 0
  :: running < THREADS
  fi
}
#endif

/* --- the drain ----------------------------------------------------------------------------- */
/* Every published record that began within the window. */
inline read_chunk(m) {
  k = 0;
  do
  :: k < SLOTS ->
     d_step {
       tick = chunk[m].begin[k];
       if :: chunk[m].claim != 0 && tick >= window_begin && tick < until -> b = tick :: else -> b = 0 fi;
       k++
     };
     d_step {
       if
       :: b != 0 ->
          assert(chunk[m].field[k - 1] == b); /* no half-written record is read as whole */
          assert(!HAS(staged, b)); /* none is read twice */
          staged = staged | BIT(b)
       :: else
       fi;
       b = 0
     }
  :: else -> break
  od;
  k = 0
}

inline look_if_done(c) {
  look_in_flight(c);
  each_slot if :: chunk[c].begin[i] >= window_begin -> found = 1 :: else fi; next
}

inline free_done(m) {
  c = m;
  d_step {
    if :: chunk[c].state == RETIRED -> look_if_done(c) :: else -> found = 1 fi;
    if :: found -> c = NONE :: else fi;
    found = 0
  };
  if
  :: c == NONE
  :: else ->
     d_step { take_ownership(c, RETIRED, DRAIN) };
     if
     :: c == NONE
     :: else ->
#if BREAK != 5
        d_step { /* again: it may have gone round to other records meanwhile */
          look_if_done(c);
          if :: found -> retire(c); c = NONE :: else fi;
          found = 0
        };
#endif
        if
        :: c == NONE
        :: else ->
           clear(c);
           d_step { user[c] = 0; chunk[c].state = FREE; c = NONE };
#if BREAK != 6
           free_chunks++
#endif
        fi
     fi
  fi
}

#define settled(u)                                            \
  ((writing[0] == 0 || writing[0] >= u) &&                    \
   (writing[THREADS - 1] == 0 || writing[THREADS - 1] >= u) && \
   (handler_tick == 0 || handler_tick >= u))

inline write_window() {
  d_step {
    until = clock + 1;
    before = overwrite;
#if BREAK != 7
    overwrite = 0
#endif
  };
#if BREAK != 7
  claiming == 0; /* "a thread that still saw it set is done by then" */
#endif
  settled(until); /* the 10 ms between a window's end and its writing */
  m = 0;
  do
  :: m < CHUNKS -> read_chunk(m); m++
  :: else -> break
  od;
  m = 0;
  d_step { /* renamed and noted: from here on recovery passes the window over */
    written = written | staged;
    staged = 0;
    window_begin = until;
    until = 0;
    overwrite = before;
    before = 0;
    kill_here()
  };
  do
  :: m < CHUNKS -> free_done(m); m++
  :: else -> break
  od;
  m = 0
}

proctype drain() {
  byte c = NONE, k, m, b, until, rounds;
  bit found, before;
  do
  :: rounds < ROUNDS && running > 0 -> write_window(); rounds++
  :: running == 0 && !interrupted -> break
  od;
  rounds = 0;
  write_window();
  d_step {
    /* Every call is in a file, or was counted as lost. */
    assert((written | lost | overwritten) == BIT(clock + 1) - 2);
    assert((written & overwritten) == 0 && (written & lost) == 0 && (lost & overwritten) == 0);
    k = 0;
    each_chunk if :: chunk[i].state == FREE -> k++ :: else fi; next;
    assert(k == free_chunks) /* no room is lost from the count */
  }
}

init {
  atomic {
#ifdef OVERWRITE
    overwrite = 1;
#endif
    first_writer = run writer(0);
    run writer(1);
#ifdef HANDLER
    run handler();
#endif
    run drain()
  }
}
