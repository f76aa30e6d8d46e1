"""Tables on a screen: what is cut, what is left out, and what never is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuectl.cli.fitting import cells, cut, fit, wrapped

HEADER = ("ID", "STATE", "FAILED", "COMMAND")
texts = st.text(st.characters(categories=("L", "N", "P", "Zs")), max_size=60)


def shown(*rows: tuple[str, ...], screen: int) -> list[tuple[int, int]]:
    return fit(HEADER, rows, screen)


def test_what_fits_is_left_alone() -> None:
    assert shown(("a", "dead", "0", "echo hi"), screen=80) == [(0, 2), (1, 5), (2, 6), (3, 7)]


def test_the_last_column_is_cut_first() -> None:
    assert shown(("a" * 20, "dead", "3", "echo " * 20), screen=70) == [(0, 20), (1, 5), (2, 6), (3, 33)]


def test_a_column_that_says_nothing_goes_before_anything_else_is_cut_to_pieces() -> None:
    assert shown(("a" * 20, "dead", "0", "echo " * 20), screen=60) == [(0, 20), (1, 5), (3, 31)]


def test_then_those_that_can_best_be_missed() -> None:
    row = ("a" * 20, "dead", "3", "echo " * 20)
    assert fit(HEADER, [row], 55, ["FAILED", "NONE"]) == [(0, 20), (1, 5), (3, 26)]


def test_zeros_that_say_something_go_after_those() -> None:
    row = ("a" * 20, "dead", "0", "x")
    assert fit(HEADER, [row], 37, ["STATE"], ["FAILED"]) == [(0, 20), (2, 6), (3, 7)]
    assert fit(HEADER, [row], 36, ["STATE"], ["FAILED"]) == [(0, 20), (3, 7)]


def test_then_long_cells_are_cut() -> None:
    assert shown(("a" * 64, "dead", "3", "echo " * 20), screen=40) == [(0, 15), (1, 5), (2, 6), (3, 8)]


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
