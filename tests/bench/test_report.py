"""The report of the benchmarks: nothing that was measured is lost, what was not is said."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from bench.keeping import Run, keep, last
from bench.report import figure, page, write
from bench.table import STATED, Result, print_table

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


def test_with_many_values_the_spread_leaves_out_the_outermost_tenths() -> None:
    assert figure([*range(1, 20), 9_000], "ms") == "10.5 ms (2–18, 20)"


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


def test_the_machine_its_noise_and_the_date_are_stated() -> None:
    text = page([run_of("throughput", GOOD)])
    assert row_of(text, "CPU")[1] == "A &lt;fast> one"
    assert row_of(text, "nq")[1] == "nq 0.5"
    assert row_of(text, "last measured")[1] == "2026-01-02 10:00 UTC"
    assert "2026-01-02 10:00 UTC, 12 s. Noise: load 0.1 before and 2.0 after." in text


def test_what_was_missed_is_said_first() -> None:
    text = page([run_of("store", GOOD), run_of("throughput", MISSED, ONLY_SAID)])
    assert "**1 of 2 targets reached.**" in text
    assert text.index("- commands/s end to end, sh -c 'true', 2 slots: 0.90 × xargs -P2") < text.index(
        "## store"
    )


def test_what_was_not_measured_is_listed_with_its_reason_and_has_no_figure() -> None:
    text = page([run_of("servers", GOOD, ABSENT), "growth", run_of("disk", failed="OSError: full")])
    missing = text.partition("## Not measured")[2]
    assert "- everything on MariaDB: no server" in missing
    assert "- all of growth: it has not been run in full" in missing
    assert "- all of disk: it failed" in missing
    assert "| everything on MariaDB" not in text
    assert "**FAILED** on 2026-01-02 10:00 UTC: OSError: full" in text


def test_a_run_on_another_machine_says_so() -> None:
    older = run_of("store", GOOD, date="2026-01-01 10:00 UTC")
    older.machine = {**MACHINE, "cores": "64"}
    text = page([older, run_of("throughput", MISSED)])
    assert "Measured on something else than the rest: cores 64." in text
    assert text.count("something else") == 1


def test_signs_of_a_table_do_not_break_it() -> None:
    text = page([run_of("store", dataclasses.replace(GOOD, what="a | b_c\nd"))])
    assert "| a \\| b\\_c d | 41,000" in text


def test_without_any_run_there_is_still_a_page() -> None:
    assert "- all of store: it has not been run in full" in page(["store"])


def test_a_kept_run_is_read_back_as_it_was(tmp_path: Path) -> None:
    run = run_of("throughput", GOOD, MISSED, ABSENT, ONLY_SAID)
    keep(run, tmp_path)
    again = last("throughput", folder=tmp_path)
    assert again == run
    assert page([again]) == page([run])


def test_a_quick_run_does_not_take_the_place_of_a_full_one(tmp_path: Path) -> None:
    keep(run_of("store", GOOD), tmp_path)
    keep(dataclasses.replace(run_of("store", MISSED), quick=True), tmp_path)
    full, quick = last("store", folder=tmp_path), last("store", quick=True, folder=tmp_path)
    assert full is not None
    assert quick is not None
    assert (full.results, quick.results) == ([GOOD], [MISSED])
    assert last("disk", folder=tmp_path) is None


def test_a_run_is_good_only_if_it_ended_and_reached_everything() -> None:
    assert run_of("store", GOOD, ONLY_SAID).good
    assert not run_of("store", GOOD, MISSED).good
    assert not run_of("store", GOOD, ABSENT).good
    assert not run_of("store", failed="OSError").good


def test_the_report_writes_its_pictures_and_shows_only_those(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.report.RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr("bench.report.PICTURES", tmp_path / "images")
    written = write([run_of("throughput", MISSED), "growth"])
    assert [file.name for file in written] == ["throughput.svg", "RESULTS.md"]
    text = (tmp_path / "RESULTS.md").read_text()
    assert "(../docs/images/throughput.svg)" in text
    assert "growth.svg" not in text


def test_the_printed_table_tells_missed_from_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([GOOD, MISSED, ABSENT, ONLY_SAID])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["ok", "MISSED", "MEASURED", "stated"]


def test_a_suite_that_was_not_run_again_keeps_its_section() -> None:
    other = dataclasses.replace(MISSED, what="something else")
    before = page([run_of("throughput", GOOD, MISSED), run_of("store", other)])
    after = page(["throughput", run_of("store", GOOD)], before=before)
    assert "**2 of 3 targets reached.**" in after
    assert after.count("Carried over from an earlier report.") == 1
    assert page(["throughput", run_of("store", GOOD)], before=after) == after
