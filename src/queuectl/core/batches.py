"""New jobs, some at a time, on their way from whoever describes them to the store."""

from __future__ import annotations

from itertools import islice

from queuectl.core.job import NewJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Commands:
    """Shell lines that make jobs which are alike in all else: a million of them need no object each.

    To look at, it is a sequence of jobs; each is made when it is asked for, once they have ids.
    """

    __slots__ = ("commands", "ids", "like")

    def __init__(self, commands: Sequence[str], like: NewJob) -> None:
        self.commands = commands  # checked like any other
        self.like = like  # what they have in common: no conditions, which are each job's own
        self.ids: list[str] = []

    def __len__(self) -> int:
        return len(self.commands)

    def __getitem__(self, place: int) -> NewJob:
        job = NewJob(self.commands[place], self.like.max_retries)
        for name in NewJob.__slots__:
            setattr(job, name, getattr(self.like, name))
        job.id, job.made, job.command = self.ids[place], True, self.commands[place]
        return job

    def __iter__(self) -> Iterator[NewJob]:
        return map(self.__getitem__, range(len(self)))


if TYPE_CHECKING:
    Batch = Sequence[NewJob] | Commands


def ids_of(batch: Batch) -> list[str]:
    return batch.ids if isinstance(batch, Commands) else [str(job.id) for job in batch]


def special(batch: Batch) -> list[NewJob]:
    """Those with conditions."""
    return [] if isinstance(batch, Commands) else [job for job in batch if job.conditions is not None]


def give_ids(batch: Batch, ids: Iterator[str], *, anew: bool = False) -> None:
    """To those that have none; `anew`: also to those whose id is one that we made."""
    if isinstance(batch, Commands):
        batch.ids = list(islice(ids, len(batch)))
        return
    for job in batch:
        if job.id is None or (anew and job.made):
            job.id, job.made = next(ids), True


def are_made(batch: Batch) -> list[bool]:
    """Of each, whether its id is one that we made."""
    return [True] * len(batch) if isinstance(batch, Commands) else [job.made for job in batch]


def has_made(batch: Batch, id: str | None) -> bool:
    """Whether this id is one that we made for them."""
    return any(mine and other == id for other, mine in zip(ids_of(batch), are_made(batch), strict=True))
