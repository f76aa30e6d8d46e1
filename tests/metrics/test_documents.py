"""docs/metrics.md knows every metric, and the dashboard for Grafana asks for none that does not exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from queuectl.metrics.catalogue import COUNTER, FAMILIES, HISTOGRAM, SUMMARY

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
DASHBOARD = json.loads((ROOT / "docs/grafana/queuectl.json").read_text(encoding="utf-8"))
ROW = re.compile(r"^\| `(queuectl_\w+)` \| (\w+) \| ([\w, ]*)\| (.+) \|$", re.MULTILINE)
NAME = re.compile(r"\bqueuectl_\w+")
SELECTED = re.compile(r"\b(queuectl_\w+)\{([^}]*)\}")
PARTS = {HISTOGRAM: ("_bucket", "_sum", "_count"), SUMMARY: ("_sum", "_count")}
SAMPLES = {f.name + part: f for f in FAMILIES for part in PARTS.get(f.kind, ("",))}
LOOKS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [target["expr"] for panel in LOOKS for target in panel["targets"]]
RULES = PAGE.partition("## Alerts")[2].partition("## ")[0]


def test_every_metric_has_a_row_that_is_right() -> None:
    rows = {name: (kind, labels.strip()) for name, kind, labels, _ in ROW.findall(PAGE)}
    assert rows == {f.name: (f.kind, ", ".join(f.labels)) for f in FAMILIES}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_names_follow_the_conventions(family: Any) -> None:
    assert family.name.startswith("queuectl_")
    assert (family.kind == COUNTER) == family.name.endswith("_total")
    assert family.help.endswith(".")
    if family.kind in (HISTOGRAM, SUMMARY):
        assert family.name.endswith("_seconds")


@pytest.mark.parametrize("text", [*EXPRESSIONS, RULES])
def test_expressions_name_only_what_exists(text: str) -> None:
    names = NAME.findall(text)
    assert names
    assert set(names) <= set(SAMPLES)
    for name, selection in SELECTED.findall(text):
        labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selection))
        assert labels <= {*SAMPLES[name].labels, "le"}, (name, labels)


def test_the_dashboard_shows_every_metric() -> None:
    shown = {SAMPLES[name].name for text in EXPRESSIONS for name in NAME.findall(text)}
    assert shown == {family.name for family in FAMILIES}


def test_the_dashboard_can_be_imported_anywhere() -> None:
    variables = {entry["name"]: entry["type"] for entry in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource": "datasource", "queue": "query"}
    for panel in LOOKS:
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))


def test_no_panel_lies_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells
