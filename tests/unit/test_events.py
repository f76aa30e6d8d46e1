"""Events reach whoever listens, for as long as they listen."""

from __future__ import annotations

from queuectl.events import emit, subscribe


def test_an_event_without_listeners_does_nothing() -> None:
    emit("nobody.hears", number=1)


def test_every_listener_hears_the_name_and_the_fields() -> None:
    one: list[object] = []
    two: list[object] = []
    leave_one = subscribe(lambda name, fields: one.append((name, fields)))
    leave_two = subscribe(lambda name, fields: two.append((name, fields)))
    emit("job.done", seq=7)
    leave_one()
    emit("job.done", seq=8)
    leave_two()
    emit("job.done", seq=9)
    assert one == [("job.done", {"seq": 7})]
    assert two == [("job.done", {"seq": 7}), ("job.done", {"seq": 8})]


def test_a_listener_may_leave_while_it_hears_and_the_next_one_still_does() -> None:
    heard: list[str] = []

    def once(name: str, fields: dict[str, object]) -> None:
        heard.append("first")
        leave_first()

    leave_first = subscribe(once)
    leave_second = subscribe(lambda name, fields: heard.append(f"second {name} {fields}"))
    emit("x")
    emit("y")
    leave_second()
    assert heard == ["first", "second x {}", "second y {}"]
