"""Settings in the store: put, replaced, removed, the same for every connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.jobs import NOW

if TYPE_CHECKING:
    from tests.support.stores import Engine

    from queuectl.store.api import Store


def test_a_fresh_store_has_no_settings(store: Store) -> None:
    assert store.stored_config() == {}


def test_a_setting_is_seen_by_all(engine: Engine, store: Store) -> None:
    store.put_config("max-retries", "5", NOW)
    store.put_config("shell", "/bin/bäsh 'x'", NOW)
    assert engine.open().stored_config() == {"max-retries": "5", "shell": "/bin/bäsh 'x'"}


def test_the_last_value_holds(store: Store) -> None:
    store.put_config("max-retries", "5", NOW)
    store.put_config("max-retries", "6", NOW + 1)
    assert store.stored_config() == {"max-retries": "6"}


def test_none_removes_a_setting_whether_it_was_there_or_not(store: Store) -> None:
    store.put_config("max-retries", "5", NOW)
    store.put_config("max-retries", None, NOW)
    store.put_config("max-retries", None, NOW)
    assert store.stored_config() == {}


def test_a_change_of_a_setting_is_noticed_by_who_waits(engine: Engine, store: Store) -> None:
    before = store.changed()
    engine.open().put_config("max-retries", "5", NOW)
    assert store.changed() != before
