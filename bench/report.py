"""bench/RESULTS.md and the pictures, made from the last full runs of all suites. Measures nothing.

A suite that was not run here keeps its section of the page as it was (bench/carried.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench import plots
from bench.carried import Carried, carried
from bench.keeping import Run
from bench.table import STATED, Result, median, number
from bench.targets import quantile

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/RESULTS.md"
PICTURES = ROOT / "docs/images"

_MANY = 20  # values; from there on the spread leaves out the outermost tenths

_HEAD = f"""# Results

Made by `make bench-full`; not edited by hand. [performance.md](../docs/performance.md) tells what is measured
and how to read it. A figure is the median; in brackets the spread and the number of values: the lowest and
the highest, or from {_MANY} values on the 10th and the 90th percentile. A ratio is the median of the ratios
of single rounds, or of the medians where there are no rounds in pairs.
"""
_COLUMNS = ("measured", "queuectl", "peer", "ratio", "target", "")


def write(
    runs: Sequence[Run | str], *, results_file: Path = RESULTS, pictures_folder: Path = PICTURES
) -> list[Path]:
    """All files. A suite that has no run is named instead."""
    pictures_folder.mkdir(exist_ok=True)
    written = []
    results = [result for run in runs if isinstance(run, Run) for result in run.results]
    for name, picture in (("throughput", plots.throughput(results)), ("growth", plots.growth(results))):
        if picture is not None:
            written.append(pictures_folder / f"{name}.svg")
            written[-1].write_text(picture, "utf-8")
    before = results_file.read_text("utf-8") if results_file.exists() else ""
    pictures = [name for name in ("throughput.svg", "growth.svg") if (pictures_folder / name).exists()]
    results_file.write_text(page(runs, pictures, before), "utf-8")
    return [*written, results_file]


def page(runs: Sequence[Run | str], pictures: Sequence[str] = (), before: str = "") -> str:
    """`before`: the page as it was."""
    sections = [run if isinstance(run, Run) else carried(run, before) or run for run in runs]
    measured = [run for run in sections if isinstance(run, Run)]
    newest = max(measured, key=lambda run: run.date, default=None)
    parts = [_HEAD]
    if newest is not None:
        parts += [_in_short(sections), _machine(newest, measured)]
    parts += [f"![{Path(name).stem}](../docs/images/{name})\n" for name in pictures]
    for section in sections:
        if isinstance(section, Carried):
            parts.append(section.text)
        elif isinstance(section, Run) and newest is not None:
            parts.append(_suite(section, newest))
    parts.append(_not_measured(sections))
    return "\n".join(part for part in parts if part)


def _in_short(sections: Sequence[Run | Carried | str]) -> str:
    judged, missed = 0, []
    for section in sections:
        if isinstance(section, Carried):
            judged += section.judged
            missed += section.missed
        elif isinstance(section, Run):
            results = [result for result in section.results if result.verdict in ("ok", "MISSED")]
            judged += len(results)
            missed += [_missed(result) for result in results if result.verdict == "MISSED"]
    lines = [f"**{judged - len(missed)} of {judged} targets reached.**"]
    if missed:
        lines += ["Missed:", "", *missed]
    return "\n".join(lines) + "\n"


def _missed(result: Result) -> str:
    reached = (
        figure(result.values, result.unit) if result.ratio is None else f"{result.ratio:.2f} × {result.peer}"
    )
    return f"- {_plain(result.what)}: {_plain(reached)}, target {_plain(result.target)}"


def _machine(newest: Run, runs: Sequence[Run]) -> str:
    rows = {"last measured": newest.date, **newest.machine}
    for run in sorted(runs, key=lambda run: run.date):
        rows.update(run.contestants)
    return "\n".join(["## The machine", "", *_table(("what", "is"), list(rows.items()))]) + "\n"


def _suite(run: Run, newest: Run) -> str:
    lines = [f"## {run.name}", ""]
    if run.failed:
        lines.append(f"**FAILED** on {run.date}: {_plain(run.failed)}")
    else:
        rows = [_row(result) for result in run.results if result.values]
        lines += _table(_COLUMNS, rows) if rows else ["Nothing of it could be measured."]
    lines += ["", f"{run.date}, {run.seconds:,.0f} s. Noise: {run.noise or 'not known'}."]
    others = [f"{what} {_value(run, what)}" for what in _differences(run, newest)]
    if others:
        lines += ["", f"Measured on something else than the rest: {'; '.join(others)}."]
    return "\n".join(lines) + "\n"


def _differences(run: Run, newest: Run) -> list[str]:
    names = {**newest.machine, **run.machine}
    return [name for name in names if _value(run, name) != _value(newest, name)]


def _value(run: Run, name: str) -> str:
    return run.machine.get(name, "missing")


def _row(result: Result) -> Sequence[str]:
    return (
        result.what,
        figure(result.values, result.unit),
        f"{result.peer} {figure(result.peer_values, result.unit)}".strip(),
        "" if result.ratio is None else f"{result.ratio:.2f}",
        "–" if result.target == STATED else result.target,
        f"**{result.verdict}**" if result.verdict == "MISSED" else result.verdict,
    )


def figure(values: Sequence[float], unit: str) -> str:
    """Median and spread: `1,520 /s (1,480–1,560, 5)`."""
    if not values:
        return ""
    text = f"{number(median(values))} {unit}".strip()
    if len(values) == 1:
        return text
    ordered = sorted(values)
    ends = (
        (quantile(ordered, 0.1), quantile(ordered, 0.9))
        if len(values) >= _MANY
        else (ordered[0], ordered[-1])
    )
    return f"{text} ({'–'.join(number(end) for end in ends)}, {len(values)})"


def _not_measured(runs: Sequence[Run | Carried | str]) -> str:
    lines = []
    for run in runs:
        if isinstance(run, Carried):
            continue
        if isinstance(run, str):
            lines.append(f"- all of {run}: it has not been run in full (`python -m bench {run}`)")
        elif run.failed:
            lines.append(f"- all of {run.name}: it failed")
        else:
            bare = [result for result in run.results if not result.values]
            lines += [f"- {_plain(result.what)}: {_plain(result.target)}" for result in bare]
    return "\n".join(["## Not measured", "", *(lines or ["Nothing was left out."])]) + "\n"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *([_plain(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def _plain(text: str) -> str:
    """On one line, and no mark of Markdown in it but our own bold ones."""
    text = " ".join(text.split())
    return text.replace("|", "\\|").replace("<", "&lt;").replace("_", "\\_")
