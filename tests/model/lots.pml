/* How a pause waits for the threads that overwrite (agent/ring/overwriting.cpp). ring.pml has only
 * what comes of it: nobody overwrites beside a pause. Here any wait may be given up, as where a
 * thread is kept from its core, and a claim may be left by siglongjmp, which never ends it.
 *
 * BREAK       the number of a mutation
 */
#ifndef BREAK
#define BREAK 0
#endif
#define CLAIMS 2 /* of each */
#define PAUSES 3
#define LOTS 2
#define BIT(w) (1 << (w))

bit overwrite = 1;
byte at_it[LOTS], present = 0;
byte stuck = 0; /* BREAK 16: so many seem never to end it; else 0 */

/* What the property is stated with. */
byte counted = 0;  /* threads */
byte waited = 0;   /* of them those that were when the pause began */
byte given_up = 0; /* of these those that a pause has left behind */
bit is_paused = 0;

inline forget(w) {
  counted = counted & ~BIT(w);
  waited = waited & ~BIT(w);
  given_up = given_up & ~BIT(w)
}

proctype writer(byte w) {
  byte lot, claims;
  bit may;
  do
  :: claims < CLAIMS ->
     do /* begin_it() */
     :: lot = present;
        d_step { at_it[lot]++; counted = counted | BIT(w) };
#if BREAK != 17
        may = overwrite;
#endif
        if :: lot == present -> break :: else -> d_step { at_it[lot]--; may = 0; forget(w) } fi
     od;
#if BREAK == 17
     may = overwrite;
#endif
     /* Now or later: beside a pause only those overwrite that were given up. */
     assert(!may || !is_paused || given_up & BIT(w));
     if :: at_it[lot]-- :: skip /* left by siglongjmp */ fi;
     d_step { forget(w); may = 0; lot = 0; claims++ }
  :: else -> break
  od
}

proctype pauses() { /* OverwritingPaused, again and again */
  byte made;
  do
  :: made < PAUSES ->
     d_step { overwrite = 0; waited = counted };
     if
     :: d_step { at_it[present] <= stuck -> stuck = at_it[present]; is_paused = 1 }
#if BREAK == 16
     :: d_step { stuck = at_it[present]; given_up = given_up | waited; is_paused = 1 }
#else
     :: if /* leave_them_behind() */
        :: at_it[1 - present] == 0 ->
           d_step { present = 1 - present; given_up = given_up | waited; is_paused = 1 }
        :: else /* somebody is in each lot: nothing is asked of this pause */
        fi
#endif
     fi;
     d_step { is_paused = 0; overwrite = 1; made++ }
  :: else -> break
  od
}

init { atomic { run writer(0); run writer(1); run pauses() } }
