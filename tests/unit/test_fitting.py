"""Tables on a screen: what is cut, what is left out, and what never is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuectl.cli.fitting import cells, cut, fit, wrapped

HEADER = ("ID", "STATE", "FAILED", "COMMAND")
LONG, ECHO = "a" * 20, "echo " * 20
texts = st.text(st.characters(categories=("L", "N", "P", "Zs")), max_size=60)


@pytest.mark.parametrize(
    ("row", "screen", "options", "shown"),
    [
        pytest.param(
            ("a", "dead", "0", "echo hi"), 80, (), [(0, 2), (1, 5), (2, 6), (3, 7)], id="all that fits"
        ),
        pytest.param(
            (LONG, "dead", "3", ECHO), 70, (), [(0, 20), (1, 5), (2, 6), (3, 33)], id="last column cut first"
        ),
        pytest.param(
            (LONG, "dead", "0", ECHO), 60, (), [(0, 20), (1, 5), (3, 31)], id="then without what says nothing"
        ),
        pytest.param(
            *((LONG, "dead", "3", ECHO), 55, (["FAILED", "NONE"],), [(0, 20), (1, 5), (3, 26)]),
            id="then without what can best be missed",
        ),
        pytest.param(
            *((LONG, "dead", "0", "x"), 37, (["STATE"], ["FAILED"]), [(0, 20), (2, 6), (3, 7)]),
            id="zeros that say something go after those",
        ),
        pytest.param(
            (LONG, "dead", "0", "x"), 36, (["STATE"], ["FAILED"]), [(0, 20), (3, 7)], id="then zeros go"
        ),
        pytest.param(
            *(("a" * 64, "dead", "3", ECHO), 40, (), [(0, 15), (1, 5), (2, 6), (3, 8)]),
            id="then long cells are cut",
        ),
    ],
)
def test_what_is_cut_and_what_is_left_out(
    row: tuple[str, ...], screen: int, options: tuple[list[str], ...], shown: list[tuple[int, int]]
) -> None:
    assert fit(HEADER, [row], screen, *options) == shown


@given(st.lists(st.tuples(texts, texts, texts, texts), min_size=1, max_size=5), st.integers(12, 120))
def test_no_line_is_wider_than_the_screen(rows: list[tuple[str, ...]], screen: int) -> None:
    columns = fit(HEADER, rows, screen)
    assert columns[0][0] == 0
    for row in (HEADER, *rows):
        line = "  ".join(cut(row[column], width) for column, width in columns)
        assert cells(line) <= screen


@given(texts, st.integers(1, 40))
def test_a_cell_is_as_wide_as_its_column(text: str, width: int) -> None:
    assert cells(cut(text, width)) == width


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("", 0)])
def test_characters_take_the_room_that_a_terminal_gives_them(text: str, width: int) -> None:
    assert cells(text) == width


def test_sentences_are_broken_between_words() -> None:
    assert wrapped("  • It waits for its turn.", 16, 4) == "  • It waits for\n    its turn."
    assert wrapped("short " + "x" * 30 + " end", 10, 2) == "short\n  " + "x" * 30 + "\n  end"


def test_many_blanks_at_the_end_take_no_time() -> None:
    began = time.process_time()
    assert wrapped("x" + " " * 20_000, 80, 2) == "x"
    assert time.process_time() - began < 1
