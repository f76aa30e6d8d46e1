"""Checks the documents against the repository: links, ADR index, module map, commands, settings.

Whether what they say is true is left to their readers and to the tests in tests/docs.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from make_cli_docs import TARGET, page
from make_man_pages import outdated
from queuectl.config.settings import KEYS

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/architecture.md",
    "docs/cli.md",
    "docs/configuration.md",
    "docs/python-api.md",
    "docs/states.md",
)
# One file for each command, named after it: the map names the folder, the CLI reference the rest.
NAMED_AS_A_WHOLE = ("cli/commands",)

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
INLINE_LINK = re.compile(r"\]\(\s*(?:<([^>]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))[^)]*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]^][^\]]*\]:\s*<?([^\s>]+)>?")
HTML_LINK = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=[\"']([^\"']+)[\"']", re.IGNORECASE)
HTML_ANCHOR = re.compile(r"\b(?:id|name)=[\"']([^\"']+)[\"']")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.IGNORECASE)
SETTING_ROW = re.compile(r"^\| `([a-z-]+)` \| `", re.MULTILINE)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a document that are not inside a fenced block."""
    fence = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        mark = FENCE.match(line)
        if fence:
            # Only a fence of the same kind and at least the same length closes a block.
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def slug(heading: str) -> str:
    """The anchor that GitHub makes out of a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # a link counts by its text
    text = re.sub(r"<[^>]+>", "", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    seen: Counter[str] = Counter()
    found: set[str] = set()
    for _, line in prose(path):
        found.update(HTML_ANCHOR.findall(line))
        if heading := HEADING.match(line):
            name = slug(heading[1])
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return frozenset(found)


def links(line: str) -> Iterator[str]:
    if reference := REFERENCE.match(line):
        yield reference[1]
    line = CODE_SPAN.sub("", line)
    for bracketed, bare in INLINE_LINK.findall(line):
        yield bracketed or bare
    yield from HTML_LINK.findall(line)


def broken(target: str, *, source: Path) -> str | None:
    """What is wrong with a link out of `source`, or None."""
    if SCHEME.match(target):
        return None
    place, _, anchor = target.partition("#")
    path = source
    if place:
        start = ROOT if place.startswith("/") else source.parent
        path = (start / unquote(place).lstrip("/")).resolve()
        if not path.is_relative_to(ROOT):
            return f"link '{target}' leaves the repository"
        if not path.exists():
            return f"link '{target}': there is no {path.relative_to(ROOT)}"
    if anchor and path.suffix == ".md" and unquote(anchor) not in anchors(path):
        return f"link '{target}': {path.relative_to(ROOT)} has no heading for '#{anchor}'"
    return None


def link_problems(documents: list[Path]) -> Iterator[str]:
    for document in documents:
        for number, line in prose(document):
            for target in links(line):
                if problem := broken(target, source=document):
                    yield f"{document.relative_to(ROOT)}:{number}: {problem}"


def adr_problems() -> Iterator[str]:
    index = ROOT / "docs/adr/README.md"
    if not index.exists():
        yield "docs/adr/README.md is missing; it lists the decisions"
        return
    listed = {target.partition("#")[0] for _, line in prose(index) for target in links(line)}
    for adr in sorted(index.parent.glob("[0-9]*.md")):
        if adr.name not in listed:
            yield f"docs/adr/README.md does not list {adr.name}; add a line with a link to it"


def is_module(path: Path) -> bool:
    return path.suffix == ".py" and not path.name.startswith("__")


def map_problems() -> Iterator[str]:
    """Every package and module by name; where several share a name, as often as there are."""
    document = ROOT / "docs/architecture.md"
    package = ROOT / "src/queuectl"
    if not document.exists():
        return
    text = document.read_text(encoding="utf-8")
    wanted: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        folder = path.parent.relative_to(package).as_posix()
        if path.name == "__init__.py" and folder != ".":
            wanted.setdefault(f"{path.parent.name}/", []).append(f"{folder}/")
        elif is_module(path) and folder not in NAMED_AS_A_WHOLE:
            wanted.setdefault(path.name, []).append(path.relative_to(package).as_posix())
    for name, places in wanted.items():
        named = len(re.findall(rf"(?<![\w.-]){re.escape(name)}", text))
        if named < len(places):
            yield (
                f"docs/architecture.md names {name} {named} of {len(places)} times;"
                f" it should speak of {', '.join(places)}"
            )


def reference_problems() -> Iterator[str]:
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") != page():
        yield "docs/cli.md is out of date; bring it up: python tools/make_cli_docs.py --write"


def man_problems() -> Iterator[str]:
    if outdated():
        yield "the pages in docs/man are out of date; bring them up: python tools/make_man_pages.py --write"


def setting_problems() -> Iterator[str]:
    """Every setting has a row with its default and the words of `config list`."""
    document = ROOT / "docs/configuration.md"
    if not document.exists():
        return
    text = document.read_text(encoding="utf-8")
    for key in KEYS.values():
        row = f"| `{key.name}` | `{key.default}` | {key.help}"
        if row not in text:
            yield f"docs/configuration.md should have a row that begins: {row}"
    for name in SETTING_ROW.findall(text):
        if name not in KEYS:
            yield f"docs/configuration.md has a row for {name}, which is no setting"


def problems() -> Iterator[str]:
    for name in REQUIRED:
        if not (ROOT / name).exists():
            yield f"{name} is missing"
    documents = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    yield from link_problems(documents)
    yield from adr_problems()
    yield from map_problems()
    yield from reference_problems()
    yield from man_problems()
    yield from setting_problems()


def main() -> int:
    found = list(problems())
    for problem in found:
        print(problem, file=sys.stderr)
    if found:
        print(f"docs: {len(found)} problem{'s' if len(found) > 1 else ''}", file=sys.stderr)
        return 1
    print("docs: links, decisions, module map, commands and settings agree with the repository")
    return 0


if __name__ == "__main__":
    sys.exit(main())
