/* A worker's loop and its heart; see lease.pml. */

/* A worker may die between any two of its steps; what it knew is gone then. */
proctype Worker(byte w) {
  byte me, token, asked, got;
  mtype verdict = NOTHING;
  bool again;
enter:
  {
    /* @ src/queuectl/worker/membership.py: Membership.register
     * @ src/queuectl/store/coordination.py: Coordination.register */
    atomic {
      REACHES(w) && lives[w] < LIVES;
      me = w * LIVES + lives[w]; lives[w]++; office[w] = me;
      row[me] = ALIVE; fenced[w] = false
    };
idle:
    /* A fresh token, unless the answer to the last request was lost. None while the lease may be over.
     * @ src/queuectl/worker/desk.py: Desk.is_due
     * @ src/queuectl/worker/desk.py: Desk.exchange */
    if
    :: atomic { AWAKE(w) && fenced[w] -> goto fenced_off }
    :: d_step { AWAKE(w) && !fenced[w] && asked == 0 && !over[me] && (token != 0 || job == PENDING) ->
         asked = FRESH(w); minted[w]++ }
    :: d_step { AWAKE(w) && !fenced[w] && (asked != 0 || (over[me] && token != 0)) -> skip }
    fi;
    if
    :: atomic { AWAKE(w) && fenced[w] -> goto fenced_off }
    /* @ src/queuectl/worker/clerk.py: Clerk.send
     * @ src/queuectl/store/server_connection.py: ServerConnection.write */
    :: atomic { REACHES(w) && MAY_ASK && (locked == 0 || token == 0) && LIVES_ON(me) ->
         d_step {
           if
           :: locked == 0 -> deal(w, me, token, verdict, asked, again)
           :: else -> got = 0     /* it is passed over: SKIP LOCKED */
           fi;
           minted[w] = ((got == 0 && asked != 0 && !again) -> minted[w] - 1 : minted[w]);
           token = got; asked = 0; again = false; got = 0; verdict = NOTHING
         };
         if
         :: token == 0 -> goto idle
         :: else
         fi }
    :: atomic { REACHES(w) && MAY_ASK && !LIVES_ON(me) -> goto fenced_off }
    /* The answer is lost. What was asked for is asked for again, under the same token.
     * @ src/queuectl/worker/desk.py: Desk.conclude */
    :: atomic { REACHES(w) && losses < LOSSES && !flying[w] && locked == 0 && row[me] == ALIVE ->
         d_step {
           losses++; flying[w] = true;
           if
           :: (token != 0 && FITS(token, me)) || (asked != 0 && job == PENDING) ->
                locked = w + 1; f_me = me; f_token = token; f_verdict = verdict; f_asked = asked
           :: else
           fi;
#ifdef NO_REPEAT
           asked = 0
#else
           again = (asked != 0)
#endif
         };
         goto idle }
    fi;
    if
    /* @ src/queuectl/worker/slots.py: Slots.start
     * @ src/queuectl/worker/fence.py: Fence.at */
    :: d_step { AWAKE(w) && !fenced[w] && !over[me] -> busy[me] = true }
    :: atomic { AWAKE(w) && fenced[w] -> goto fenced_off }
    /* There is no room, or we shall stop, or the lease may be over.
     * @ src/queuectl/worker/desk.py: Desk.give_back */
    :: atomic { AWAKE(w) && (!given_back || over[me]) ->
         d_step { given_back = given_back || !over[me]; verdict = UNSTARTED };
         goto idle }
    fi;
    /* @ src/queuectl/worker/executor.py: Executor.start */
    d_step {
      AWAKE(w);
      late[me] = slept[me]; running[me] = true;
      assert(APART_FROM(0, me) && APART_FROM(1, me) && APART_FROM(2, me) && APART_FROM(3, me))
    };
    if
    :: atomic { AWAKE(w) && fenced[w] -> goto fenced_off }
    :: d_step { AWAKE(w) && !fenced[w] -> verdict = SUCCEEDED; running[me] = false; busy[me] = false }
    :: d_step { AWAKE(w) && !fenced[w] -> verdict = FAILED; running[me] = false; busy[me] = false }
    /* @ src/queuectl/worker/loop.py: Loop._fence_ourselves */
    :: d_step { AWAKE(w) && !fenced[w] && cut[w] -> verdict = LOST; running[me] = false; busy[me] = false }
    fi;
    goto idle;
fenced_off:
    /* @ src/queuectl/worker/loop.py: Loop._fenced
     * @ src/queuectl/worker/desk.py: Desk.forget_all */
    atomic {
      AWAKE(w);
      d_step {
        running[me] = false; busy[me] = false; gone[me] = true; office[w] = NOBODY;
        token = 0; asked = 0; again = false; verdict = NOTHING
      };
      goto enter
    }
  } unless { dead[w] };
  /* Its supervisor starts another, or its machine comes back.
   * @ src/queuectl/worker/supervisor.py: Supervisor.run */
  atomic {
    lives[w] < LIVES;
    d_step {
      token = 0; asked = 0; again = false; verdict = NOTHING;
      dead[w] = false; fenced[w] = false
    };
    goto enter
  }
}

/* @ src/queuectl/worker/heart.py: Heart._beat
 * @ src/queuectl/store/coordination.py: Coordination.heartbeat */
proctype Heart(byte w) {
  do
  :: d_step { REACHES(w) && office[w] != NOBODY && row[office[w]] == ALIVE && over[office[w]] ->
       over[office[w]] = false; unchanged[office[w]] = false; unchanged[ROWS + office[w]] = false }
  :: d_step { REACHES(w) && office[w] != NOBODY && row[office[w]] != ALIVE && !fenced[w] -> fenced[w] = true }
  od
}
