"""The pages of the site that do not lie in docs/: the README, its tour, and what is linked beside them.

A hook of MkDocs (mkdocs.yml). Nothing is written twice: on GitHub people read the files themselves, on the
site the same text under the addresses of the site. How the site looks is left to mkdocs.yml.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from check_docs import FENCE, INLINE_LINK, SCHEME, anchors, slug

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs/"
README = "README.md"
TOUR = "tour.md"
TOUR_TITLE = "Five minutes"
# Its links are the navigation of the site.
LEFT_OUT = "More"
# File of the repository -> page of the site.
PAGES = {
    README: "index.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/RESULTS.md": "results.md",
    "examples/README.md": "examples.md",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Entries of the navigation whose page is not there are left out; pages without an entry are an error."""
    present = {path.relative_to(ROOT / DOCS).as_posix() for path in (ROOT / DOCS).rglob("*.md")}
    present |= {TOUR, *PAGES.values()}
    config.nav = _existing(config.nav or [], present)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages, and each file that some page links to, so that no link leaves the site."""
    texts = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in PAGES.items()}
    texts[PAGES[README]], texts[TOUR] = split_readme(texts[PAGES[README]])
    sources = {page: source for source, page in PAGES.items()} | {TOUR: README}
    for page, text in texts.items():
        files.append(File.generated(config, page, content=rebased(text, source=sources[page], page=page)))
    linked = {target for document in _documents() for target in _targets(document)}
    for target in sorted(linked):
        if _is_copied(target):
            content = (ROOT / target).read_bytes()
            files.append(File.generated(config, _copy_of(target), content=content))
    return files


def on_page_markdown(markdown: str, /, *, page: Page, **_: object) -> str:
    if page.file.generated_by:
        return markdown
    return rebased(markdown, source=DOCS + page.file.src_uri, page=page.file.src_uri)


def split_readme(text: str) -> tuple[str, str]:
    """The home page and the tour."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    tour = [section for section in sections if section.startswith(f"## {TOUR_TITLE}\n")]
    if len(tour) != 1:
        raise SystemExit(f"{README} should have one section '{TOUR_TITLE}': the site's tour is made of it")
    rest = [section for section in sections if section not in tour and not _titled(section, LEFT_OUT)]
    return "".join([head, *rest]), tour[0].removeprefix("#")


def rebased(text: str, *, source: str, page: str) -> str:
    """The text with the links of a file of the repository as links of a page of the site."""

    def change(found: re.Match[str]) -> str:
        target = found[1] or found[2]
        new = _address(target, source=source, page=page)
        return found[0].replace(target, new, 1) if target else found[0]

    lines, fence = [], ""
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        lines.append(line if fence or mark else INLINE_LINK.sub(change, line))
    return "\n".join(lines) + "\n"


def _address(target: str, *, source: str, page: str) -> str:
    if SCHEME.match(target):
        return target
    place, _, anchor = target.partition("#")
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(source), place)) if place else source
    new = _page_of(inside, anchor)
    if new == page:
        return f"#{anchor}" if anchor else page
    relative = posixpath.relpath(new, posixpath.dirname(page) or ".")
    return f"{relative}#{anchor}" if anchor else relative


def _page_of(path: str, anchor: str) -> str:
    if path == README and anchor and anchor in _tour_anchors():
        return TOUR
    if path in PAGES:
        return PAGES[path]
    return path.removeprefix(DOCS) if path.startswith(DOCS) else _copy_of(path)


def _tour_anchors() -> set[str]:
    _, tour = split_readme((ROOT / README).read_text(encoding="utf-8"))
    headings = {slug(line.lstrip("# ")) for line in tour.splitlines() if line.startswith("#")}
    return headings & anchors(ROOT / README)


def _titled(section: str, title: str) -> bool:
    return section.partition("\n")[0] == f"## {title}"


def _existing(entries: list[Any], present: set[str]) -> list[Any]:
    kept: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            [(title, value)] = entry.items()
            if isinstance(value, list):
                if inner := _existing(value, present):
                    kept.append({title: inner})
            elif value in present:
                kept.append(entry)
        elif entry in present:
            kept.append(entry)
    return kept


def _documents() -> Iterator[Path]:
    yield from (ROOT / DOCS).rglob("*.md")
    yield from (ROOT / source for source in PAGES)


def _targets(document: Path) -> Iterator[str]:
    home = document.relative_to(ROOT).parent.as_posix()
    for bracketed, bare in INLINE_LINK.findall(document.read_text(encoding="utf-8")):
        target = bracketed or bare
        if target and not SCHEME.match(target):
            yield posixpath.normpath(posixpath.join(home, target.partition("#")[0]))


def _is_copied(target: str) -> bool:
    outside = not target.startswith((DOCS, "..")) and target not in PAGES
    return outside and (ROOT / target).is_file()


def _copy_of(path: str) -> str:
    """Where a file of the repository lies on the site: as text, so that a browser shows it."""
    return f"source/{path}.txt"
