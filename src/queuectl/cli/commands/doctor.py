"""queuectl doctor: what is wrong with the store, why it matters, and what mends it."""

from __future__ import annotations

from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import clean, in_colour, pasteable, plural, print_json, print_prose, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.doctor.checkup import Checkup, Finding

_ABOUT = """Look at the store, its engine, its workers, what waits for them, settings, limits and this
machine; say what weakens or breaks the queue, and for each of these what mends it. Nothing is changed (but
with --recount), and no store is made.

Exit code: 0 nothing worse than a warning, 1 a problem, 3 the store cannot be used at all."""

_EXAMPLES = """
  queuectl doctor
  queuectl doctor --full
  queuectl doctor --db postgresql://user@host/database
  queuectl doctor --json
"""

# Level -> mark and colour.
_MARKS = {"ok": ("✓", "32"), "note": ("·", "36"), "warning": ("!", "33"), "problem": ("✗", "31")}


def build_parser() -> Parser:
    result = parser("doctor", _ABOUT, _EXAMPLES)
    result.add_argument(
        "--full",
        action="store_true",
        help="compare the kept counts with all jobs, however many, and on SQLite every index with its table",
    )
    result.add_argument(
        "--recount", action="store_true", help="first count the jobs anew; workers may go on meanwhile"
    )
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    from queuectl.doctor.checkup import check

    if options.recount:
        with open_queue(options, create=False) as queue:
            mended = queue.store.bookkeeping().recount()
        say(f"{plural(mended, 'count')} mended")
    checkup = check(options.db, full=options.full)
    for finding in checkup.findings:
        finding.mend = finding.mend and pasteable(finding.mend)
    if options.json:
        print_json(
            {
                "store": checkup.location.shown,
                "engine": checkup.location.engine,
                "findings": [finding.to_dict() for finding in checkup.findings],
            }
        )
    else:
        _print(checkup)
    return checkup.exit_code


def _print(checkup: Checkup) -> None:
    print(f"Store: {clean(checkup.location.shown)}")
    groups: dict[str, list[Finding]] = {}
    for finding in checkup.findings:
        groups.setdefault(finding.group, []).append(finding)
    for name, findings in groups.items():
        print(f"\n{name.capitalize()}")
        for finding in findings:
            for line in _lines(finding):
                print_prose(line, indent=6)
    print(f"\n{_sum(checkup.count())}")


def _lines(finding: Finding) -> list[str]:
    mark, colour = _MARKS[finding.level]
    lines = [f"  {in_colour(mark, colour)} {clean(finding.what)}"]
    if finding.why:
        lines.append(f"      {clean(finding.why)}")
    if finding.mend:
        lines.append(f"      → {clean(finding.mend)}")
    return lines


def _sum(counts: dict[str, int]) -> str:
    found = [plural(counts[level], level) for level in ("problem", "warning", "note") if counts[level]]
    return ", ".join(found) if found else "All is well."
