"""What the thread behind the live pages tells them, look by look, with time turned by hand."""

from __future__ import annotations

import pytest

from queuectl.web.live import Live, Look, Page
from queuectl.web.pool import Pool
from tests.support.engines import engines, fresh_store
from tests.support.home import Home


@pytest.mark.parametrize("engine", engines("sqlite", "postgres"))
def test_a_change_is_told_though_it_was_seen_before_it_was_counted(engine: str, home: Home) -> None:
    """Counts are made twice a second at most. A look between two counts sees that something was written, and
    not what; the next one counts, and may see nothing new written.
    """
    with fresh_store(engine) as url:
        other = Home(home.path.parent / "live", url=url)
        with other.queue() as queue:
            live = Live(Pool(other.address))
            page = Page(lambda: None, queue=None, job=None)
            look = Look(live, queue)
            look.once([page], 100.0)
            assert [name for name, _ in page.take()] == ["stats", "changed"]
            with other.queue() as writer:
                writer.enqueue("true")
            look.once([page], 100.25)
            look.once([page], 101.5)
            assert [name for name, _ in page.take()] == ["stats", "changed"]
