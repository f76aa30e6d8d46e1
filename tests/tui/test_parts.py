"""The parts of the live view by themselves: pages, filters, the end of a log, the layout."""

from __future__ import annotations

import asyncio

from tests.support.fake_worker import FakeWorker, err, out
from tests.support.home import Home
from textual.geometry import Region

from queuectl.cli.output import clean
from queuectl.core.chunks import GAP, STDERR, STDOUT, pack, unpack
from queuectl.queue import Queue
from queuectl.store.messages import JobFilter
from queuectl.tui.newest import PAGE, newest_jobs
from queuectl.tui.pictures import short_number
from queuectl.tui.tail import MOST_LINES, Tail
from queuectl.tui.top import Top
from queuectl.tui.wanted import read_filter


def all_pages(queue: Queue, filter: JobFilter) -> list[list[str]]:
    pages, start = [], {}
    while start is not None:
        jobs, start = newest_jobs(queue, filter, start)
        pages.append([job.id for job in jobs])
    return pages


class TestPages:
    def test_the_last_changed_comes_first(self, queue: Queue, fake_worker: FakeWorker) -> None:
        for id in "abc":
            queue.enqueue("true", id=id)
        fake_worker.complete("a")
        jobs, following = newest_jobs(queue, JobFilter(), {})
        assert {job.id for job in jobs} == {"a", "b", "c"}
        assert [job.updated_at for job in jobs] == sorted((job.updated_at for job in jobs), reverse=True)
        assert following is None

    def test_pages_have_every_job_once_and_none_is_too_long(
        self, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        ids = queue.enqueue_many(["true"] * 230)
        for id in ids[:120]:
            fake_worker.complete(id)
        pages = all_pages(queue, JobFilter())
        assert max(map(len, pages)) == PAGE
        assert sorted(id for page in pages for id in page) == sorted(ids)

    def test_of_one_queue(self, queue: Queue) -> None:
        queue.enqueue("true", id="a", queue="x")
        queue.enqueue("true", id="b", queue="y")
        assert all_pages(queue, JobFilter(queue="x")) == [["a"]]


def tail_of(data: bytes) -> Tail:
    tail = Tail(clean)
    tail.feed(unpack(data))
    return tail


class TestTail:
    def test_lines_of_both_streams_and_an_unfinished_one(self) -> None:
        tail = tail_of(out(b"one\ntw") + err(b"bad\r\n") + out(b"o\nthr"))
        assert tail.lines() == [(STDOUT, "one"), (STDERR, "bad"), (STDOUT, "two"), (STDOUT, "thr")]

    def test_a_progress_bar_hides_nothing(self) -> None:
        assert tail_of(out(b"10%\r20%\r") + out(b"\nend")).lines() == [
            (STDOUT, "10%"),
            (STDOUT, "20%"),
            (STDOUT, "end"),
        ]

    def test_a_letter_may_come_in_two_pieces(self) -> None:
        assert tail_of(out("ü".encode()[:1]) + out("ü".encode()[1:] + b"\n")).lines() == [(STDOUT, "ü")]

    def test_keeps_the_end_and_cuts_what_is_long(self) -> None:
        tail = tail_of(out(b"".join(b"%d\n" % n for n in range(2_000))) + out(b"x" * 100_000))
        lines = tail.lines()
        assert len(lines) == MOST_LINES
        assert lines[-2] == (STDOUT, "1999")
        assert len(lines[-1][1]) < 3_000

    def test_what_was_left_out_is_named(self) -> None:
        assert tail_of(pack(GAP, 0, b"1234")).lines() == [(GAP, "[… 1,234 bytes left out …]")]


class TestWords:
    def test_a_filter(self) -> None:
        found = read_filter("queue:mail some tag:x text state:dead a:b", 0)
        assert (found.queue, found.tag, found.text, found.states) == ("mail", "x", "some text a:b", ("dead",))

    def test_short_numbers(self) -> None:
        numbers = [short_number(n) for n in (0, 9_999, 12_345, 123_456, 1_000_000)]
        assert numbers == ["0", "9999", "12.3k", "123k", "1.0M"]


class TestLayout:
    def test_all_of_it_is_on_a_small_screen_and_on_a_large_one(
        self, home: Home, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        fake_worker.add_jobs_in_every_state()
        small = asyncio.run(regions(home, (80, 24)))
        assert small["queues"][1] < small["jobs"][1]
        assert small["jobs"][3] >= 6
        large = asyncio.run(regions(home, (140, 40)))
        assert large["queues"][0] < large["jobs"][0]
        assert large["queues"][1] == large["jobs"][1]


async def regions(home: Home, size: tuple[int, int]) -> dict[str, tuple[int, int, int, int]]:
    """Where things are: x, y, width, height; none overlaps another or leaves the screen."""
    top = Top(home.address, clean)
    async with top.run_test(size=size) as pilot:
        await pilot.pause()
        names = ("head", "tabs", "queues", "jobs", "details", "log-title", "log", "keys")
        found = {name: top.board.query_one(f"#{name}").region for name in names}
    for name, region in found.items():
        assert region.area > 0, name
        assert Region(0, 0, *size).contains_region(region), name
        assert not [other for other in names if other != name and found[other].overlaps(region)], name
    return {name: (r.x, r.y, r.width, r.height) for name, r in found.items()}
