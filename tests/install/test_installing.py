"""Installing as the README says it: from the checkout, the wheel and the source archive, by pip and by pipx.

Each into a fresh environment and for a user who has nothing yet. The net is used by pip alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from queuectl import __version__

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/queuectl"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LIMIT = 240
pytestmark = [pytest.mark.long, pytest.mark.timeout(2 * LIMIT)]


def environment(home: Path, *path: Path) -> dict[str, str]:
    """That of a user without anything, except that pip finds packages where ours does, and those it has."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("QUEUECTL_", "PYTHON", "VIRTUAL_ENV"))}
    settings = Path.home() / ".config/pip/pip.conf"
    if settings.exists():
        kept.setdefault("PIP_CONFIG_FILE", str(settings))
    kept["PIP_CACHE_DIR"] = _say([sys.executable, "-m", "pip", "cache", "dir"], env=dict(os.environ)).strip()
    return {**kept, "HOME": str(home), "PATH": os.pathsep.join([*map(str, path), kept["PATH"]])}


def _say(command: list[str] | str, *, env: dict[str, str], cwd: Path | None = None) -> str:
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the source archive; the wheel is made of the archive."""
    home = tmp_path_factory.mktemp("built")
    _say([sys.executable, "-m", "build", "--outdir", str(home), str(ROOT)], env=environment(home))
    return home


class User:
    """Has an environment of Python's own making with nothing but pip in it, an empty home and directory."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder / "venv"
        self.home = folder / "home"
        self.home.mkdir()
        self.env = environment(self.home, self.prefix / "bin")
        _say([sys.executable, "-m", "venv", str(self.prefix)], env=self.env)

    def types(self, line: str, *, cwd: Path | None = None) -> str:
        return _say(line, env=self.env, cwd=cwd or self.home)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def wheel(folder: Path) -> Path:
    [found] = folder.glob("*.whl")
    return found


def archive(folder: Path) -> Path:
    [found] = folder.glob("*.tar.gz")
    return found


def assert_works(user: User) -> None:
    """The program runs, out of what was installed and not out of the checkout, and has brought all along."""
    assert user.types("queuectl run -- echo hello") == "hello\n"
    assert user.types("queuectl --version") == f"queuectl {__version__}\n"
    assert "Completed: 1\n" in user.types("queuectl status")
    place = Path(user.types("python -c 'import queuectl; print(queuectl.__file__)'").strip()).parent
    assert place.is_relative_to(user.prefix)
    assert _files(PACKAGE) - _files(place) == set()
    for source, target in _shared_data().items():
        assert _names(ROOT / source) == _names(user.prefix / target) & _names(ROOT / source), target


def _files(package: Path) -> set[str]:
    names = (path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file())
    return {name for name in names if "__pycache__" not in name}


def _names(place: Path) -> set[str]:
    """What is in a folder; a file stands for itself, whatever it is called."""
    return (
        {path.name for path in place.iterdir()} if place.is_dir() else {"file"} if place.is_file() else set()
    )


def _shared_data() -> dict[str, str]:
    """What belongs beside the package, such as manual pages: a file of ours -> its place under the prefix."""
    targets = PYPROJECT["tool"]["hatch"]["build"]["targets"]
    declared: dict[str, str] = targets["wheel"].get("shared-data", {})
    return declared


def test_the_readme_s_first_line_works_as_written(user: User) -> None:
    [line] = re.findall(
        r"^pip install \. .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert user.types(line, cwd=ROOT).splitlines()[-1] == "hello"


@pytest.mark.parametrize("form", [wheel, archive], ids=["wheel", "archive"])
def test_what_is_published_can_be_installed(user: User, built: Path, form: Callable[[Path], Path]) -> None:
    user.types(f"pip install --quiet {form(built)}")
    assert_works(user)


def test_an_extra_brings_what_its_command_needs(user: User, built: Path) -> None:
    user.types(f"pip install --quiet '{wheel(built)}[web]'")
    assert "# TYPE queuectl_jobs gauge" in user.types("queuectl metrics")


def test_pipx_installs_it(user: User, built: Path) -> None:
    user.types("pip install --quiet pipx")
    user.types(f"pipx install --quiet {wheel(built)}")
    assert user.types(f"{user.home}/.local/bin/queuectl run -- echo hello") == "hello\n"


def test_the_wheel_has_all_files_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(wheel(built)) as opened:
        names = set(opened.namelist())
    inside = {name.removeprefix("queuectl/") for name in names if name.startswith("queuectl/")}
    assert inside == _files(PACKAGE)
    shared = re.compile(r"queuectl-[^/]+\.(dist-info|data)/")
    assert [name for name in names if not name.startswith("queuectl/") and not shared.match(name)] == []


def test_the_archive_has_what_is_needed_to_test_it(built: Path) -> None:
    with tarfile.open(archive(built)) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {
        "Makefile",
        "LICENSE",
        "README.md",
        "docs/cli.md",
        "tests/conftest.py",
        "tools/check_docs.py",
    } <= names
