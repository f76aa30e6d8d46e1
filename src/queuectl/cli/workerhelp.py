"""What `queuectl worker --help` says, and each of its commands; their options are left to the command."""

from __future__ import annotations

_WORKERS = (
    """Workers run the jobs. They live in the background and survive your terminal.

  worker start     some more of them
  worker stop      all of this machine, or some; running jobs may finish first
  worker restart   new ones take their places, one after the other
  worker scale     start or stop until there are so many
  worker list      who runs, and how busy""",
    """
  queuectl worker start --count 3
  queuectl worker list
  queuectl worker stop
""",
)

_START = (
    """Start workers, besides those that run. They stay in the background until they are stopped; what
crashes is started again.""",
    """
  queuectl worker start --count 3             three processes
  queuectl worker start --concurrency 8       one that runs eight jobs at once
  queuectl worker start --queue urgent,bulk   all of urgent before any of bulk
  queuectl worker start --queue web=3,bulk=1  three of four from web
  queuectl worker start --provides gpu=2      for jobs with --needs gpu=1
  queuectl worker start --foreground          stay here; Ctrl+C stops it
""",
)

_STOP = (
    """Stop workers: they take no more jobs, let running ones finish (for stop-grace at most), and end. What
has to be ended goes back to the queue, and its attempt does not count.""",
    """
  queuectl worker stop                        lets running jobs finish first
  queuectl worker stop --timeout 5m           waits so long for them
  queuectl worker stop --now                  does not wait
""",
)

_RESTART = (
    """Replace workers by new ones with the same options, one after the other, so that the queue never stands
still: after an update, for instance. Running jobs may finish, as with `worker stop`. What runs in the
foreground, or as a service, is left to who started it. Most settings need no restart.""",
    """
  queuectl worker restart
  queuectl worker restart --now
""",
)

_SCALE = (
    "Start or stop workers until this machine has N of them. The options are for those that are started.",
    """
  queuectl worker scale 4
  queuectl worker scale 0
""",
)

_LIST = (
    "Show the workers that run, on all machines: what they are at, and when they were last seen.",
    """
  queuectl worker list
  queuectl worker list --json
""",
)

# Command -> what it is about, and examples. The first is of `worker` itself.
WORDS = {
    "": _WORKERS,
    "start": _START,
    "stop": _STOP,
    "restart": _RESTART,
    "scale": _SCALE,
    "list": _LIST,
}
