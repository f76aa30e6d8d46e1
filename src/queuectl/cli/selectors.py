"""Which jobs the words of a command mean: ids, and what may stand for ids.

    job1       the job with this id, which wins over all that follows
    last       the newest job
    3,5-8      by number, as `list` shows it; 5- is from there on
    all        all of them
    -          ids from stdin
    01m2kx     the beginning of an id, if only one job's begins so

What is done with them is left to `acting`, the options of a filter to `selection`.
"""

from __future__ import annotations

import re
import sys

from queuectl.cli.output import plural, say, somebody_is_there
from queuectl.core.ids import is_made
from queuectl.errors import InvalidInput, NotFound, QueuectlError
from queuectl.queue import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queuectl.core.job import Job
    from queuectl.queue import Queue

IDS_HELP = "the jobs: ids, last, numbers like 3,5-8, all, or - for ids from stdin"
LAST, ALL, STDIN = "last", "all", "-"

_NUMBERS = r"[0-9]+(-[0-9]*)?(,[0-9]+(-[0-9]*)?)*"
_BEGINNING = r"[A-Za-z0-9_:@=+][A-Za-z0-9._\-:@=+]{2,127}"  # of an id, three characters or more
_HIGHEST = 2**62
_CANDIDATES = 5
_PAGE = 1_000


class Selected:
    """What the words of a command come to."""

    __slots__ = ("errors", "guessed", "ids", "several", "sweeping")

    def __init__(self) -> None:
        self.ids: list[str] = []  # each once, in the order of the words
        self.errors: list[QueuectlError] = []  # of words that mean no job
        self.several = False  # the words can mean more than one job, whatever they mean today
        self.sweeping = False  # by a range or `all`: whoever typed them may not know all of the jobs
        self.guessed: dict[str, str] = {}  # beginnings of ids that somebody chose, and those ids


def select(queue: Queue, words: Sequence[str], *, among: tuple[str, ...] = ()) -> Selected:
    """The jobs that these words mean. `among`: in these states, for words that are no ids."""
    selected = Selected()
    words = list(dict.fromkeys(words))
    selected.several = len(words) > 1
    found: dict[str, None] = {}
    for word in words:
        try:
            found.update(dict.fromkeys(_meant(queue, word, among, selected)))
        except QueuectlError as error:
            if isinstance(error, InvalidInput) or len(words) == 1:
                raise
            selected.errors.append(error)
    selected.ids = list(found)
    return selected


def select_one(queue: Queue, word: str) -> Job:
    """The one job that a word means, for commands that take one."""
    selected = select(queue, [word])
    if len(selected.ids) != 1:
        raise InvalidInput(f"{word[:40]} means {plural(len(selected.ids), 'job')}", "name one job")
    return queue.get(selected.ids[0])


def parents(queue: Queue, words: Sequence[str]) -> list[str]:
    """For `--after`: ids of jobs that a new one waits for. Who stores it judges what is none."""
    return [_parent(queue, word) for word in words]


def _parent(queue: Queue, word: str) -> str:
    if (word == LAST or re.fullmatch(r"[0-9]+", word)) and not _exists(queue, word):
        try:
            return select(queue, [word]).ids[0]
        except NotFound:
            pass
    return word


def means_all(queue: Queue, words: Sequence[str]) -> bool:
    """Whether they say `all`. Commands that take a filter have a better way for that than a list of ids."""
    return set(words) == {ALL} and not _exists(queue, ALL)


def ids_of(lines: Sequence[str]) -> list[str]:
    """Ids as somebody has written them down: a line each, or several in one."""
    return [id for line in lines for id in line.split()]


def _meant(queue: Queue, word: str, among: tuple[str, ...], selected: Selected) -> Iterator[str]:
    if word == STDIN:
        selected.several = True
        return _from_stdin(queue, selected)
    if _exists(queue, word):
        return iter([word])
    if word == LAST:
        return _newest(queue, among)
    if word == ALL:
        selected.several = selected.sweeping = True
        return _numbered(queue, 0, _HIGHEST, among)
    if re.fullmatch(_NUMBERS, word):
        return _by_numbers(queue, word, among, selected)
    return iter([_beginning(queue, word, selected)])


def _exists(queue: Queue, id: str) -> bool:
    try:
        queue.get(id)
    except NotFound:
        return False
    return True


def _from_stdin(queue: Queue, selected: Selected) -> Iterator[str]:
    """Ids and nothing else: what a program writes is not guessed at."""
    if somebody_is_there():
        say("type the ids; Ctrl+D ends them")
    for id in ids_of(sys.stdin.readlines()):
        try:
            yield queue.get(id).id
        except NotFound as error:
            selected.errors.append(error)


def _newest(queue: Queue, among: tuple[str, ...]) -> Iterator[str]:
    newest = queue.list(filter=JobFilter(states=among), limit=1, descending=True)
    if not newest:
        raise NotFound(f"there is no last job: there are no {_jobs(among)}")
    return iter([newest[0].id])


def _by_numbers(queue: Queue, word: str, among: tuple[str, ...], selected: Selected) -> Iterator[str]:
    spans = [_span(part) for part in word.split(",")]
    if word.isdigit():
        return iter([_numbered_one(queue, spans[0][0])])
    selected.several = selected.sweeping = True
    ids = [id for first, last in spans for id in _numbered(queue, first, last, among)]
    if ids:
        for number in sorted({first for first, last in spans if first == last}):
            if not queue.store.by_numbers([number]):
                selected.errors.append(
                    NotFound(f"there is no job with the number {number}", "queuectl list shows the numbers")
                )
    if not ids:
        raise NotFound(
            f"there are no {_jobs(among)} with the numbers {word[:60]}", "queuectl list shows the numbers"
        )
    return iter(ids)


def _span(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    lowest = min(int(first[:20]), _HIGHEST)
    highest = lowest if not dash else min(int(last[:20]), _HIGHEST) if last else _HIGHEST
    if highest < lowest:
        raise InvalidInput(f"the range {text[:40]} goes backwards", f"turn it round: {highest}-{lowest}")
    return lowest, highest


def _numbered_one(queue: Queue, number: int) -> str:
    jobs = queue.store.by_numbers([number])
    if not jobs:
        raise NotFound(
            f"there is no job {str(number)!r}, neither by id nor by number",
            "queuectl list shows the jobs",
        )
    return jobs[0].id


def _numbered(queue: Queue, first: int, last: int, among: tuple[str, ...]) -> Iterator[str]:
    """From number to number, page by page: what a range spans says nothing about how many there are."""
    after = first - 1
    while True:
        page = queue.store.page(JobFilter(states=among), limit=_PAGE, after=after)
        for job in page:
            if job.seq > last:
                return
            yield job.id
        if len(page) < _PAGE:
            return
        after = page[-1].seq


def _beginning(queue: Queue, word: str, selected: Selected) -> str:
    """The only id that begins so.

    One of ours is never longer than another, so a part of it is nobody's whole id. An id that somebody chose
    may be: `job1` was one before it was deleted, and a script that goes on to speak of it does not mean
    `job10`. Those are only guessed where somebody sees it.
    """
    candidates = []
    if re.fullmatch(_BEGINNING, word):
        candidates = queue.store.ids_from(word, limit=_CANDIDATES + 1)
    if not candidates:
        raise NotFound(f"there is no job {word[:128]!r}", "queuectl list shows the jobs")
    if len(candidates) > 1:
        more = ", …" if len(candidates) > _CANDIDATES else ""
        shown = ", ".join(candidates[:_CANDIDATES]) + more
        raise NotFound(f"there is no job {word!r}, and several begin so", f"which one? {shown}")
    [id] = candidates
    if not is_made(id):
        if not somebody_is_there():
            raise NotFound(f"there is no job {word!r}", f"{id} begins so; in a script give the whole id")
        selected.guessed[word] = id
    return id


def _jobs(among: tuple[str, ...]) -> str:
    return f"{' or '.join(among)} jobs" if among else "jobs"


def tell_guesses(selected: Selected) -> None:
    for word, id in selected.guessed.items():
        say(f"{word} is taken for {id}")
