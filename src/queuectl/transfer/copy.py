"""A whole queue from one store to another: chunk by chunk, resumable, verified at the end.

While it goes on the target is marked, so that nobody works with half of a queue. The source is only read.
"""

from __future__ import annotations

from queuectl.core.tables import ATTEMPTS, TABLES
from queuectl.errors import QueuectlError, Refused
from queuectl.failpoints import failpoint
from queuectl.transfer import rules
from queuectl.transfer.logs import LogCopier
from queuectl.transfer.progress import Tally
from queuectl.transfer.seals import difference, seal_all, seal_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.core.tables import Table
    from queuectl.store.api import Store
    from queuectl.transfer.progress import Progress
    from queuectl.transfer.rules import Living
    from queuectl.transfer.seals import Seals


class Copied:
    """What a copy has done."""

    __slots__ = ("logs", "logs_missing", "resumed", "seals")

    def __init__(self, seals: Seals, logs: LogCopier, *, resumed: bool) -> None:
        self.seals = seals
        self.logs = logs.copied
        self.logs_missing = logs.missing
        self.resumed = resumed  # an earlier copy had begun it


class Copy:
    """One copy from a store to another."""

    def __init__(self, source: Store, target: Store, *, living: Living, now: int, progress: Progress) -> None:
        self.source = source
        self.target = target
        self._living = living
        self._now = now
        self._progress = progress
        self._logs = LogCopier(source.location.logs_dir, target.location.logs_dir)

    def run(self, *, resume: bool = False, restart: bool = False) -> Copied:
        """Copy all that is missing in the target, and compare both sides."""
        rules.refuse_activity(self.source, self._living, what="the source")
        rules.refuse_activity(self.target, self._living, what=rules.TARGET)
        resumed = self._prepare(resume=resume, restart=restart)
        self._mark()
        self._copy_tables()
        seals = self._verify()
        self.target.transfer().number_on()
        self.target.put_config(rules.MARK, None, self._now)
        return Copied(seals, self._logs, resumed=resumed)

    # --- before -------------------------------------------------------------------------------------------

    def _prepare(self, *, resume: bool, restart: bool) -> bool:
        """Make sure that the target is empty or holds the beginning of this copy; True for the latter."""
        shown = self.target.location.shown
        origin = rules.marked_origin(self.target.stored_config())
        if restart:
            if origin is None:
                raise Refused(
                    f"{shown} is not an unfinished copy, so nothing of it is deleted", "leave out --restart"
                )
            self.target.transfer().clear()
        elif origin is None and not resume:
            rules.refuse_content(
                self.target, "choose an empty place; --resume adds what an earlier copy to it does not have"
            )
        elif origin not in (None, rules.origin_of(self.source.location)) and not resume:
            raise Refused(
                f"{shown} is an unfinished copy of another queue: {origin}",
                "--resume if that is the same one by another name, --restart to throw it away",
            )
        if not rules.content(self.target):
            return False
        self._refuse_other_beginning(interrupted=origin is not None)
        return True

    def _refuse_other_beginning(self, *, interrupted: bool) -> None:
        """What the target holds must be the first part of what the source holds, row by row."""
        total = 2 * sum(self.target.transfer().count(table) for table in TABLES)
        seen = Tally("compared", total, self._progress)
        for table in TABLES:
            last = self.target.transfer().last_key(table)
            if last is None:
                continue
            theirs = seal_of(self.target, table, seen=seen)
            if seal_of(self.source, table, until=last, seen=seen) == theirs:
                continue
            if interrupted:
                raise Refused(
                    f"the {table.nouns} of the source have changed since the copy was interrupted",
                    "--restart begins it anew",
                )
            raise Refused(
                f"the {table.nouns} of {self.target.location.shown} are not a beginning of those to copy",
                "choose an empty place",
            )

    def _mark(self) -> None:
        text = rules.mark_text(self.source.location, self._now)
        self.target.put_config(rules.MARK, text, self._now)
        # Two names of one place look different; what is written through one is read through the other.
        if self.source.stored_config().get(rules.MARK) == text:
            self.target.put_config(rules.MARK, None, self._now)
            raise rules.it_is_the_same(self.target.location)

    # --- the copy -----------------------------------------------------------------------------------------

    def _copy_tables(self) -> None:
        total = sum(self.source.transfer().count(table) for table in TABLES)
        done = Tally("copied", total, self._progress)
        for table in TABLES:
            done(self.target.transfer().count(table))
            self._copy_table(table, done)

    def _copy_table(self, table: Table, done: Callable[[int], None]) -> None:
        after = self.target.transfer().last_key(table)
        for rows in self.source.transfer().chunks(table, after=after):
            if table is ATTEMPTS:
                self._logs(rows)
            self.target.transfer().put(table, rows)
            failpoint("copy.chunk")
            done(len(rows))

    # --- after --------------------------------------------------------------------------------------------

    def _verify(self) -> Seals:
        total = 2 * sum(self.source.transfer().count(table) for table in TABLES)
        seen = Tally("verified", total, self._progress)
        theirs = seal_all(self.target, seen)
        ours = seal_all(self.source, seen)
        # Asked after the source was read: who starts a worker now finds a source that was copied whole.
        rules.refuse_activity(self.source, self._living, what="the source")
        wrong = difference(ours, theirs, here="in the source", there="in the target")
        if wrong is not None:
            raise QueuectlError(
                f"the copy is not verified: {wrong}",
                "somebody has changed one of them meanwhile; the same command again goes on from here",
            )
        return ours
