"""A whole queue out of a file: read and checked first, then stored in one transaction, all or nothing."""

from __future__ import annotations

from queuectl.errors import InvalidInput, StoreError
from queuectl.transfer import rules
from queuectl.transfer.exportfile import ExportFile
from queuectl.transfer.progress import Tally
from queuectl.transfer.seals import difference, seal_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from queuectl.core.tables import Row, Table
    from queuectl.store.api import Store
    from queuectl.transfer.progress import Progress
    from queuectl.transfer.rules import Living
    from queuectl.transfer.seals import Seals


def check_file(
    file: BinaryIO,
    *,
    edited: bool,
    parse: Callable[[Mapping[str, str]], object],
    progress: Progress,
    running: bool = False,
) -> ExportFile:
    """Read it to its end before anything is stored. `parse` refuses settings that make no sense."""
    size = file.seek(0, 2)
    found = ExportFile(file)
    found.check(Tally("bytes checked", size, progress), edited=edited, running=running)
    try:
        parse(found.settings)
    except InvalidInput as error:
        error.message = f"the settings in the file: {error.message}"
        raise
    return found


def load(found: ExportFile, target: Store, *, living: Living, progress: Progress) -> Seals:
    """Store all of it; what was stored is compared with the file before it is committed."""
    rules.refuse_activity(target, living, what=rules.TARGET)

    def refuse_content() -> None:
        rules.refuse_content(target, "import into an empty place: --db")

    def compare() -> None:
        wrong = difference(found.seals, seal_all(target), here="in the file", there="in the store")
        if wrong is not None:
            raise StoreError(f"what was stored is not what was read: {wrong}", "nothing was imported")

    def parts() -> Iterator[tuple[Table, list[Row]]]:
        done = Tally("imported", sum(seal.rows for seal in found.seals.values()), progress)
        for table, rows in found.parts():
            yield table, rows
            done(len(rows))

    target.transfer().put_all(
        parts, before=refuse_content, arrived=lambda: seal_all(target) == found.seals, after=compare
    )
    return found.seals
