"""The figures in docs/reliability.md, made from the last runs; nothing there is typed by hand.

What stands between the two marks is replaced, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from proof import catalogue
from proof.recovery import share
from proof.verdict import Part, Verdict

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
BEGIN = "<!-- figures: made by make proof -->"
END = "<!-- end of figures -->"
NOT_YET = "it has not been run"  # as python -m proof says it of a part

_NEVER = {
    "lost": "lost jobs",
    "double": "jobs with two completions",
    "overlapping": "runs that overlap with the next of the same job",
    "beyond": "attempts beyond the limit",
    "stuck": "jobs stuck",
    "orphans": "orphaned processes",
    "zombies": "zombies",
    "unsound": "contradictions or damage in a store",
}


def write(parts: Sequence[Part]) -> None:
    PAGE.write_text(replaced(PAGE.read_text("utf-8"), block(parts)), "utf-8")


def replaced(page: str, text: str) -> str:
    """The page with other figures."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE.name} lacks its marks")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def block(parts: Sequence[Part]) -> str:
    """All figures of these parts."""
    ran = [part for part in parts if part.date]
    sections = [_whole(parts, ran)]
    if ran:
        sections.append(_sums(ran))
    sections += [_times(ran), *(_part(part) for part in parts), _catalogue()]
    return "\n\n".join(sections)


def _whole(parts: Sequence[Part], ran: Sequence[Part]) -> str:
    if not ran:
        return "`make proof` was not yet run."
    bad = [part.name for part in parts if not part.good]
    dates = sorted(part.date for part in ran)
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    said = f"**Not good: {', '.join(bad)}.**" if bad else "Every promise held."
    minutes = sum(part.seconds for part in ran) / 60
    return f"Last run: {when}; {minutes:.0f} minutes of parts, some side by side. {said}"


def _sums(parts: Sequence[Part]) -> str:
    verdict = Verdict()
    for part in parts:
        verdict.add(part.verdict)
    share_again = verdict.again / verdict.runs if verdict.runs else 0.0
    rows = [
        ("jobs acknowledged", f"{verdict.jobs:,}", ""),
        ("commands started", f"{verdict.runs:,}", ""),
        ("of those, of a job that had run before", f"{verdict.again:,} ({share_again:.2%})", "some"),
        *((said, f"{getattr(verdict, name):,}", "0") for name, said in _NEVER.items()),
    ]
    return "### In sum\n\n" + _table(("counted over all parts", "figure", "must be"), rows)


def _times(parts: Sequence[Part]) -> str:
    rows = []
    for part in parts:
        for name, times in part.times.items():
            ordered = sorted(times)
            if ordered:
                figures = [share(ordered, 0.5), share(ordered, 0.99), ordered[-1]]
                rows.append((name, *(f"{figure:.2f} s" for figure in figures), f"{len(ordered):,}"))
    head = ("until work goes on, or all is gone", "p50", "p99", "max", "samples")
    return "### Times\n\n" + (_table(head, rows) if rows else "Not yet measured.")


def _part(part: Part) -> str:
    lines = [f"### Part `{part.name}`"]
    if part.failed == NOT_YET:
        lines.append("Not yet run.")
    elif part.failed:
        lines.append(f"**It could not go on:** {_cell(part.failed)}")
    if part.date:
        how = "" if part.full else ", the small version"
        lines.append(f"{part.date}, {part.seconds:,.0f} s{how}.")
    if part.rows:
        rows = [(row.what, row.figure, row.bound, "" if row.good else "**no**") for row in part.rows]
        lines.append(_table(("what", "figure", "had to be", ""), rows))
    if part.verdict.findings:
        lines.append("Found:\n\n" + _list(part.verdict.findings))
    if part.left_out:
        lines.append("Left out on this machine:\n\n" + _list(part.left_out))
    return "\n\n".join(lines)


def _catalogue() -> str:
    rows = []
    for entry in catalogue.entries():
        shown = ", ".join(f"`{each.rpartition('/')[2]}`" for each in entry.shown)
        rows.append((entry.number, entry.name, shown or f"not: {entry.why_not}"))
    known = sum(row[2].startswith("`") for row in rows)
    told = f"{known} of {len(rows)} are shown by a test or a part of the proof."
    return f"### Faults (B) and attacks (C)\n\n{told}\n\n{_table(('', 'what', 'shown by'), rows)}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_cell(line)}" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
