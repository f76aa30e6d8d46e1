"""The inputs of `map`: sources after the command, their combinations, columns, records and keys."""

from __future__ import annotations

from itertools import count as numbers
from itertools import islice

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from queuectl.core.ids import check_id
from queuectl.core.inputs import columns, combine, count, job_key, split_records, split_sources
from queuectl.errors import InvalidInput

Lists = list[tuple[list[str], bool]]


def split(words: str) -> tuple[str, list[tuple[str, str, bool]]]:
    command, sources = split_sources(words.split())
    return " ".join(command), [(each.kind, " ".join(each.words), each.linked) for each in sources]


@pytest.mark.parametrize(
    ("words", "command", "sources"),
    [
        ("gzip {}", "gzip {}", []),
        ("", "", []),
        ("gzip ::: a b c", "gzip", [("values", "a b c", False)]),
        ("gzip -9 :::", "gzip -9", [("values", "", False)]),
        ("cp ::: a b ::: x y", "cp", [("values", "a b", False), ("values", "x y", False)]),
        ("cp ::: a b :::+ x y", "cp", [("values", "a b", False), ("values", "x y", True)]),
        ("cp :::: f1 f2", "cp", [("file", "f1", False), ("file", "f2", False)]),
        ("cp :::: - ::::+ f2", "cp", [("file", "-", False), ("file", "f2", True)]),
        (
            "cp ::: a :::: f :::+ l",
            "cp",
            [("values", "a", False), ("file", "f", False), ("values", "l", True)],
        ),
        ("::: a", "", [("values", "a", False)]),
        ("echo a:::b ::::: x", "echo a:::b ::::: x", []),
    ],
)
def test_sources_stand_after_the_command(
    words: str, command: str, sources: list[tuple[str, str, bool]]
) -> None:
    assert split(words) == (command, sources)


@pytest.mark.parametrize("words", ["gzip ::::", "gzip ::: a ::::+", "gzip :::+ a", "gzip ::::+ f"])
def test_a_source_without_its_file_or_its_partner_is_refused(words: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        split(words)
    assert "::" in refusal.value.message
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("lists", "rows"),
    [
        ([], ""),
        ([("abc", False)], "a b c"),
        ([("ab", False), ("xy", False)], "ax ay bx by"),
        ([("ab", False), ("xy", False), ("12", False)], "ax1 ax2 ay1 ay2 bx1 bx2 by1 by2"),
        ([("ab", False), ("xy", True)], "ax by"),
        ([("abc", False), ("xy", True)], "ax by"),
        ([("ab", False), ("xyz", True)], "ax by"),
        ([("ab", False), ("12", True), ("XY", False), ("34", True)], "a1X3 a1Y4 b2X3 b2Y4"),
        ([("ab", False), ("XY", False), ("34", True)], "aX3 aY4 bX3 bY4"),
        ([("ab", False), ("", False)], ""),
        ([("", False), ("ab", False)], ""),
    ],
)
def test_sources_combine_as_in_parallel(lists: list[tuple[str, bool]], rows: str) -> None:
    expected = [tuple(row) for row in rows.split()]
    assert list(combine([(list(values), linked) for values, linked in lists])) == expected


sources = st.lists(st.tuples(st.lists(st.text(max_size=2), max_size=4), st.booleans()), max_size=4)


@settings(max_examples=100, deadline=None)
@given(lists=sources)
def test_the_count_is_known_before_and_every_row_has_a_value_of_each_source(lists: Lists) -> None:
    rows = list(combine(lists))
    assert count(lists) == len(rows)
    assert all(len(row) == len(lists) for row in rows)


def test_the_first_source_is_read_as_it_comes() -> None:
    endless = (str(number) for number in numbers(1))
    rows = combine([(endless, False), (["x", "y"], True), (["-", "+"], False)])
    assert list(islice(rows, 3)) == [("1", "x", "-"), ("1", "x", "+"), ("2", "y", "-")]
    endless = (str(number) for number in numbers(1))
    assert list(islice(combine([(endless, False)]), 2)) == [("1",), ("2",)]
    assert next(endless) == "3"


def test_a_stream_has_no_count() -> None:
    assert count([(iter(["a"]), False), (["x"], False)]) is None
    assert count([(["x"], False), (iter(["a"]), True)]) is None


@pytest.mark.parametrize(
    ("line", "separator", "expected"),
    [
        ("a,b,c", ",", ("a", "b", "c")),
        ("a, b ,c", ",", ("a", "b", "c")),
        ("a\tb c\t", "\t", ("a", "b c", "")),
        ("a\tb", r"\t", ("a", "b")),
        ("a|b", "|", ("a", "b")),
        ("a.b", ".", ("a", "b")),
        ("a   b c", " +", ("a", "b", "c")),
        ("a;b,c", "(?:;|,)", ("a", "b", "c")),
        ("a::b", "::", ("a", "b")),
        ("", ",", ("",)),
    ],
)
def test_a_line_is_split_into_columns(line: str, separator: str, expected: tuple[str, ...]) -> None:
    assert columns(line, separator) == expected


@pytest.mark.parametrize("separator", ["", "(,|;)", " *", "[a-"])
def test_a_separator_that_cannot_be_meant_is_refused(separator: str) -> None:
    with pytest.raises(InvalidInput, match="column separator"):
        columns("a,b", separator)


@pytest.mark.parametrize(
    ("text", "nul", "records"),
    [
        ("", False, []),
        ("a\nb\n", False, ["a", "b"]),
        ("a\nb", False, ["a", "b"]),
        ("a\n\nb\n\n", False, ["a", "", "b", ""]),
        ("a\r\nb\r\n", False, ["a", "b"]),
        ("\ufeffa\n\ufeffb", False, ["a", "\ufeffb"]),
        (" a \n\tb", False, [" a ", "\tb"]),
        ("a\u2028b\x0cc\n", False, ["a\u2028b\x0cc"]),
        ("a\nb\0c\r\0", True, ["a\nb", "c\r"]),
        ("a\0\0b", True, ["a", "", "b"]),
        ("", True, []),
    ],
)
def test_a_stream_is_split_into_records(text: str, nul: bool, records: list[str]) -> None:
    assert list(split_records([text], nul)) == records
    assert list(split_records([text.encode()], nul)) == records


@settings(max_examples=100, deadline=None)
@given(
    text=st.text(st.one_of(st.sampled_from("\n\0\ra€😀"), st.characters(exclude_categories=["Cs"]))),
    size=st.integers(1, 5),
    nul=st.booleans(),
)
@example(text="\ufeff\r\n", size=1, nul=False)
def test_records_do_not_depend_on_how_the_stream_is_cut(text: str, size: int, nul: bool) -> None:
    data = text.encode()
    texts = [text[at : at + size] for at in range(0, len(text), size)]
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    whole = list(split_records([text], nul))
    assert list(split_records(texts, nul)) == whole
    assert list(split_records(pieces, nul)) == whole


def test_a_record_is_given_out_before_the_stream_goes_on() -> None:
    stream = iter(["a\nb", "\n"])
    records = split_records(stream, False)
    assert next(records) == "a"
    assert next(stream) == "\n"


def test_bytes_that_are_no_text_are_kept_for_the_checks_of_a_job() -> None:
    assert list(split_records([b"a\xff\n", b"b\xe2\x82"], False)) == ["a\udcff", "b\udce2\udc82"]


def test_the_key_of_an_input_never_changes() -> None:
    assert job_key("thumbs", ["a.jpg"]) == "thumbs-053f71ba76e885a6"
    assert job_key("thumbs", ["a", "b"]) == "thumbs-42de60bac299d468"
    assert job_key("thumbs", []) == "thumbs-e4a6a0577479b2b4"


rows = st.lists(st.text(st.characters()), max_size=3)


@settings(max_examples=100, deadline=None)
@given(one=rows, other=rows)
@example(one=["ab", "c"], other=["a", "bc"])
@example(one=["1:a"], other=["a"])
@example(one=[""], other=[])
@example(one=["\udcff"], other=["\ufffd"])
def test_keys_are_good_ids_and_equal_only_for_equal_inputs(one: list[str], other: list[str]) -> None:
    assert check_id(job_key("n", one)) == job_key("n", tuple(one))
    assert (job_key("n", one) == job_key("n", other)) == (one == other)
    assert job_key("n", one) != job_key("m", one)


def test_a_name_that_gives_no_good_id_is_refused() -> None:
    assert check_id(job_key("n" * 111, ["a"]))
    for name in ("", "-x", "a b", "n" * 112, "n" * 200):
        with pytest.raises(InvalidInput, match="the name of --resume"):
            job_key(name, ["a"])
