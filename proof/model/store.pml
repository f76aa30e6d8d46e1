/* The store, the state of the workers, and the rules by which they meet; see lease.pml. */

#ifndef FAULTS
#define FAULTS 2      /* pauses, cuts and deaths, in all */
#endif
#ifndef LOSSES
#define LOSSES 1      /* answers to a COMMIT that do not arrive */
#endif
#ifndef CRASHES
#define CRASHES 1     /* rescuers that break off in the middle and begin anew */
#endif
#ifndef RESCUERS
#define RESCUERS 1    /* who looks after each row; two may get into each other's way */
#endif

#ifndef GIVEN_BACK
#define GIVEN_BACK 0  /* 1: no job is given back without a reason */
#endif

#define WORKERS 2
#define LIVES 2       /* incarnations of each worker */
#define ROWS 4        /* WORKERS * LIVES */
#define ATTEMPTS 2    /* after so many the job is dead */
#define NOBODY 15

mtype = { PENDING, PROCESSING, COMPLETED, DEAD };           /* of the job */
mtype = { NONE, ALIVE, BURIED };                            /* of a worker's row */
mtype = { NOTHING, SUCCEEDED, FAILED, LOST, UNSTARTED };    /* how an attempt ended */

/* --- the store --- */
mtype job = PENDING;
byte claim, owner = NOBODY, attempts, completions;
mtype row[ROWS] = NONE;
bool over[ROWS];                  /* its lease has ended */
bool unchanged[8];                /* WORKERS * ROWS: its lease is still the one that this rescuer has read */

/* A COMMIT whose answer will not arrive: stored or undone by and by. Until then it keeps its locks. */
bool flying[WORKERS];
byte locked;                      /* the job's row is held by that of this worker, + 1 */
byte f_me, f_token, f_asked, flown;   /* the last: a token that was stored in this way */
mtype f_verdict = NOTHING;

/* --- the workers and their machines --- */
byte office[WORKERS] = NOBODY;    /* the incarnation in office */
byte lives[WORKERS], minted[WORKERS];
bool still[WORKERS], cut[WORKERS], dead[WORKERS], fenced[WORKERS];
bool busy[ROWS];                  /* has looked at its lease in order to start, or has a command running */
bool running[ROWS];               /* its command */
bool gone[ROWS];                  /* its process has ended, or has left this incarnation */
bool slept[ROWS];                 /* its lease ended while it stood still */
bool late[ROWS];                  /* it started a command after that */
byte faults, losses, crashes;
bool given_back = GIVEN_BACK;

/* Random in truth. One that was asked with in vain is used again: it is in no row, and fences nothing. */
#define FRESH(w) (1 + w + WORKERS * minted[w])
#define ENDED (job == COMPLETED || job == DEAD)
#define AWAKE(w) (!still[w] && !dead[w])
#define REACHES(w) (AWAKE(w) && !cut[w])
#define ABLE(w) (REACHES(w) && office[w] != NOBODY && row[office[w]] == ALIVE)

/* The fence.
 * @ src/queuectl/store/results.py: Results._write_all */
#if defined(NO_FENCE)
#define FITS(token, me) (1)
#elif defined(STATE_FENCE)
#define FITS(token, me) (job == PROCESSING)
#elif defined(NAME_FENCE)
#define FITS(token, me) (job == PROCESSING && owner / LIVES == (me) / LIVES)
#else
#define FITS(token, me) (job == PROCESSING && claim == token)
#endif

/* Two commands of the job at once are excused only if one stood still for longer than its lease: on one machine
 * between its last look at the lease and the start, since the rescuer kills what is left; else at any time. A
 * worker that was killed, with nobody left on its machine, leaves its command behind. */
#ifdef APART
#define EXCUSED(i) (late[i] || slept[i] || gone[i])
#else
#define EXCUSED(i) (late[i])
#endif
#define APART_FROM(i, me) (i == me || !running[i] || EXCUSED(i) || late[me])

/* The repeat of a request waits for the first one, which may still be on its way.
 * @ src/queuectl/store/exchange.py: Exchanges._check_alive */
#ifdef NO_WAIT
#define MAY_ASK (1)
#else
#define MAY_ASK (!(again && flying[w]))
#endif
/* @ src/queuectl/store/exchange.py: Exchanges._check_alive */
#ifdef NO_WORKER_CHECK
#define LIVES_ON(i) (1)
#else
#define LIVES_ON(i) (row[i] == ALIVE)
#endif
/* A worker's row is held while its claim is committed. */
#ifdef NO_KEEP
#define MAY_BURY(i) (1)
#else
#define MAY_BURY(i) (!flying[i / LIVES])
#endif
#ifdef NO_GUARD
#define UNCHANGED(r, i) (1)
#else
#define UNCHANGED(r, i) (unchanged[r * ROWS + i])
#endif
#ifdef NO_SELF_FENCE
#define ENDED_IN_TIME(i) (1)
#else
#define ENDED_IN_TIME(i) (!busy[i])
#endif
/* Who is on the same machine sees that a process has ended; elsewhere only the lease tells.
 * @ src/queuectl/upkeep/rescuer.py: _is_gone */
#ifdef APART
#define SUSPECT(i) (row[i] == BURIED || (row[i] == ALIVE && over[i]))
#define KILLS(i) (r == i / LIVES && AWAKE(r))
#elif defined(NO_KILLING)
#define SUSPECT(i) (row[i] == BURIED || (row[i] == ALIVE && (over[i] || gone[i])))
#define KILLS(i) (0)
#else
#define SUSPECT(i) (row[i] == BURIED || (row[i] == ALIVE && (over[i] || gone[i])))
#define KILLS(i) (1)
#endif

/* What a verdict does to the job. Called where the fence has let it through.
 * @ src/queuectl/core/lifecycle.py: decide
 * @ src/queuectl/store/results.py: Results.finish */
inline store_verdict(token, verdict) {
  assert(job == PROCESSING);      /* terminal states are never left */
  assert(claim == token);         /* the token is the current one */
  if
  :: verdict == SUCCEEDED -> completions++; assert(completions == 1); job = COMPLETED
  :: verdict == UNSTARTED -> attempts--; job = PENDING
  :: (verdict == FAILED || verdict == LOST) && attempts < ATTEMPTS -> job = PENDING
  :: (verdict == FAILED || verdict == LOST) && attempts >= ATTEMPTS -> job = DEAD
  fi;
  claim = 0; owner = NOBODY
}

/* Results in, new work out, in one transaction.
 * @ src/queuectl/store/exchange.py: Exchanges.exchange */
inline deal(w, me, token, verdict, asked, again) {
  if
  :: token != 0 && FITS(token, me) -> store_verdict(token, verdict)
  :: else                         /* none; or late; or a repeat: @ src/queuectl/store/results.py: Results._recorded */
  fi;
  got = 0;
  if
  /* @ src/queuectl/store/claims.py: claimed_before */
  :: asked != 0 && again && job == PROCESSING && owner == me && claim == asked -> got = asked
  /* @ src/queuectl/store/claims.py: claim */
  :: asked != 0 && job == PENDING ->
       assert(asked != flown);    /* no token fences two claims */
       job = PROCESSING; attempts++; claim = asked; owner = me; got = asked
  :: else
  fi
}
