"""The site: made of the documents, whole, and without anything that a browser would fetch from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.docs.blocks import ROOT

pytestmark = pytest.mark.long

# What a browser loads by itself, not what somebody may click on.
LOADED = re.compile(r"<(?:script|img|iframe|link|source)\b[^>]*?\b(?:src|href|srcset)=[\"']?([^\"'\s>]+)")
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?(https?:)?//", re.IGNORECASE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(built)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return built


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        loaded = LOADED.findall(page.read_text(encoding="utf-8"))
        assert loaded
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == [], page.name
    for style in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        assert IN_STYLES.search(style.read_text(encoding="utf-8")) is None, style.name


def test_the_tour_is_the_readme_s(site: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tour = (site / "tour.html").read_text(encoding="utf-8")
    home = (site / "index.html").read_text(encoding="utf-8")
    section = readme.partition("## Five minutes\n")[2].partition("\n## ")[0]
    bold = re.findall(r"^\*\*([A-Z][\w ]+)\.", section, re.MULTILINE)
    assert len(bold) > 5
    for words in bold:
        assert f"<strong>{words}." in tour
        assert f"<strong>{words}." not in home


def test_every_page_can_be_searched(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"404.html"}
    # The address of the home page is empty.
    assert {page.removesuffix("index.html") if page == "index.html" else page for page in pages} <= found | {
        ""
    }


def test_pages_that_are_not_written_yet_are_the_only_ones_left_out() -> None:
    """An entry of the navigation without a page is left out, so a page that was renamed would get lost."""
    text = re.sub(r"!!python/\S+", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    entries = re.findall(r"([\w/-]+\.md)", json.dumps(yaml.safe_load(text)["nav"]))
    made = {"tour.md", *re.findall(r"\.md\": \"([\w-]+\.md)\"", (ROOT / "tools/site_pages.py").read_text())}
    made.add("index.md")
    missing = {entry for entry in entries if entry not in made and not (ROOT / "docs" / entry).exists()}
    assert missing <= {"shell.md", "notifications.md", "agents.md", "why.md", "operations.md", "care.md"}
