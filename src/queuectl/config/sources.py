"""Where each value comes from: default < file < database < environment < flag."""

from __future__ import annotations

import os

from queuectl.config.settings import ALIASES, ATTEMPTS_ALIASES, KEYS, Key, Settings
from queuectl.errors import InvalidInput, NotFound
from queuectl.paths import config_file, config_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT = "default"
FILE = "file"
DATABASE = "database"
ENVIRONMENT = "environment"


def find_key(name: str) -> Key:
    """A key by any of its names; snake_case is as good as kebab-case."""
    wanted = name.strip().lower().replace("_", "-")
    wanted = ALIASES.get(wanted, wanted)
    if wanted in ATTEMPTS_ALIASES:
        wanted = "max-retries"
    key = KEYS.get(wanted)
    if key is None:
        from difflib import get_close_matches

        near = get_close_matches(wanted, [*KEYS, *ALIASES, *ATTEMPTS_ALIASES], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else "queuectl config list shows all keys"
        raise NotFound(f"there is no setting {name[:60]!r}", hint)
    return key


def to_stored(name: str, value: str) -> tuple[Key, str]:
    """The key and the text to store for `config set NAME VALUE`; refuses what does not parse."""
    key = find_key(name)
    if counts_attempts(name):
        attempts = KEYS["max-retries"].parse(value, name)
        assert isinstance(attempts, int)
        if attempts < 1:
            raise InvalidInput(f"{name} must be at least 1", "it counts the first run too")
        value = str(attempts - 1)
    key.parse(value, key.name)
    return key, value.strip()


def from_stored(name: str, text: str) -> str:
    """The text to show for `config get NAME`."""
    key = find_key(name)
    value = key.parse(text, key.name)
    if counts_attempts(name):
        assert isinstance(value, int)
        return str(value + 1)
    return key.show(value)


def counts_attempts(name: str) -> bool:
    return name.strip().lower().replace("_", "-") in ATTEMPTS_ALIASES


def gather(stored: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Every key that is set somewhere: its text and where it comes from."""
    found: dict[str, tuple[str, str]] = {}
    for origin, texts in ((FILE, _file()), (DATABASE, stored), (ENVIRONMENT, _environment())):
        for name, text in texts.items():
            found[name] = (text, origin)
    return found


def load(stored: Mapping[str, str]) -> Settings:
    return Settings({name: text for name, (text, _) in gather(stored).items()})


def _file() -> dict[str, str]:
    path = config_file()
    table = config_table()
    table.pop("db", None)  # the store itself, see `paths`
    texts = {}
    for name, value in table.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        try:
            key, stored = to_stored(name, text)
        except (InvalidInput, NotFound) as error:
            raise InvalidInput(f"{path}: {error.message}", error.hint) from None
        texts[key.name] = stored
    return texts


def _environment() -> dict[str, str]:
    texts = {}
    for name in (*KEYS, *ATTEMPTS_ALIASES):
        variable = "QUEUECTL_" + name.upper().replace("-", "_")
        value = os.environ.get(variable)
        if value is not None:
            try:
                key, text = to_stored(name, value)
            except InvalidInput as error:
                raise InvalidInput(f"{variable}: {error.message}", f"correct or unset {variable}") from None
            texts[key.name] = text
    return texts
