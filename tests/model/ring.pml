/* The ring of agent/ring as a model that spin searches: how chunks change hands, how records are
 * published and their ends patched, how windows are written or given up, and what is found and
 * counted when the process is killed at any moment.
 * README.md says which code each part stands for, what is left out, and which mutations were tried.
 * Memory is sequentially consistent here: what a killed process leaves behind on x86 is what its
 * threads had stored, in program order. What no other thread can tell apart is one step.
 *
 * OVERWRITE   ring.full: overwrite; else drop
 * HANDLER     calls of a signal handler that may interrupt thread 0 anywhere; else none
 * FAILURES    files that cannot be written; a window whose file fails again may be given up
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
#define ROUNDS 1 /* windows that end while threads record; one more ends with them */
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#define WINDOWS (ROUNDS + 1)
#ifndef SLOTS
#define SLOTS 2 /* of a chunk */
#endif
#define ATTEMPTS 2 /* of an overwriting thread; the last takes even a chunk with a call in flight */

#define FREE 0
#define OWNED 1
#define RETIRED 2
#define NONE 255
#define DRAIN 100

#define EMPTY 0
#define OPEN 1
#define CLOSED 2
#define WRITTEN 3
#define FAILED 4
#define GIVING_UP 5

#define BIT(tick) (1 << (tick))
#define HAS(set, tick) ((set) & BIT(tick))
#define ONES4(set) (((set) & 1) + ((set) >> 1 & 1) + ((set) >> 2 & 1) + ((set) >> 3 & 1))
#define ONES(set) (ONES4(set) + ONES4((set) >> 4) + ONES4((set) >> 8) + ONES4((set) >> 12))

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

/* They follow each other without a gap, in the order of their slots, none of which is used again. */
typedef Window {
  byte state = EMPTY;
  byte begin;
  byte end; /* 0: open */
  byte overwritten;
  byte not_written_at_end; /* dropped_at_end of this cause: what its file tells or gives up */
}
Window window[WINDOWS];
byte not_written = 0, told = 0; /* Header::dropped and ::told of this cause */
bit overwrite = 0;
byte claiming = 0; /* threads_at_it */

/* What the properties are stated with; no code reads it. */
byte clock = 0;
short published = 0, lost = 0, charged = 0, staged = 0, in_files = 0, given_up = 0; /* ticks */
byte told_by_files = 0;
bit has_file[WINDOWS];
byte user[CHUNKS]; /* 1 + the thread that may write there, DRAIN */
byte writing[THREADS]; /* the tick of a call that is not published yet */
byte handler_tick = 0;
byte running = THREADS;
byte interrupted = 0, first_writer = 0; /* numbers of processes */

/* Only within a step. */
hidden byte i;
hidden byte v;
hidden byte tick;
hidden byte counted;
hidden byte ones;
hidden short seen;
hidden short wanted;

/* What only a handler in the same thread can tell apart. */
#ifdef HANDLER
#define one_step
#else
#define one_step d_step
#endif

#define each_slot i = 0; do :: i < SLOTS ->
#define each_chunk i = 0; do :: i < CHUNKS ->
#define next i++ :: else -> break od; i = 0
#define each_window v = 0; do :: v < WINDOWS ->
#define next_window v++ :: else -> break od; v = 0

#define is_unwritten(w) \
  (window[w].state == OPEN || window[w].state == CLOSED || window[w].state == FAILED)
#define is_in(t, w) (t >= window[w].begin && (window[w].end == 0 || t < window[w].end))
#define calls_of(w) \
  ((window[w].end == 0 -> -1 : BIT(window[w].end) - 1) & ~(BIT(window[w].begin) - 1))

/* --- the kill ------------------------------------------------------------------------------ */
/* After every step that changes what others see: what another process would find now. */
inline find_records(c) {
  if
  :: chunk[c].claim == 0
  :: else ->
     each_slot
       tick = chunk[c].begin[i];
       if
       :: tick != 0 && HAS(wanted, tick) ->
          assert(chunk[c].field[i] == tick); /* no half-written record is read as whole */
          assert(HAS(published, tick) && !HAS(seen, tick));
          seen = seen | BIT(tick)
       :: else
       fi;
     next
  fi
}

/* finish_giving_up(), and note_told() of a window whose file is there already. */
inline recover_counts() {
  counted = not_written;
  tick = told;
  each_window
    if
    :: window[v].state == GIVING_UP && window[v].not_written_at_end > counted ->
       counted = window[v].not_written_at_end
#if BREAK != 11
    :: is_unwritten(v) && has_file[v] && window[v].not_written_at_end > tick ->
       tick = window[v].not_written_at_end
#endif
    :: else
    fi;
  next_window;
  assert(told_by_files == tick); /* what was given up is told by one file, or by none yet */
  seen = 0;
  each_window
    if :: window[v].state == GIVING_UP -> seen = seen | calls_of(v) :: else fi;
  next_window;
  seen = (seen | given_up) & published;
  ones = ONES(seen);
  assert(counted == ones) /* it is counted, once */
}

inline kill_here() {
  recover_counts();
  wanted = 0;
  each_window
    if :: is_unwritten(v) && !has_file[v] -> wanted = wanted | calls_of(v) :: else fi;
  next_window;
  seen = 0;
  find_records(0);
  find_records(1);
#if CHUNKS > 2
  find_records(2);
#endif
  /* Each published record is found, or was counted for its window; both, only on the way out. */
  assert((published & wanted & ~(seen | charged)) == 0);
  each_window
    ones = ONES(charged & calls_of(v));
    assert(!is_unwritten(v) || has_file[v] || window[v].overwritten == ones);
  next_window
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

/* For each window that wants them, one after the other. Two records of one chunk may be of two. */
inline charge(c, w) {
  d_step {
    each_slot
      tick = chunk[c].begin[i];
      if
#if BREAK == 12
      :: tick != 0 && is_unwritten(w) && tick >= window[w].begin ->
#else
      :: tick != 0 && is_unwritten(w) && is_in(tick, w) ->
#endif
         window[w].overwritten++;
         /* Between its file's rename and its mark nobody reads the number any more. */
         if :: !has_file[w] -> charged = charged | BIT(tick) :: else fi
      :: else
      fi;
    next;
    kill_here()
  }
}

inline count_overwritten(c) {
#if BREAK != 2
  charge(c, 0);
#if WINDOWS > 1
  charge(c, 1);
#endif
#if WINDOWS > 2
  charge(c, 2);
#endif
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
     :: else ->
        d_step {
          take_ownership(c, RETIRED, who);
          if :: c != NONE -> look_in_flight(c) :: else fi
        }
     fi;
     if
     :: c == NONE
     :: c != NONE && found && attempt < ATTEMPTS -> d_step { retire(c); c = NONE }
     :: c != NONE && (!found || attempt == ATTEMPTS) ->
        count_overwritten(c);
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
#ifdef OVERWRITE
  claiming++;
  may = overwrite;
  take_free(1 + w);
  if
  :: c == NONE && may -> take_over_oldest(1 + w)
  :: c != NONE || !may
  fi;
  d_step { claiming--; may = 0 };
#else
  take_free(1 + w);
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
  :: filling[w] ->
     d_step {
#if BREAK == 13
       filling[w] = 0;
#endif
       at_chunk = NONE; lost = lost | BIT(t); unpublished = 0
     }
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
  bit found, may;
  do
  :: calls == 0 || calls < CALLS - w ->
     record(w, t, writing[w]);
     d_step {
       if
       :: calls == 0 -> outer = t; outer_chunk = at_chunk; outer_slot = at_slot
       :: else -> patch_end(t, at_chunk, at_slot)
       fi;
       calls++
     }
  :: else -> break
  od;
  calls = 0;
  d_step {
    patch_end(outer, outer_chunk, outer_slot);
    outer = 0; outer_chunk = 0; outer_slot = 0; t = 0; at_chunk = 0; at_slot = 0
  };
  do /* give_back_chunk(), the thread's end: again, where a handler has taken another chunk */
  :: one_step {
       mine[w] != NONE ->
#if BREAK != 14
       filling[w] = 1;
#endif
       c = mine[w];
       d_step { mine[w] = NONE; slot[w] = SLOTS };
       d_step { if :: c != NONE -> retire(c); c = NONE :: else fi };
       filling[w] = 0
     }
  :: atomic { mine[w] == NONE -> running--; break }
  od
}

#ifdef HANDLER
/* Runs in thread 0, at any moment of it, to its end. */
proctype handler() {
  byte c = NONE, attempt, after, t, at_chunk, at_slot, calls;
  bit found, may;
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

/* --- windows ------------------------------------------------------------------------------- */
inline close_window(w) {
  window[w].end = clock + 1;
  window[w].state = CLOSED
}

inline open_window(w) {
  window[w].begin = clock + 1;
  window[w].state = OPEN
}

/* The job's steps, by the schedule. */
proctype steps() {
  byte now;
  do
  :: d_step { now < ROUNDS && running > 0 -> close_window(now); now++; open_window(now) }
  :: now == ROUNDS || running == 0 -> break
  od;
  now = 0
}

/* --- the drain ----------------------------------------------------------------------------- */
/* Every published record that began within the window. */
inline read_chunk(m) {
  k = 0;
  do
  :: k < SLOTS ->
     d_step {
       tick = chunk[m].begin[k];
       if :: chunk[m].claim != 0 && is_in(tick, w) && tick != 0 -> b = tick :: else -> b = 0 fi;
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
  each_slot if :: chunk[c].begin[i] >= keep_from -> found = 1 :: else fi; next
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

/* OverwritingPaused */
inline pause() {
  d_step { before = overwrite; overwrite = 0 };
  claiming == 0
}

inline go_on() { d_step { overwrite = before; before = 0 } }

/* The oldest that has a state. */
inline oldest(of_state) {
  d_step {
    w = NONE;
    each_window
      if :: w == NONE && window[v].state == of_state -> w = v :: else fi;
    next_window
  }
}

/* write(): its file, or nothing. */
inline write_window(w) {
  settled(window[w].end); /* the 10 ms between a window's end and its writing */
#if BREAK != 7
  pause();
#endif
  d_step { window[w].not_written_at_end = not_written; kill_here() }; /* settle_late_losses() */
  if
  :: failures > 0 ->
     failures--;
#if BREAK != 7
     go_on();
#endif
     d_step { window[w].state = FAILED; kill_here() }
  :: m = 0;
     do
     :: m < CHUNKS -> read_chunk(m); m++
     :: else -> break
     od;
     m = 0;
     d_step { /* renamed: from here on recovery passes the window over */
       /* Each call of the window is in its file, or in the number that the file tells. */
       ones = ONES(published & calls_of(w));
       assert(ONES(staged) + window[w].overwritten == ones);
       assert((staged & (charged | in_files)) == 0);
       in_files = in_files | staged;
       staged = 0;
       has_file[w] = 1;
       told_by_files = told_by_files + window[w].not_written_at_end - told;
       kill_here()
     };
     d_step { told = window[w].not_written_at_end; kill_here() }; /* note_told() */
#if BREAK == 15
     go_on();
#endif
     d_step { /* write_bounded(): once more what was lost, for the line at the end */
       ones = ONES(charged & calls_of(w));
       assert(BREAK == 7 || window[w].overwritten == ones)
     };
#if BREAK != 7 && BREAK != 15
     go_on();
#endif
     d_step { window[w].state = WRITTEN; kill_here() }
  fi
}

/* give_up(): what the ring has of it, and what was overwritten, are counted. */
inline give_up(w) {
#if BREAK != 9
  pause();
#endif
  d_step {
    k = 0;
    v = 0;
    do
    :: v < CHUNKS ->
       each_slot
         if
         :: chunk[v].claim != 0 && chunk[v].begin[i] != 0 && is_in(chunk[v].begin[i], w) -> k++
         :: else
         fi;
       next;
       v++
    :: else -> break
    od;
    v = 0
  };
  d_step {
    window[w].not_written_at_end = not_written + window[w].overwritten + k;
    k = 0;
    kill_here()
  };
#if BREAK != 10
  d_step { window[w].state = GIVING_UP; kill_here() };
#endif
  d_step { not_written = window[w].not_written_at_end; kill_here() }; /* count_given_up() */
  d_step {
    given_up = given_up | (calls_of(w) & published);
    window[w].state = WRITTEN;
    kill_here()
  };
#if BREAK != 9
  go_on()
#endif
}

inline free_chunks_before() {
  d_step {
    keep_from = NONE;
    each_window
      if
      :: is_unwritten(v) && window[v].begin < keep_from -> keep_from = window[v].begin
      :: else
      fi;
    next_window
  };
  m = 0;
  do
  :: m < CHUNKS -> free_done(m); m++
  :: else -> break
  od;
  m = 0;
  keep_from = 0
}

#define is_any(of_state) (window[0].state == of_state || window[ROUNDS].state == of_state || \
                          (WINDOWS > 2 && window[1].state == of_state))

/* write_last(): what failed is tried once more. */
inline begin_last() {
  d_step {
    is_last = 1;
    each_window
      if
      :: window[v].state == OPEN -> close_window(v)
      :: window[v].state == FAILED -> window[v].state = CLOSED
      :: else
      fi;
    next_window
  }
}

proctype drain() {
  byte c = NONE, w = NONE, k, m, b, keep_from, failures = FAILURES;
  bit found, before, is_last, is_again;
  do
  :: is_any(CLOSED) || (is_any(FAILED) && !is_last) ->
     if
     :: is_any(CLOSED) -> oldest(CLOSED) /* write_closed() */
#if FAILURES > 0
     /* make_room(): now, later or never, as there is room for what else lies in the ring */
     :: is_any(FAILED) && !is_last -> oldest(FAILED); is_again = 1
#endif
     fi;
     write_window(w);
#if FAILURES > 0
     if
     :: is_again && window[w].state == FAILED -> give_up(w)
     :: !is_again || window[w].state != FAILED
     fi;
     is_again = 0;
#endif
     free_chunks_before();
     w = NONE
  :: running == 0 && !interrupted && !is_any(CLOSED) ->
     if :: is_last -> break :: !is_last -> begin_last() fi
  od;
  is_last = 0;
  d_step {
    kill_here();
    /* Every call is in a file, was counted, or lies in a ring that is kept. */
    assert((in_files | lost | charged | given_up | seen) == BIT(clock + 1) - 2);
    assert((in_files & (charged | given_up | lost | seen)) == 0);
    assert((seen & (charged | given_up)) == 0 && (lost & published) == 0);
    k = 0;
    each_chunk
      assert(chunk[i].state != OWNED); /* none is kept by nobody */
      if :: chunk[i].state == FREE -> k++ :: else fi;
    next;
    assert(k == free_chunks) /* no room is lost from the count */
  }
}

init {
  atomic {
#ifdef OVERWRITE
    overwrite = 1;
#endif
    open_window(0);
    first_writer = run writer(0);
    run writer(1);
#ifdef HANDLER
    run handler();
#endif
#if ROUNDS > 0
    run steps();
#endif
    run drain()
  }
}
