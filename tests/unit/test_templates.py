"""The replacement strings of `map`: as GNU parallel documents them, and safe with any value."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from queuectl.core.templates import compile_template
from queuectl.errors import InvalidInput

# What a program can be given: no NUL, and no surrogates, which are not text.
values = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def render(template: str | list[str], *row: str, number: int = 1, **options: object) -> str | list[str]:
    return compile_template(template, len(row), **options).render(row, number)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("echo {}", "echo A/B.C"),
        ("echo {.}", "echo A/B"),
        ("echo {/}", "echo B.C"),
        ("echo {//}", "echo A"),
        ("echo {/.}", "echo B"),
        ("echo {#}", "echo 7"),
        ("echo {1}", "echo A/B.C"),
        ("echo /={1/} //={1//} /.={1/.} .={1.}", "echo /=B.C //=A /.=B .=A/B"),
        ("echo {-1/.}", "echo B"),
        ("mv {} {.}.bak; gzip {.}.bak", "mv A/B.C A/B.bak; gzip A/B.bak"),
        ("echo", "echo A/B.C"),
        ("echo\n", "echo A/B.C"),
        ("100%s {} %d%%", "100%s A/B.C %d%%"),
        ("{}", "A/B.C"),
        ("{}{}", "A/B.CA/B.C"),
    ],
)
def test_one_column_is_filled_in_as_parallel_does(template: str, line: str) -> None:
    assert render(template, "A/B.C", number=7) == line


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("echo {1} {2}", "echo a/1.x b/2.y"),
        ("echo {2} {1}", "echo b/2.y a/1.x"),
        ("echo {2.} {1/} {2//} {1/.}", "echo b/2 1.x b 1"),
        ("echo {-1} {-2}", "echo b/2.y a/1.x"),
        ("echo {}", "echo a/1.x b/2.y"),
        ("echo {/}", "echo 1.x 2.y"),
        ("echo {.} {#}", "echo a/1 b/2 1"),
        ("echo", "echo a/1.x b/2.y"),
    ],
)
def test_several_columns_are_taken_by_number_or_all_together(template: str, line: str) -> None:
    assert render(template, "a/1.x", "b/2.y") == line


@pytest.mark.parametrize(
    ("path", "no_extension", "basename", "dirname", "stem"),
    [
        ("foo.jpg", "foo", "foo.jpg", ".", "foo"),
        ("subdir/foo.jpg", "subdir/foo", "foo.jpg", "subdir", "foo"),
        ("sub.dir/foo.jpg", "sub.dir/foo", "foo.jpg", "sub.dir", "foo"),
        ("sub.dir/bar", "sub.dir/bar", "bar", "sub.dir", "bar"),
        ("a.tar.gz", "a.tar", "a.tar.gz", ".", "a.tar"),
        ("/a", "/a", "a", "/", "a"),
        ("/a/b.jpg", "/a/b", "b.jpg", "/a", "b"),
        ("./a/b/c", "./a/b/c", "c", "./a/b", "c"),
        ("a//b", "a//b", "b", "a", "b"),
        ("//a", "//a", "a", "/", "a"),
        ("a/b/", "a/b/", "", "a", ""),
        ("a/", "a/", "", ".", ""),
        ("/", "/", "", "/", ""),
        ("", "", "", ".", ""),
        (".profile", "", ".profile", ".", ""),
    ],
)
def test_parts_of_a_path(path: str, no_extension: str, basename: str, dirname: str, stem: str) -> None:
    assert render(["{}", "{.}", "{/}", "{//}", "{/.}"], path) == [path, no_extension, basename, dirname, stem]


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("echo {name} {size}", "echo a/b.c 10"),
        ("echo {name.} {name/} {name//} {name/.}", "echo a/b b.c a b"),
        ("echo {2} {full name}", "echo 10 Ann"),
        ("echo {2024}", "echo year"),
        ("awk '{ print }' {name}", "awk '{ print }' a/b.c"),
    ],
)
def test_columns_are_taken_by_the_names_of_the_header(template: str, line: str) -> None:
    header = ("name", "size", "full name", "2024")
    assert render(template, "a/b.c", "10", "Ann", "year", header=header) == line


@pytest.mark.parametrize(
    "text",
    [
        "echo ${HOME} ${1} ${#} ${%} ${} ${x:-y} ${x%.*}",
        "cp {a,b} {1..3} {1,2} x",
        "awk '{print $1}'",
        "awk '{print}'",
        "{ ls; } ",
        "grep -E 'a{2,3}b{,4}'",
        'echo \'{"a": {"b": 1}}\'',
        r"find . -exec ls \{} \;",
        "sed -n '/a/{p;q}'",
        "echo {..} {+/} {name} {name.} {...} {/../} {##}",
    ],
)
def test_braces_of_the_shell_pass_through_and_the_value_is_appended(text: str) -> None:
    assert render(text, "v") == f"{text} v"
    assert render([text], "v") == [text, "v"]


OWN = {"replacement": ",,"}
WITH_SPACES = "my 'own' $file.jpg"


@pytest.mark.parametrize(
    ("template", "row", "options", "line"),
    [
        # Another replacement string takes the place of the braces.
        ("find ,, -exec ls {} +", ["a b"], OWN, "find 'a b' -exec ls {} +"),
        ("awk '{print \"@\"}' @ {/}", ["d/f"], {"replacement": "@"}, "awk '{print \"d/f\"}' d/f f"),
        ("echo", ["a"], OWN, "echo a"),
        (["x,,", ",,", "{1}"], ["a", "b"], OWN, ["xa b", "a", "b", "a"]),
        # Words of an argument list stay one argument each.
        (["ls", "{}", "-o={.}.png"], [WITH_SPACES], {}, ["ls", WITH_SPACES, "-o=my 'own' $file.png"]),
        (["convert", "{}", "100%"], ["a"], {}, ["convert", "a", "100%"]),
        # All columns are an argument each, but share a longer word.
        (["cp", "{}", "--note={}", "{#}"], ["a 1", "b"], {}, ["cp", "a 1", "b", "--note=a 1 b", "1"]),
        (["cp"], ["a 1", "b"], {}, ["cp", "a 1", "b"]),
        # What comes before a here-document can be filled in.
        ("cat {} - <<EOF\nit's\nEOF", ["a b"], {}, "cat 'a b' - <<EOF\nit's\nEOF"),
        ("cat <<< {}", ["a b"], {}, "cat <<< 'a b'"),
    ],
)
def test_words_and_lines(
    template: str | list[str], row: list[str], options: dict[str, object], line: str | list[str]
) -> None:
    assert render(template, *row, **options) == line  # type: ignore[arg-type]


def test_an_argument_list_that_was_rendered_can_be_changed_without_harm() -> None:
    template = compile_template(["echo", "x"], 1)
    first = template.render(["a"], 1)
    assert isinstance(first, list)
    first.clear()
    assert template.render(["b"], 2) == ["echo", "x", "b"]


@pytest.mark.parametrize(
    ("template", "columns", "says"),
    [
        ("echo {4}", 2, "{4}, but the input has 2 columns"),
        ("echo {2.}", 1, "{2.}, but the input has 1 column"),
        ("echo {0}", 2, "{0}"),
        ("echo {-3}", 2, "{-3}"),
        (["echo", "x{3/}"], 2, "{3/}"),
        ("echo {%}", 1, "{%} is not supported"),
        ("echo {= s/a/b/ =}", 1, "is not supported"),
        ("", 1, "needs a command"),
        (" \n", 1, "needs a command"),
        ([], 1, "needs a command"),
        ("echo \0 {}", 1, "NUL"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(template: str | list[str], columns: int, says: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        compile_template(template, columns)
    assert says in refusal.value.message
    assert refusal.value.hint


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match=r"\{nmae/\}") as refusal:
        compile_template("echo {nmae/}", 2, ("name", "size"))
    assert "{name}" in (refusal.value.hint or "")
    with pytest.raises(InvalidInput) as refusal:
        compile_template("awk '{print}' {name}", 2, ("name", "size"))
    assert "{ print }" in (refusal.value.hint or "")


def test_a_header_must_fit_and_name_a_column_once() -> None:
    with pytest.raises(InvalidInput, match="header names 1 column, the input has 2"):
        compile_template("echo {a}", 2, ("a",))
    with pytest.raises(InvalidInput, match="several columns 'a'"):
        compile_template("echo {a.}", 2, ("a", "a"))


def test_an_empty_replacement_string_is_refused() -> None:
    with pytest.raises(InvalidInput, match="-I is empty"):
        compile_template("echo", 1, replacement="")


def test_a_row_with_other_columns_is_refused_by_its_number() -> None:
    template = compile_template("echo {1}", 2)
    with pytest.raises(InvalidInput, match="input 12 has 1 column, not 2"):
        template.render(["a"], 12)
    with pytest.raises(InvalidInput, match="input 13 has 3 columns, not 2"):
        template.render(["a", "b", "c"], 13)


@settings(max_examples=100, deadline=None)
@given(row=st.lists(values, min_size=1, max_size=3))
@example(row=["", "'", "a b"])
def test_a_shell_line_gives_back_every_value_through_shlex(row: list[str]) -> None:
    line = render("cmd {} -- 'x {1}'", *row)
    assert isinstance(line, str)
    assert shlex.split(line) == ["cmd", *row, "--", f"x {row[0]}"]


@settings(max_examples=100, deadline=None)
@given(value=values)
@example(value="")
@example(value="a'b\"c`id`$(id)$HOME\\!#~*?[x]{1,2};&|<>()\n\t ' \" \\")
@example(value="\\")
@example(value="-n")
def test_the_shell_sees_the_value_wherever_the_replacement_string_stands(value: str) -> None:
    script = "\n".join(
        [
            r"""printf '%s\0' {}""",
            r"""printf '%s\0' "{}" '{}' x{}y "x{}y" 'x{}y' "it's {}" '"{}"' \'{}\" # it's a comment""",
            r"""printf '%s\0' "$(printf '%s' {}; echo x)" "$(printf '%s' "{}"; echo x)" """,
            r"""printf '%s\0' "$(printf '%s' '{}' | (cat; echo ")"))" $((1 + (2)))""",
            r"""v="{}"; w={}; printf '%s\0' "${v}" "$w" "${v:-$w}{}" ${v+{}} "$#{}" """,
            r"""{ :; }; : $$'\' ${v+ # it's '{}}""",
            r"""case x in x) printf '%s\0' {};; esac; awk 'BEGIN {exit}' "a\"{}" """,
        ]
    )
    line = render(script, value)
    assert isinstance(line, str)
    done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, check=True)
    v = value
    assert done.stdout.decode().split("\0")[:-1] == [
        v,
        *(v, v, f"x{v}y", f"x{v}y", f"x{v}y", f"it's {v}", f'"{v}"', f"'{v}\""),
        *(v + "x", v + "x"),
        *(v + ")", "3"),
        *(v, v, v + v, v, "0" + v),
        v,
    ]


@pytest.mark.parametrize(
    ("template", "where"),
    [
        ("echo `basename {}`", "in backticks"),
        ('echo "`basename {}`"', "in backticks"),
        ("echo $'{}'", "in $'…'"),
        ("ls # about {}", "in a comment"),
        ("ls # no place to append", "in a comment"),
        ("cat <<EOF\n{}\nEOF", "after <<E"),
        ("cat <<-'EOF'\nit's\nEOF", "after <<-'"),
        ('echo "${x:-"{}"}"', "after ${"),
        (r"echo $'it\'s' {}", r"after \'"),
        ('echo "$(case x in x) echo {};; esac)"', "after case"),
    ],
)
def test_a_place_where_no_quoting_is_safe_is_refused(template: str, where: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be quoted safely") as refusal:
        compile_template(template, 1)
    assert where in refusal.value.message
    compile_template([template], 1)  # without a shell there is nothing to quote


@pytest.mark.parametrize("template", [r"echo \,,", "echo $,,", 'echo "$,,"'])
def test_a_replacement_string_behind_an_escape_is_refused(template: str) -> None:
    with pytest.raises(InvalidInput, match="behind a"):
        compile_template(template, 1, replacement=",,")


@pytest.mark.parametrize("template", ["echo 'it {}", 'echo "{}', "echo {} 'it", "echo {} `date"])
def test_quotes_that_are_not_closed_are_refused(template: str) -> None:
    with pytest.raises(InvalidInput, match="not closed"):
        compile_template(template, 1)
