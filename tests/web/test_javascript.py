"""The page's own tests, of those parts that need no browser; and what holds for all of its files."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STATIC = HERE.parent.parent / "src" / "queuectl" / "web" / "static"
MOST_BYTES = 150 * 1024
SCRIPTS = sorted(STATIC.glob("*.js"))


def test_the_tests_in_javascript_pass() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("NODE IS NOT INSTALLED: the page's JavaScript is not tested")
    files = [str(file) for file in sorted((HERE / "js").glob("*.test.mjs"))]
    assert files
    result = subprocess.run(
        [node, "--test", *files], capture_output=True, text=True, timeout=120, cwd=HERE, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_page_is_small() -> None:
    sizes = {file.name: file.stat().st_size for file in STATIC.iterdir()}
    assert sum(sizes.values()) < MOST_BYTES, sizes


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.name)
def test_scripts_make_no_html_of_text_and_run_none(file: Path) -> None:
    text = file.read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert word not in text, word


@pytest.mark.parametrize("file", sorted(STATIC.iterdir()), ids=lambda file: file.name)
def test_nothing_comes_from_elsewhere(file: Path) -> None:
    found = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", file.read_text()))
    assert found <= {"http://www.w3.org"}, found  # the name of SVG, not an address


def test_the_page_has_nothing_inline() -> None:
    """The policy that the server sends would not let it run."""
    text = (STATIC / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:", text)


def test_every_import_is_there() -> None:
    for file in SCRIPTS:
        for name in re.findall(r"""(?:from|import\()\s*["']\./([\w.]+)["']""", file.read_text()):
            assert (STATIC / name).is_file(), f"{file.name} imports {name}"
