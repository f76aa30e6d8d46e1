/* One job, two workers, their rescuers and the store between them: who may run the job, and who may say how it went.
 *
 * A transaction of the store is one atomic step. All else may be slow, cut off, stopped or dead, in any order.
 * Lines of the form `@ file: function` name what a step stands for; a test checks that these exist.
 *
 * Left out: more jobs, cancelling by a person, waiting between attempts. There is no time: a lease may end at any
 * moment, but only while its worker cannot renew it. Faults are bounded in number, so that all is finite.
 *
 * Switches. APART: each worker is on a machine of its own. Each of the others takes away one part of the protocol,
 * and then a property must fail: see proof/model.py.
 */

#include "store.pml"
#include "worker.pml"
#include "rescuer.pml"

/* A lease ends: of who is gone, or stands still, or is cut off and has ended its command in time. */
proctype Lease(byte i) {
  byte w = i / LIVES;
  do
  :: d_step { row[i] == ALIVE && !over[i] && (gone[i] || still[w] || (cut[w] && ENDED_IN_TIME(i))) ->
       over[i] = true;
       slept[i] = slept[i] || (still[w] && !gone[i]) }
  od
}

/* What becomes of a COMMIT that nobody waits for any more. */
proctype Server(byte w) {
  byte got;
  do
  :: d_step { flying[w] && locked == w + 1 ->
       deal(w, f_me, f_token, f_verdict, f_asked, false);
       flown = got; got = 0;
       flying[w] = false; locked = 0; f_me = 0; f_token = 0; f_asked = 0; f_verdict = NOTHING }
  :: d_step { flying[w] ->
       flying[w] = false;
       if
       :: locked == w + 1 -> locked = 0; f_me = 0; f_token = 0; f_asked = 0; f_verdict = NOTHING
       :: else
       fi }
  od
}

#define HARMS (faults < FAULTS && !ENDED)

inline die(w) {
  dead[w] = true; gone[office[w]] = true; busy[office[w]] = false; office[w] = NOBODY
}

/* Pauses, partitions, deaths of a process or of a whole machine; what was paused or cut off may come back. */
proctype Nature(byte w) {
  do
  :: d_step { HARMS && AWAKE(w) -> faults++; still[w] = true }
  :: d_step { still[w] -> still[w] = false }
  :: d_step { HARMS && REACHES(w) -> faults++; cut[w] = true }
  :: d_step { cut[w] -> cut[w] = false }
  /* The process alone, so that its command goes on; or the machine, and all on it. */
  :: d_step { HARMS && AWAKE(w) && office[w] != NOBODY -> faults++; die(w) }
  :: d_step { HARMS && AWAKE(w) && office[w] != NOBODY -> faults++; running[office[w]] = false; die(w) }
  od
}

init {
  atomic {
    run Worker(0); run Worker(1); run Heart(0); run Heart(1);
    run Lease(0); run Lease(1); run Lease(2); run Lease(3);
    run Rescuer(0, 0); run Rescuer(0, 1); run Rescuer(0, 2); run Rescuer(0, 3);
#if RESCUERS > 1
    run Rescuer(1, 0); run Rescuer(1, 1); run Rescuer(1, 2); run Rescuer(1, 3);
#endif
    run Server(0); run Server(1); run Nature(0); run Nature(1)
  }
}

ltl ended_is_final { [] (ENDED -> [] ENDED) }
/* Whoever holds the job ends it, or it is taken from him and offered again. */
ltl never_stuck { [] (job == PROCESSING -> <> (job != PROCESSING)) }
/* As long as anybody is there to do it, it is done. */
ltl comes_to_an_end { (<> [] (ABLE(0) || ABLE(1))) -> <> ENDED }
