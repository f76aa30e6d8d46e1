"""A setting as it is in force: its value, and where that comes from."""

from __future__ import annotations

from queuectl.config import kinds, sources
from queuectl.core.durations import plain_number, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.config.settings import Key


class Value:
    """A setting as it is in force."""

    __slots__ = ("key", "origin", "text")

    def __init__(self, key: Key, gathered: dict[str, tuple[str, str]]) -> None:
        self.key = key
        self.text, self.origin = gathered.get(key.name, (key.default, sources.DEFAULT))

    def shown(self, name: str | None = None) -> str:
        return sources.from_stored(name or self.key.name, self.text)

    def to_dict(self, name: str | None = None) -> dict[str, object]:
        value = self.key.parse(self.text, self.key.name)
        if name is not None and sources.counts_attempts(name):
            value = int(self.shown(name))
        elif self.key.show is kinds.show_duration and isinstance(value, int):
            value = seconds(value)  # a duration, and those are seconds in JSON
        elif isinstance(value, float):
            value = plain_number(value)
        return {"value": value, "origin": self.origin}
