"""Workers of other machines hear of new jobs at once on PostgreSQL, and soon on MySQL."""

from __future__ import annotations

import select
from pathlib import Path

from tests.support.engines import SERVERS, Place, on_engines
from tests.support.home import Home
from tests.support.jobs import NOW

from queuectl import doorbell
from queuectl.testing import wait_until

pytestmark = on_engines(*SERVERS, long=["mysql"])


def test_a_hint_reaches_who_listens(store_url: str, tmp_path: Path) -> None:
    place = Place(str(tmp_path), store_url)
    worker, other = place.open(), place.open()
    source = worker.hint_source()
    if store_url.startswith("mysql"):
        assert source is None  # the poll alone has to do
    else:
        assert source is not None
        doorbell.announce(other, doorbell.JOB)
        assert select.select([source[0]], [], [], 10)[0]
        wait_until(lambda: doorbell.JOB in worker.hints(), what="the hint")
    worker.close()
    other.close()


def test_after_a_lost_connection_it_listens_again(store_url: str, tmp_path: Path) -> None:
    place = Place(str(tmp_path), store_url)
    worker, other = place.open(), place.open()
    before = worker.hint_source()
    worker.connection.driver.close()  # type: ignore[attr-defined]
    assert worker.hint_source() is None
    assert worker.stored_config() == {}
    after = worker.hint_source()
    if store_url.startswith("postgres"):
        assert after is not None
        assert after != before
        other.put_config("shell", "/bin/sh", NOW)
        doorbell.announce(other, doorbell.CONTROL)
        wait_until(lambda: doorbell.CONTROL in worker.hints(), what="the hint after the reconnect")
    worker.close()
    other.close()


def test_a_job_from_another_home_is_found_without_its_bell(home: Home, store_url: str) -> None:
    """Another home has other doorbells, as another machine has."""
    home.ok("config", "set", "poll-interval", "60s" if store_url.startswith("postgres") else "100ms")
    home.start()
    (home.path.parent / "elsewhere").mkdir()
    other = Home(home.path.parent / "elsewhere" / "home", url=store_url)
    other.ok("enqueue", "--id", "a", "true")
    home.wait_for("a", "completed", timeout=20)
