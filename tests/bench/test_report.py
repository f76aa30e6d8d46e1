"""The report of the benchmarks: nothing that was measured is lost, what was not is said."""

from __future__ import annotations

from pathlib import Path

from bench.keeping import Run, keep, last
from bench.report import figure, page, write
from bench.table import STATED, Result

MACHINE = {"cores": "2", "CPU": "A <fast> one", "Python": "3.11.7"}
GOOD = Result("claim + finish", [40_000, 42_000, 41_000], "jobs/s", target="≥ 40,000", good=True)
MISSED = Result(
    "commands/s end to end, sh -c 'true', 2 slots",
    [900.0, 1000.0, 950.0],
    "/s",
    peer="xargs -P2",
    peer_values=[1000.0, 1000.0, 1100.0],
    ratio=0.9,
    target="≥ 1.0 ×",
    good=False,
)
ABSENT = Result("everything on MariaDB", [], "", target="no server", good=False)
ONLY_SAID = Result("list, whole command", [61.25], "ms", target=STATED, good=True, size=1_000_000)


def run_of(name: str, *results: Result, date: str = "2026-01-02 10:00 UTC", failed: str = "") -> Run:
    return Run(
        name,
        False,
        date,
        seconds=12.3,
        machine=MACHINE,
        contestants={"nq": "nq 0.5"},
        noise="load 0.1 before and 2.0 after",
        failed=failed,
        results=list(results),
    )


def row_of(text: str, what: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {what}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_figure_has_median_spread_and_number_of_values() -> None:
    assert figure([1500, 1480, 1560], "/s") == "1,500 /s (1,480–1,560, 3)"
    assert figure([1.234], "ms") == "1.23 ms"
    assert figure([], "ms") == ""


def test_every_figure_stands_beside_its_peer_its_target_and_its_verdict() -> None:
    text = page([run_of("throughput", GOOD, MISSED, ONLY_SAID)])
    assert row_of(text, "claim")[1:] == ["41,000 jobs/s (40,000–42,000, 3)", "", "", "≥ 40,000", "ok"]
    assert row_of(text, "commands/s")[1:] == [
        "950 /s (900–1,000, 3)",
        "xargs -P2 1,000 /s (1,000–1,100, 3)",
        "0.90",
        "≥ 1.0 ×",
        "**MISSED**",
    ]
    assert row_of(text, "list")[1:] == ["61.2 ms", "", "", "–", ""]


def test_what_was_not_measured_is_listed_with_its_reason_and_has_no_figure() -> None:
    text = page([run_of("servers", GOOD, ABSENT), "growth", run_of("disk", failed="OSError: full")])
    missing = text.partition("## Not measured")[2]
    assert "- everything on MariaDB: no server" in missing
    assert "- all of growth: it has not been run in full" in missing
    assert "- all of disk: it failed" in missing
    assert "| everything on MariaDB" not in text
    assert "**FAILED** on 2026-01-02 10:00 UTC: OSError: full" in text


def test_a_kept_run_is_read_back_as_it_was(tmp_path: Path) -> None:
    run = run_of("throughput", GOOD, MISSED, ABSENT, ONLY_SAID)
    keep(run, tmp_path)
    again = last("throughput", folder=tmp_path)
    assert again == run
    assert page([again]) == page([run])


def test_a_run_is_good_only_if_it_ended_and_reached_everything() -> None:
    assert run_of("store", GOOD, ONLY_SAID).good
    assert not run_of("store", GOOD, MISSED).good
    assert not run_of("store", GOOD, ABSENT).good
    assert not run_of("store", failed="OSError").good


def test_the_report_writes_its_pictures_and_shows_only_those(tmp_path: Path) -> None:
    runs = [run_of("throughput", MISSED), "growth"]
    written = write(runs, results_file=tmp_path / "RESULTS.md", pictures_folder=tmp_path / "images")
    assert [file.name for file in written] == ["throughput.svg", "RESULTS.md"]
    text = (tmp_path / "RESULTS.md").read_text()
    assert "(../docs/images/throughput.svg)" in text
    assert "growth.svg" not in text
