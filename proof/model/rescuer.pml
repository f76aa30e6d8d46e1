/* Who frees the jobs of workers that are gone; see lease.pml. */

/* Every worker's heart is one; they may get into each other's way.
 * @ src/queuectl/upkeep/rescuer.py: Rescuer.__call__ */
proctype Rescuer(byte r; byte i) {
  byte token;
look:
  if
  :: d_step { SUSPECT(i) -> unchanged[r * ROWS + i] = true }
  fi;
  /* @ src/queuectl/upkeep/rescuer.py: rescue
   * @ src/queuectl/store/coordination.py: Coordination.bury */
  if
  :: d_step { MAY_BURY(i) && (row[i] == BURIED || (row[i] == ALIVE && UNCHANGED(r, i))) ->
       row[i] = BURIED; unchanged[r * ROWS + i] = false }
  :: atomic { row[i] == NONE || (row[i] == ALIVE && !UNCHANGED(r, i)) ->
       unchanged[r * ROWS + i] = false; goto look }
  fi;
  /* @ src/queuectl/store/coordination.py: Coordination.claimed_by
   * @ src/queuectl/upkeep/remains.py: kill_remains */
  d_step {
    token = ((job == PROCESSING && owner == i) -> claim : 0);
    running[i] = (KILLS(i) -> false : running[i])
  };
  /* @ src/queuectl/upkeep/rescuer.py: _free
   * @ src/queuectl/store/exchange.py: Exchanges.finish */
  if
  :: atomic { crashes < CRASHES -> crashes++; token = 0; goto look }
  :: d_step { locked == 0 || token == 0 ->
       if
       :: token != 0 && FITS(token, i) -> store_verdict(token, LOST)
       :: else
       fi;
       token = 0 }
  fi;
  /* @ src/queuectl/store/coordination.py: Coordination.forget */
  d_step { row[i] = ((job == PROCESSING && owner == i) -> row[i] : NONE) };
  goto look
}
