"""What reads text that others wrote, each with what must be true of whatever it accepts.

A target takes any bytes. It may refuse them by an error of ours; any other exception, and any promise that
does not hold, is a finding. Hypothesis makes the bytes in test_parsers.py, coverage-guided atheris in
proof/fuzz.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from queuectl.core import amounts, chunks, durations, exit_codes, rates, recurrence, retry_after, times
from queuectl.core.ids import check_id
from queuectl.core.queue_spec import read_changes
from queuectl.core.strictjson import load_json
from queuectl.core.templates import compile_template
from queuectl.core.tracecontext import PARENT, STATE, read
from queuectl.core.zones import find_zone
from queuectl.errors import QueuectlError
from tests.fuzz import seeds
from tests.support.jobs import NOW

LONGEST_MESSAGE = 2_000  # nobody's text may fill a terminal, a log or a response by way of an error


@dataclass(frozen=True)
class Target:
    """One reader, and inputs that lead it to many of its branches."""

    name: str
    read: Callable[[bytes], None]
    seeds: tuple[str, ...]

    def __call__(self, data: bytes) -> None:
        refusal: QueuectlError | None = None
        try:
            self.read(data)
        except QueuectlError as error:
            refusal = error
        if refusal is not None:
            told = f"{refusal.message}{refusal.hint or ''}"
            assert refusal.message, "an error that says nothing"
            assert len(told) <= LONGEST_MESSAGE, f"an error of {len(told):,} characters"


def text_of(data: bytes) -> str:
    """As Python reads command lines and files of others: what is no UTF-8 becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def fields_of(data: bytes, count: int) -> list[str]:
    """Several texts out of one: its lines. Those that are missing are empty."""
    lines = text_of(data).split("\n", count - 1)
    return lines + [""] * (count - len(lines))


def read_json(data: bytes) -> None:
    import json

    text = text_of(data)
    value = load_json(text)
    again = json.dumps(value)
    if "Infinity" not in again:  # 1e999 is a number in JSON, and none that can be written
        assert load_json(again) == value


def read_duration(data: bytes) -> None:
    ms = durations.parse_duration(text_of(data))
    assert 0 <= ms <= durations.MAX_DURATION_MS
    shown = durations.format_duration(ms)
    again = durations.parse_duration(shown)
    assert again == ms or (ms >= 10_000 and 0 < ms - again < 1_000), (ms, shown)


def read_time(data: bytes) -> None:
    zone, text = fields_of(data, 2)
    at = times.parse_when(text, now_ms=NOW, zone=find_zone(zone or "UTC"))
    assert 0 <= at <= times.MAX_TIME_MS
    assert times.parse_iso(times.iso(at), what="time") == at


def read_iso(data: bytes) -> None:
    at = times.parse_iso(text_of(data), what="time", zone=find_zone("Europe/Berlin"))
    assert times.parse_iso(times.iso(at), what="time") == at


def read_retry_after(data: bytes) -> None:
    at, told = retry_after.read_retry_after(text_of(data), now_ms=NOW)
    assert at is None or NOW <= at <= NOW + retry_after.LONGEST_MS
    assert told is None or len(told) <= LONGEST_MESSAGE


def read_recurrence(data: bytes) -> None:
    zone, text = fields_of(data, 2)
    found = recurrence.parse_recurrence(text, zone or "UTC")
    again = recurrence.parse_recurrence(found.text, found.zone)
    assert (again.cron, again.period, again.zone) == (found.cron, found.period, found.zone)
    firings = [NOW, *recurrence.upcoming(found, NOW, 3)]
    assert firings == sorted(set(firings)), "time goes backwards"
    assert recurrence.in_words(found)
    due = recurrence.due(found, NOW - 10_000_000, NOW, "one")
    assert due.next_at is None or due.next_at > NOW


def read_amounts(data: bytes) -> None:
    """Sizes, resources, rates, exit codes, ids: short texts of one option each; the first line says which."""
    which, text = fields_of(data, 2)
    readers: dict[str, Callable[[str], None]] = {
        "size": _read_size,
        "needs": _read_needs,
        "provides": lambda text: _assert_pieces(amounts.parse_provides(text)),
        "rate": _read_rate,
        "codes": _read_codes,
        "id": _read_id,
        "trace": _read_trace,
    }
    for name, reader in readers.items():
        if which in ("", name):
            reader(text)


def _read_size(text: str) -> None:
    assert 0 <= amounts.parse_size(text) <= amounts.MAX_SIZE


def _read_needs(text: str) -> None:
    needs = amounts.parse_needs(text)
    assert all(1 <= count <= amounts.MAX_NEEDED for count in needs.values())
    assert not needs or amounts.parse_needs(amounts.format_needs(needs)) == needs


def _assert_pieces(pieces: dict[str, list[str]]) -> None:
    for ids in pieces.values():
        assert len(ids) == len(set(ids)) <= amounts.MAX_PIECES


def _read_rate(text: str) -> None:
    rate = rates.parse_rate(text)
    assert rates.parse_rate(str(rate)) == rate
    granted, bucket = rates.allow(rate, 0, NOW, 10)
    assert 0 <= granted <= 10
    assert 0 <= bucket < 2**63


def _read_codes(text: str) -> None:
    codes = exit_codes.parse_codes(text)
    assert exit_codes.parse_codes(codes) == codes
    assert any(exit_codes.in_codes(codes, code) for code in range(256))


def _read_id(text: str) -> None:
    assert check_id(text) == text
    assert text.isascii()
    assert text.isprintable()


def _read_trace(text: str) -> None:
    parent, _, state = text.partition("\n")
    for value in read({PARENT: parent, STATE: state}).values():
        assert value.isascii()
        assert value.isprintable()


def read_template(data: bytes) -> None:
    replacement, header, template = fields_of(data, 3)
    names = tuple(header.split("\t")) if header else ()
    columns = len(names) or 2
    row = ["a b", "$(x)", "'", '"', "-"][:columns] + ["x"] * (columns - 5)
    line = compile_template(template, columns, names, replacement=replacement or "{}").render(row, 7)
    assert isinstance(line, str)
    words = compile_template(template.split(" "), columns, names, replacement=replacement or "{}")
    assert all(isinstance(word, str) for word in words.render(row, 7))


def read_queue_rule(data: bytes) -> None:
    value = load_json(text_of(data))
    if isinstance(value, dict):
        changes = read_changes(value)
        assert set(value) <= set(changes)


def read_chunks(data: bytes) -> None:
    """Log files can be cut off anywhere, and torn: what is read is never more than what is there."""
    found, used = chunks.unpack_some(data)
    assert used <= len(data)
    assert sum(len(chunk.data) for chunk in found) <= len(data)


def all_targets() -> dict[str, Target]:
    from tests.fuzz.places import read_address, read_cause, read_cursor, read_export, read_filter, read_jobs

    every = (
        Target("json", read_json, seeds.JSON),
        Target("duration", read_duration, seeds.DURATIONS),
        Target("time", read_time, seeds.TIMES),
        Target("iso", read_iso, seeds.ISO),
        Target("retry-after", read_retry_after, (*seeds.DURATIONS, *seeds.ISO)),
        Target("recurrence", read_recurrence, seeds.RECURRENCES),
        Target("amounts", read_amounts, seeds.AMOUNTS),
        Target("template", read_template, seeds.TEMPLATES),
        Target("queue-rule", read_queue_rule, seeds.QUEUE_RULES),
        Target("chunks", read_chunks, seeds.CHUNKS),
        Target("filter", read_filter, seeds.FILTERS),
        Target("jobs", read_jobs, seeds.JOBS),
        Target("export", read_export, seeds.EXPORTS),
        Target("address", read_address, seeds.ADDRESSES),
        Target("cursor", read_cursor, seeds.CURSORS),
        Target("cause", read_cause, seeds.CURSORS),
    )
    return {target.name: target for target in every}
