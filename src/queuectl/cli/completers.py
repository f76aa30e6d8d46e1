"""What can stand at a place of a command line: jobs, queues, tags, schedules, workers, settings, states.

The store is only looked at: never made, never brought up to date. Which place it is is left to `completion`.
"""

from __future__ import annotations

from queuectl.cli.output import clean
from queuectl.cli.selectors import ALL, LAST
from queuectl.core import states
from queuectl.queue import JobFilter, Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping

    # What is offered, and a few words about each.
    Offer = Mapping[str, str]
    Completer = Callable[[str, argparse.Namespace], Offer]

MOST = 100
_NEWEST = 1_000

_WAITING = tuple(state for state in states.ALL if state not in (states.PROCESSING, *states.TERMINAL))
# The jobs for which a command is possible; the others look, and take any.
_POSSIBLE = {
    "cancel": (*states.CANCELLABLE, states.PROCESSING),
    "retry": states.RETRYABLE,
    "hold": _WAITING,
    "edit": _WAITING,
    "move": _WAITING,
    "release": (states.BLOCKED,),
    "rm": states.REMOVABLE,
    "dlq show": (states.DEAD,),
    "dlq retry": (states.DEAD,),
    "dlq purge": (states.DEAD,),
}
_WORDS = {LAST: "the newest job", ALL: "all jobs"}
_FILES = ("FILE", "F", "DIR")


class WantsFiles(Exception):
    """Files belong here, which a shell completes better than we do."""


def completer_of(command: str, action: argparse.Action) -> Completer | None:
    """What completes the values of an option or argument of a command (`dlq retry`); None: nothing does."""
    named = set(action.option_strings)
    if command == "help":
        return _topics
    if action.metavar in _FILES or action.dest == "words":
        return _files
    if action.metavar == "ID":
        return _workers if command.startswith("worker ") else _jobs(command)
    if named & {"--queue", "--in-queue"} or (command, action.dest) == ("move", "to"):
        return _listed(_queues) if command.startswith("worker ") else _queues
    if "--state" in named:
        return _listed(_states)
    if named & {"--tag", "--with-tag"}:
        return _tags
    for place, completer in _ELSEWHERE.items():
        if place in ((command, action.dest), (command.split(" ", maxsplit=1)[0], action.dest), action.dest):
            return completer
    return None


def _files(_prefix: str, _options: argparse.Namespace) -> Offer:
    raise WantsFiles


def _topics(_prefix: str, _options: argparse.Namespace) -> Offer:
    from queuectl.cli.main import COMMANDS
    from queuectl.cli.topicpage import topic_about, topic_names

    return COMMANDS | {name: topic_about(name) for name in topic_names()}


def _jobs(command: str) -> Completer:
    possible = _POSSIBLE.get(command, ())

    def jobs(prefix: str, options: argparse.Namespace) -> Offer:
        """By the beginning of their ids, or the newest; not those that are on the line already."""
        given = getattr(options, "ids", None) or ()
        with _looking(options) as queue:
            filter = JobFilter(states=possible)
            if prefix:
                ids = queue.store.ids_from(prefix, limit=MOST)
                filter = filter.replaced(ids=tuple(ids) or (prefix,))  # none would be all
            found = queue.list(filter=filter, limit=MOST, descending=True)
        offer = {job.id: f"{job.state}: {clean(job.command)[:60]}" for job in found if job.id not in given}
        return offer | (_WORDS if prefix else {})

    return jobs


def _queues(_prefix: str, options: argparse.Namespace) -> Offer:
    from queuectl import queues

    with _looking(options) as queue:
        return {view.name: f"{view.counts['pending']:,} pending" for view in queues.overview(queue)}


def _tags(_prefix: str, options: argparse.Namespace) -> Offer:
    """Of the newest jobs: those that somebody speaks of."""
    with _looking(options) as queue:
        newest = queue.list(limit=_NEWEST, descending=True)
    return {tag: "" for job in newest for tag in job.tag_list()}


def _groups(_prefix: str, options: argparse.Namespace) -> Offer:
    from queuectl import triage

    with _looking(options) as queue:
        found = triage.sort_out(queue, name=getattr(options, "queue", None))
    return {group.key: clean(f"{group.count:,} dead: {group.error or ''}")[:80] for group in found.groups}


def _ends(_prefix: str, _options: argparse.Namespace) -> Offer:
    from queuectl.core.notices import ANY

    return dict.fromkeys((*states.TERMINAL, ANY), "")


def _schedules(_prefix: str, options: argparse.Namespace) -> Offer:
    from queuectl import schedules

    with _looking(options) as queue:
        return {schedule.name: schedule.recurrence for schedule in schedules.every(queue)}


def _workers(_prefix: str, options: argparse.Namespace) -> Offer:
    from queuectl.app import count_running

    with _looking(options) as queue:
        alive = [worker for worker in queue.store.workers() if worker.state == "alive"]
        count_running(queue.store, alive)
        return {worker.id: f"{worker.running} running" for worker in alive}


def _states(_prefix: str, _options: argparse.Namespace) -> Offer:
    return dict.fromkeys(states.ALL, "")


def _keys(_prefix: str, _options: argparse.Namespace) -> Offer:
    from queuectl.config.settings import KEYS

    return {key.name: key.help for key in KEYS.values()}


def _values(_prefix: str, options: argparse.Namespace) -> Offer:
    from queuectl.config.sources import find_key

    return dict.fromkeys(find_key(options.key).choices, "")


def _zones(_prefix: str, _options: argparse.Namespace) -> Offer:
    from zoneinfo import available_timezones

    return dict.fromkeys(sorted(available_timezones()), "")


def _strategies(_prefix: str, _options: argparse.Namespace) -> Offer:
    from queuectl.core.backoff import STRATEGIES

    return dict.fromkeys(STRATEGIES, "")


def _clearable(_prefix: str, _options: argparse.Namespace) -> Offer:
    from queuectl.cli.optionnames import option_of
    from queuectl.editing import CLEARABLE

    return dict.fromkeys((option_of(name).removeprefix("--") for name in CLEARABLE), "")


def _listed(completer: Completer) -> Completer:
    """For `a,b,c`: the last of them is completed."""

    def last(prefix: str, options: argparse.Namespace) -> Offer:
        before, comma, word = prefix.rpartition(",")
        taken = before.split(",")
        offer = completer(word, options)
        return {before + comma + name: about for name, about in offer.items() if name not in taken}

    return last


# By command and name, by the first word of the command and name, or by the name alone.
_ELSEWHERE: dict[tuple[str, str] | str, Completer] = {
    ("queue", "name"): _queues,
    ("dlq", "group"): _groups,
    "notify_on": _listed(_ends),
    ("schedule add", "schedule_name"): lambda _prefix, _options: {},
    "schedule_name": _schedules,
    ("config", "key"): _keys,
    ("config", "value"): _values,
    "tz": _zones,
    "backoff_strategy": _strategies,
    "clear": _listed(_clearable),
}


def offered(offer: Offer, prefix: str) -> Iterable[tuple[str, str]]:
    """What of it begins so, in the order of the offer, bounded."""
    fitting = [(name, about) for name, about in offer.items() if name.startswith(prefix)]
    return fitting[: MOST * 10]


def _looking(options: argparse.Namespace) -> Queue:
    from queuectl.app import look_at
    from queuectl.config.settings import Settings
    from queuectl.paths import locate

    return Queue(look_at(locate(getattr(options, "db", None))), Settings())
