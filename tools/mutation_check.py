"""Breaks the program on purpose, one way at a time, and says which test of `make test` notices.

Each way is an entry of mutants.toml: what is broken, the code to find, the code to put in its place, and the
tests that are likeliest to notice. The code is searched in the whole package by its tokens, so that a module
may move, be indented otherwise or be formatted anew; a renamed function has to be renamed there too.

A mutant is put into a copy of this tree and of its environment; this tree stays as it is. Its own tests run
first; if they pass, the rest of the default tier does. Exit code 1 if a mutant survives or cannot be applied.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import time
import tokenize
import tomllib
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MUTANTS = Path(__file__).with_name("mutants.toml")
PACKAGE = "src/queuectl"
DEFAULT_TIER = "not long and not proof"  # as `make test` has it
NOT_COPIED = {
    ".git",
    ".venv",
    ".hypothesis",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    "build",
    "dist",
    "site",
}
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
WIDTH = 38  # of names in what is printed
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?::.+?)(?: - .*)?$", re.MULTILINE)


class Mutant(NamedTuple):
    """`tests`: files, folders or names of tests that are likeliest to notice."""

    name: str
    what: str
    find: str
    replace: str
    tests: tuple[str, ...]


class Obsolete(Exception):
    """The code is not as a mutant expects it."""


class Broken(Exception):
    """The tests say nothing: they fail without a mutant, or cannot run at all."""


class Run(NamedTuple):
    """What pytest said."""

    failed: str | None  # the first test that did
    said: str


# --- finding the place ----------------------------------------------------------------------------------


def read_mutants(file: Path) -> list[Mutant]:
    entries = tomllib.loads(file.read_text(encoding="utf-8"))
    return [Mutant(name, **{**entry, "tests": tuple(entry["tests"])}) for name, entry in entries.items()]


def apply(mutant: Mutant, tree: Path) -> tuple[Path, str]:
    """The one file that has this code, and its text with the other code instead."""
    found: list[tuple[Path, str]] = []
    wanted = [token.string for token in tokens_of(textwrap.dedent(mutant.find))]
    telling = max(wanted, key=len)
    for file in sorted((tree / PACKAGE).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if telling in text:
            found += [(file, changed) for changed in replaced(text, wanted, mutant.replace)]
    if len(found) != 1:
        places = ", ".join(str(file.relative_to(tree)) for file, _ in found)
        times = f"its code is found {len(found)} times ({places})" if found else "its code is not found"
        raise Obsolete(f"mutant {mutant.name} no longer applies: {times}; update tools/{MUTANTS.name}")
    file, changed = found[0]
    try:
        compile(changed, file, "exec")
    except SyntaxError as error:
        raise Obsolete(f"mutant {mutant.name} is no Python: {error}; update tools/{MUTANTS.name}") from None
    return file, changed


def tokens_of(text: str) -> list[tokenize.TokenInfo]:
    """Without comments and layout: line breaks, indentation, the comma before a closing bracket."""
    found: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in LAYOUT:
                continue
            if token.string in (")", "]", "}") and found and found[-1].string == ",":
                found.pop()
            found.append(token)
    except tokenize.TokenError:
        pass  # part of a statement
    return found


def replaced(text: str, wanted: Sequence[str], by: str) -> Iterator[str]:
    """The text with the wanted tokens replaced, once for each place where they are."""
    tokens = tokens_of(text)
    strings = [token.string for token in tokens]
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for place in range(len(strings) - len(wanted) + 1):
        if strings[place : place + len(wanted)] == wanted:
            (row, column), (last_row, last_column) = tokens[place].start, tokens[place + len(wanted) - 1].end
            line = lines[row - 1]
            indent = line[: len(line) - len(line.lstrip())]
            new = textwrap.dedent(by).strip("\n").replace("\n", "\n" + indent)
            yield text[: starts[row - 1] + column] + new + text[starts[last_row - 1] + last_column :]


def check_tests(mutant: Mutant, tree: Path) -> None:
    for test in mutant.tests:
        if not (tree / test.partition("::")[0]).exists():
            raise Obsolete(f"mutant {mutant.name} names {test}, which is gone; update tools/{MUTANTS.name}")


# --- running the tests ----------------------------------------------------------------------------------


class Copy:
    """A copy of this tree, and an environment whose every interpreter imports the program from it."""

    def __init__(self, place: Path, workers: int) -> None:
        self.tree = place / "tree"
        self._workers = workers
        self._python = place / "venv" / "bin" / "python"
        shutil.copytree(ROOT, self.tree, symlinks=True, ignore=_not_copied)
        self._make_environment(place / "venv")

    def _make_environment(self, place: Path) -> None:
        """Not PYTHONPATH: tests set their own, and a command that is run with -I does not look at it."""
        venv.EnvBuilder(symlinks=True).create(place)
        (packages,) = place.glob("lib/python*/site-packages")
        # As plain lines: the .pth files of those folders, by which this very tree is installed, are not read.
        folders = dict.fromkeys((str(self.tree / "src"), *map(sysconfig.get_path, ("purelib", "platlib"))))
        (packages / "copy.pth").write_text("".join(f"{folder}\n" for folder in folders))
        shown = subprocess.check_output(
            [self._python, "-I", "-c", "import queuectl; print(queuectl.__file__)"], text=True, cwd=place
        )
        if not Path(shown.strip()).is_relative_to(self.tree.resolve()):
            raise Broken(f"the tests would not import the copy but {shown.strip()}")

    @contextmanager
    def broken(self, mutant: Mutant) -> Iterator[None]:
        file, changed = apply(mutant, self.tree)
        before, times = file.read_bytes(), file.stat()
        file.write_text(changed, encoding="utf-8")
        try:
            yield
        finally:
            file.write_bytes(before)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # or old bytecode could be taken for it

    def test(self, tests: Sequence[str]) -> Run:
        """All of the default tier if none are named."""
        words = ["-q", "-x", "-p", "no:cacheprovider", "-m", DEFAULT_TIER, "--color=no"]
        workers = ["-n", str(self._workers), "--dist", "worksteal"] if self._workers > 1 else []
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            [self._python, "-m", "pytest", *words, *workers, *tests],
            cwd=self.tree,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        failed = FAILED.search(done.stdout)
        if failed is None and done.returncode != 0:
            raise Broken(f"pytest ended with code {done.returncode}:\n{done.stdout[-4000:]}")
        return Run(failed[1] if failed else None, done.stdout)


def _not_copied(folder: str, names: list[str]) -> set[str]:
    return NOT_COPIED.intersection(names) if Path(folder) == ROOT else set()


def catch(mutant: Mutant, copy: Copy, *, hints: bool, rest: bool) -> str | None:
    """The test that notices; None if none does."""
    with copy.broken(mutant):
        failed = copy.test(mutant.tests).failed if hints else None
        hinted = failed is not None
        if failed is None and rest:
            failed = copy.test(()).failed
    # What has no part in the first run may fail for another reason.
    if failed is not None and not hinted and copy.test([failed]).failed is not None:
        raise Broken(f"{failed} fails without the mutant too")
    return failed


def check_without(copy: Copy, mutants: Sequence[Mutant]) -> None:
    """The tests that the mutants name pass as long as nothing is broken; else they would tell nothing."""
    run = copy.test(sorted({test for mutant in mutants for test in mutant.tests}))
    if run.failed is not None:
        raise Broken(f"{run.failed} fails without any mutant:\n{run.said[-4000:]}")
    print(f"nothing broken: {run.said.strip().splitlines()[-1].strip('= ')}", flush=True)


def judge(mutant: Mutant, copy: Copy, *, hints: bool, rest: bool) -> bool:
    """Whether a test notices it; prints a line."""
    began = time.monotonic()
    try:
        failed = catch(mutant, copy, hints=hints, rest=rest)
    except (Broken, Obsolete) as error:
        print(f"{mutant.name:<{WIDTH}} CANNOT TELL: {error}", flush=True)
        return False
    took = f"{time.monotonic() - began:.0f} s"
    if failed is None:
        print(f"{mutant.name:<{WIDTH}} SURVIVED ({took}): {mutant.what}", flush=True)
        return False
    print(f"{mutant.name:<{WIDTH}} caught by {failed} ({took})", flush=True)
    return True


def chosen(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    known = {mutant.name: mutant for mutant in mutants}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"there is no mutant {', '.join(unknown)}; --list shows them")
    return [known[name] for name in names] or list(mutants)


def obsolete(mutants: Sequence[Mutant]) -> list[str]:
    """What is to be said of those that this tree has no place for."""
    found = []
    for mutant in mutants:
        try:
            apply(mutant, ROOT)
            check_tests(mutant, ROOT)
        except Obsolete as error:
            found.append(str(error))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="mutants to try; all of them if none is named"
    )
    parser.add_argument("--list", action="store_true", help="show the mutants")
    parser.add_argument("--check", action="store_true", help="only see whether each can still be applied")
    tests = parser.add_mutually_exclusive_group()
    tests.add_argument("--all", action="store_true", help="all tests at once, not first those that it names")
    tests.add_argument("--quick", action="store_true", help="only the tests that it names, not the rest")
    parser.add_argument("-n", "--workers", type=int, default=4, help="of pytest (default: %(default)s)")
    options = parser.parse_args()
    mutants = chosen(read_mutants(MUTANTS), options.names)
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name:<{WIDTH}} {mutant.what}")
        return
    if complaints := obsolete(mutants):
        sys.exit("\n".join(complaints))
    if options.check:
        print(f"{len(mutants)} mutants can be applied")
        return
    with tempfile.TemporaryDirectory(prefix="queuectl-mutants-") as place:
        os.chmod(place, 0o755)  # some tests become another user
        try:
            copy = Copy(Path(place), options.workers)
            if not options.all:
                check_without(copy, mutants)
        except Broken as error:
            sys.exit(str(error))
        caught = [judge(mutant, copy, hints=not options.all, rest=not options.quick) for mutant in mutants]
    print(f"{sum(caught)} of {len(caught)} mutants are caught")
    sys.exit(0 if all(caught) else 1)


if __name__ == "__main__":
    main()
