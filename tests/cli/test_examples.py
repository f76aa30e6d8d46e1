"""Every example of every `--help` and of every topic can be typed: it is run, and ends well."""

from __future__ import annotations

import glob
import json
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tests.cli.example_queues import FILES, Templates, kind_for
from tests.cli.examples import Example, every_example, examples_in
from tests.support.cli import Cli

# Not run here; that they can be parsed is shown all the same.
ONLY_PARSED = {
    "status --watch": "goes on until Ctrl+C",
    "top": "goes on until it is left",
    "dashboard": "serves until Ctrl+C",
    "worker start --foreground": "goes on until Ctrl+C",
    "demo": "test_demo.py runs it",
    "service": "test_service.py runs it, with a systemctl that changes nothing",
    "mcp": "tests/agents speak to it",
}
RUN = ("dashboard token",)  # though it begins like one of those
ELSEWHERE = ("postgresql://", "mysql://")  # the address of a server that nobody has

REFUSED = {
    "copy --to /backup/queue.db --restart": "is not an unfinished copy",  # there is none to begin again
    "export queue.jsonl": "exists already",  # for `import`
}

# What a pipe in front of an example would bring.
STDIN = {
    "enqueue --lines -f -": "true\necho hello\n",
    "map -0": "a.wav\0b.wav\0",
    "map --wait -0": "a.log\0b.log\0",
    "import-pueue": FILES["state.json"],
}
PIPED = (Example(("import",)),)

# These run jobs or start workers, read the real stdin, or end the process: nothing for that of the tests.
IN_A_PROCESS = ("run", "map --wait", "map --print", "map --resume", "worker", "help worker", *STDIN)


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    return Templates(tmp_path_factory.mktemp("queues"))


def begins(example: Example, *starts: str) -> bool:
    return any(example.words[: len(start.split())] == tuple(start.split()) for start in starts)


def only_parsed(example: Example) -> bool:
    if any(address in word for word in example.words for address in ELSEWHERE):
        return True
    return begins(example, *ONLY_PARSED) and not begins(example, *RUN)


EXAMPLES = every_example()
PARSED = [example for example in EXAMPLES if only_parsed(example)]
PROCESSES = [
    example
    for example in EXAMPLES
    if example not in PARSED and (begins(example, *IN_A_PROCESS) or example in PIPED)
]
HERE = [example for example in EXAMPLES if example not in PARSED and example not in PROCESSES]


def placed(example: Example, folder: Path) -> list[str]:
    """As a shell gives them: patterns become names, and what is at the root of a disk is in `folder`."""
    words = []
    for word in example.words:
        if word.startswith(("/backup", "/srv", "~")):
            word = str(folder / word.lstrip("/~"))  # noqa: PLW2901  # the same word, elsewhere
        words += glob.glob(word) or [word]
    return words


def stdin_of(example: Example) -> str:
    file = "queue.jsonl" if example in PIPED else example.reads
    if file:
        return Path(file).read_text()
    return next((text for start, text in STDIN.items() if begins(example, start)), "")


def enter(example: Example, templates: Templates, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in templates.copy(kind_for(example.words), folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder / "work")


@pytest.mark.parametrize("example", HERE, ids=lambda example: example.name)
def test_an_example_can_be_typed(
    cli: Cli, templates: Templates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: Example
) -> None:
    enter(example, templates, tmp_path, monkeypatch)
    if begins(example, "dashboard token rm"):
        cli("dashboard", "token", "add", "prometheus")
    result = cli(*placed(example, tmp_path), stdin=stdin_of(example))
    # On a terminal it is a question.
    refused = next((says for start, says in REFUSED.items() if begins(example, start)), "add --yes")
    assert result.code == 0 or (result.code == 4 and refused in result.err), result.err


@pytest.mark.parametrize("example", PARSED, ids=lambda example: example.name)
def test_an_example_that_is_not_run_can_be_parsed(example: Example) -> None:
    words = list(example.words)
    leading = [words.pop(0), words.pop(0)] if words[0] == "--db" else []
    command, *rest = words
    module = import_module(f"queuectl.cli.commands.{command.replace('-', '_')}")
    if command == "worker":
        module.start_parser().parse_args(rest[1:])
    elif command == "service":
        getattr(module, f"{rest[0]}_parser")().parse_args(rest[1:])
    else:
        module.build_parser().parse_args(leading + rest)


# One process for all of them: each would start Python anew.
DRIVER = """
import json, os, sys
from queuectl.cli.main import main

for environment, folder, words, stdin in json.load(sys.stdin):
    os.environ.update(environment)
    os.chdir(folder)
    read, write = os.pipe()
    os.write(write, stdin.encode())
    os.close(write)
    os.dup2(read, 0)
    sys.stdin = open(0, closefd=False)
    os.close(read)
    try:
        code = main(words)
    except SystemExit as leaving:  # help
        code = leaving.code
    print("code", code, "of", *words, flush=True)
"""

Task = tuple[dict[str, str], str, list[str], str]


def drive(tasks: list[Task]) -> tuple[list[str], str]:
    """Those of them that did not end well, and all that was printed."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(tasks),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    codes = [line for line in done.stdout.splitlines() if line.startswith("code ")]
    assert len(codes) == len(tasks), done.stdout + done.stderr
    return [line for line in codes if not line.startswith("code 0 ")], done.stdout + done.stderr


@pytest.mark.process
def test_examples_that_run_jobs_end_well(
    templates: Templates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: list[Task] = []
    for number, example in enumerate(PROCESSES):
        if begins(example, "worker"):
            continue
        folder = tmp_path / str(number)
        environment = templates.copy(kind_for(example.words), folder)
        monkeypatch.chdir(folder / "work")
        tasks.append((environment, str(folder / "work"), placed(example, folder), stdin_of(example)))
    assert len(tasks) > 10
    failed, printed = drive(tasks)
    assert failed == [], printed


@pytest.mark.long
def test_examples_of_workers_end_well(templates: Templates, tmp_path: Path) -> None:
    """One after the other on one store, as somebody would type them."""
    examples = [list(example.words) for example in PROCESSES if begins(example, "worker")]
    environment = templates.copy("nothing", tmp_path)
    # Those of `stop` leave nobody to restart.
    order = {"start": 0, "list": 1, "restart": 2, "scale": 3, "stop": 4}
    examples.sort(key=lambda words: order[words[1]])
    failed, printed = drive(
        [(environment, str(tmp_path), words, "") for words in (*examples, ["worker", "stop", "--now"])]
    )
    assert failed == [], printed


def test_nothing_is_listed_that_no_help_shows() -> None:
    """What an exception was made for is still there."""
    for start in (*ONLY_PARSED, *RUN, *REFUSED, *IN_A_PROCESS):
        assert any(begins(example, start) for example in EXAMPLES), start
    assert set(PIPED) <= set(EXAMPLES)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("queuectl graph job1 --up     only what it waits for", ["graph job1 --up"]),
        ("ls | sed s/x/y/ | queuectl enqueue --lines -f -", ["enqueue --lines -f -"]),
        ("queuectl wait --all && queuectl list > out", ["wait --all", "list"]),
        ('id=$(queuectl enqueue "a | b")', ["enqueue 'a | b'"]),
        ("curl localhost:8470", []),
    ],
)
def test_the_commands_of_a_line_are_found(line: str, words: list[str]) -> None:
    assert [shlex.join(example.words) for example in examples_in(line)] == words
