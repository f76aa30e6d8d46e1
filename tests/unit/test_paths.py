"""Where the store is, and that what we make is ours alone."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queuectl.errors import InvalidInput, StoreError
from queuectl.paths import default_home, locate, make_parent_dir, make_private_dir

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("QUEUECTL_DB", "QUEUECTL_DB_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QUEUECTL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: object) -> int:
    return stat.S_IMODE(os.stat(str(path)).st_mode)


def test_the_home_is_where_the_variable_says_or_in_the_users_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("QUEUECTL_HOME", raising=False)
    assert default_home() == str(tmp_path / ".queuectl")
    monkeypatch.setenv("QUEUECTL_HOME", "")
    assert default_home() == str(tmp_path / ".queuectl")
    monkeypatch.setenv("QUEUECTL_HOME", "~/elsewhere/")
    assert default_home() == str(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUEUECTL_HOME", "relative")
    assert default_home() == str(tmp_path / "relative")


def test_an_empty_home_is_none_and_not_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("QUEUECTL_HOME", raising=False)
    own = pwd.getpwuid(os.getuid()).pw_dir
    assert default_home() == os.path.join(own, ".queuectl")


def test_a_home_that_cannot_be_told_is_an_error_and_not_a_directory_named_tilde(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QUEUECTL_HOME", "~nobody-of-this-name/queue")
    with pytest.raises(InvalidInput, match="home directory"):
        default_home()


def test_by_default_everything_is_in_the_home(home: Path) -> None:
    location = locate()
    assert (location.file, location.state_dir) == (str(home / "queue.db"), str(home))
    assert location.run_dir == str(home / "run")
    assert location.logs_dir == str(home / "logs")


def test_without_a_variable_the_home_is_in_the_users_own_directory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QUEUECTL_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate().file == str(tmp_path / ".queuectl" / "queue.db")


def test_the_argument_goes_before_the_variable(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUECTL_DB_PATH", str(tmp_path / "c.db"))
    assert locate().file == str(tmp_path / "c.db")
    monkeypatch.setenv("QUEUECTL_DB", str(tmp_path / "b.db"))
    assert locate().file == str(tmp_path / "b.db")
    assert locate(str(tmp_path / "a.db")).file == str(tmp_path / "a.db")


def test_a_store_elsewhere_has_a_directory_of_its_own_beside_it(home: Path, tmp_path: Path) -> None:
    location = locate(str(tmp_path / "jobs.db"))
    assert location.state_dir == str(tmp_path / "jobs.db.d")
    assert location.run_dir == str(tmp_path / "jobs.db.d" / "run")


@pytest.mark.parametrize(
    ("given", "file"),
    [
        ("jobs.db", "{here}/jobs.db"),
        ("sub/../jobs.db", "{here}/jobs.db"),
        ("{here}/jobs.db", "{here}/jobs.db"),
        ("sqlite://jobs.db", "{here}/jobs.db"),
        ("sqlite:///{here}/jobs.db", "{here}/jobs.db"),
        ("sqlite://{here}/jobs.db", "{here}/jobs.db"),
        ("SQLite://{here}/jobs.db", "{here}/jobs.db"),
        ("sqlite://", "{here}/home/queue.db"),
        ("sqlite:///", "{here}/home/queue.db"),
        ("~/jobs.db", "{here}/user/jobs.db"),
        ("a b?mode=memory.db", "{here}/a b?mode=memory.db"),
    ],
)
def test_how_a_store_may_be_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, file: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    here = str(tmp_path)
    assert locate(given.format(here=here)).file == file.format(here=here)


def test_however_the_default_store_is_named_it_is_the_same_place(home: Path, tmp_path: Path) -> None:
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    for name in (str(home / "queue.db"), "home/queue.db", "link/queue.db", "sqlite://"):
        assert (locate(name).file, locate(name).state_dir) == (str(home / "queue.db"), str(home))


def test_a_home_behind_a_link_is_the_directory_it_leads_to(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk").mkdir(mode=0o700)
    home.symlink_to(tmp_path / "disk")
    assert locate().state_dir == str(tmp_path / "disk")
    make_private_dir(locate().state_dir)


def test_a_file_behind_a_link_is_one_store_under_both_names(home: Path, tmp_path: Path) -> None:
    home.mkdir()
    (tmp_path / "big").mkdir()
    (home / "queue.db").symlink_to(tmp_path / "big" / "queue.db")
    real = locate(str(tmp_path / "big" / "queue.db"))
    assert locate().file == real.file == str(tmp_path / "big" / "queue.db")
    assert locate().run_dir == real.run_dir == str(home / "run")


@pytest.mark.parametrize("given", ["oracle://u:secret@h/db", "http://x/y"])
def test_an_address_that_we_cannot_serve_is_refused_without_repeating_its_password(
    home: Path, given: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        locate(given)
    assert "secret" not in caught.value.message + str(caught.value.hint)


def test_a_path_with_a_nul_byte_is_refused(home: Path) -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        locate("a\0b")


@pytest.mark.usefixtures("open_umask")
def test_a_directory_of_ours_is_private_at_every_new_level(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c"
    assert make_private_dir(str(path)) == str(path)
    assert [mode(path), mode(path.parent), mode(path.parent.parent)] == [0o700] * 3


def test_an_existing_directory_of_ours_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "d"
    path.mkdir()
    path.chmod(0o775)
    make_private_dir(str(path))
    assert mode(path) == 0o700
    assert make_private_dir(str(path)) == str(path)


def test_a_directory_shared_by_everybody_is_refused_and_stays_so(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.raises(StoreError, match="shared"):
        make_private_dir(str(shared))
    assert mode(shared) == 0o1777


@pytest.mark.parametrize("path", ["file", "file/below", "link", "dangling"])
def test_what_is_no_directory_is_refused_with_a_remedy(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError) as caught:
        make_private_dir(str(tmp_path / path))
    assert caught.value.hint


@pytest.mark.usefixtures("open_umask")
def test_the_directory_of_a_file_elsewhere_is_left_as_it_is(home: Path, tmp_path: Path) -> None:
    (tmp_path / "team").mkdir(mode=0o755)
    make_parent_dir(locate(str(tmp_path / "team" / "jobs.db")))
    assert mode(tmp_path / "team") == 0o755
    make_parent_dir(locate(str(tmp_path / "new" / "jobs.db")))
    assert mode(tmp_path / "new") == 0o700
    make_parent_dir(locate())
    assert mode(home) == 0o700
