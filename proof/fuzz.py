"""Everything that reads text of strangers, fuzzed by coverage: inputs that reach new code are bred further.

What counts as a finding is said in tests/fuzz/targets.py. HTTP is fuzzed by tests/web (schemathesis).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.targets import Target, all_targets

from proof.verdict import Part

_ROOT = Path(__file__).parent.parent
_SECONDS = 20  # for each target; the small version only looks whether it works
_FEW = ("duration", "json")
_AT_ONCE = 2
_LONGEST_INPUT = 2_000
_HANG = 10  # seconds for one input
_MEMORY = 1_500  # MB
_START_UP = 120  # seconds: instrumentation takes its time on a busy machine
_LEAST_FULL, _LEAST_SMALL = 1_000, 1


@dataclass(frozen=True)
class _Fuzzed:
    target: str
    runs: int = 0
    covered: int = 0
    finding: str = ""


def prove(*, full: bool) -> Part:
    part = Part("fuzz")
    if find_spec("atheris") is None:
        part.left_out.append(
            "coverage-guided fuzzing: the package atheris is not installed (pip install atheris)"
        )
        return part
    targets = [target for name, target in all_targets().items() if full or name in _FEW]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        done = list(threads.map(lambda target: _fuzz(target, _SECONDS if full else 1), targets))
    least = _LEAST_FULL if full else _LEAST_SMALL
    for one in done:
        part.demand(f"inputs to `{one.target}`, {one.covered:,} branches reached", one.runs, least)
    findings = [f"{one.target}: {one.finding}" for one in done if one.finding]
    part.row("inputs in all", f"{sum(one.runs for one in done):,}")
    part.row("crashes, hangs, broken promises", str(len(findings)), "0", good=not findings)
    part.verdict.findings.extend(findings)
    return part


def _fuzz(target: Target, seconds: int) -> _Fuzzed:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as directory:
        corpus = Path(directory, "corpus")
        corpus.mkdir()
        for number, seed in enumerate(target.seeds):
            (corpus / f"seed-{number}").write_bytes(seed.encode("utf-8", "surrogateescape"))
        done = _run(target.name, seconds, corpus, Path(directory))
        found = [
            file for file in Path(directory).iterdir() if file.name.startswith(("crash", "timeout", "oom"))
        ]
        inputs = "; ".join(f"{file.name.partition('-')[0]} by {file.read_bytes()[:200]!r}" for file in found)
    return _judged(target.name, done, inputs)


def _run(name: str, seconds: int, corpus: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    options = (
        f"-max_total_time={seconds}",
        f"-timeout={_HANG}",
        f"-rss_limit_mb={_MEMORY}",
        f"-max_len={_LONGEST_INPUT}",
        f"-artifact_prefix={directory}/",
        "-print_final_stats=1",
        "-seed=1",
        str(corpus),
    )
    return subprocess.run(
        [sys.executable, "-m", "proof.fuzzer", name, *options],
        cwd=_ROOT,
        env={**os.environ, "TMPDIR": str(directory)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=seconds + _HANG + _START_UP,
        check=False,
    )


def _judged(name: str, done: subprocess.CompletedProcess[str], inputs: str) -> _Fuzzed:
    runs = re.search(r"stat::number_of_executed_units: *(\d+)", done.stderr)
    covered = re.findall(r"\bcov: (\d+)", done.stderr)
    finding = ""
    if done.returncode or inputs:
        said = re.search(r"=== Uncaught Python exception: ===\s*(.*)", done.stdout + done.stderr)
        finding = f"{said[1] if said else f'exit code {done.returncode}: {done.stderr[-300:]}'} ({inputs})"
    return _Fuzzed(name, int(runs[1]) if runs else 0, int(covered[-1]) if covered else 0, finding)
