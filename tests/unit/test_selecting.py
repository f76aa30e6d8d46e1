"""When a look back begins: the words of `--since` and `--before` that the parser of times does not know."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from queuectl.errors import InvalidInput
from queuectl.selecting import moment


def ms(when: datetime) -> int:
    return round(when.timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "back", "hour"),
    [("yesterday", 1, 0), (" Yesterday 9am", 1, 9), ("yesterday 17:00", 1, 17), ("today", 0, 0)],
)
@pytest.mark.parametrize("now_hour", [0, 2, 12, 23])
@pytest.mark.parametrize("day", [datetime(2026, 3, 30), datetime(2026, 10, 26), datetime(2026, 11, 18)])
def test_days_have_names(text: str, back: int, hour: int, now_hour: int, day: datetime) -> None:
    expected = day.replace(hour=hour) - timedelta(days=back)
    now = ms(day.replace(hour=now_hour, minute=30))
    assert moment(text, now=now, what="--since") == ms(expected)


def test_what_is_no_time_of_day_is_told_as_it_was_written() -> None:
    with pytest.raises(InvalidInput, match="--since 'yesterday x': not a time") as caught:
        moment("yesterday x", now=ms(datetime(2026, 11, 18)), what="--since")
    assert "'yesterday 17:00'" in str(caught.value.hint)
