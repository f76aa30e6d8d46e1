"""Commands per second end to end, against everybody else who runs commands, all in the same rounds.

Ours is the whole way from the first start to the last stored result. What is measured of a contestant is told
by its class in bench.contestants; where in doubt it is to its advantage.
"""

from __future__ import annotations

from collections.abc import Mapping

from bench import realistic
from bench.contestants import EVERYONE, FLOOR, NATIVE, PYTHON_QUEUES, Contestant
from bench.ours import Ours
from bench.places import MARIADB, POSTGRES, SERVERS, found, not_measured
from bench.race import Field, ratio
from bench.table import STATED, Result, median

COMMANDS = ("true", "echo hello")
TARGETS = {FLOOR.name: 1.0, "task-spooler": 2.5, "HyperQueue": 3.0, "GNU parallel": 6.0}
FASTEST_PYTHON = 2.0
FOUR_PROCESSES, ONE_PROCESS, MANY_SLOTS = (
    "4 processes of 1 slot",
    "1 process of 2 slots",
    "1 process of 64 slots",
)
# Beside `xargs -P2`, though they have more processes, more slots, or a server in between.
VARIANTS: dict[str, float | None] = {
    ONE_PROCESS: None,
    FOUR_PROCESSES: 0.9,
    MANY_SLOTS: 0.9,
    POSTGRES: 0.9,
    MARIADB: 0.85,
}

# As people start two: `queuectl worker start --count 2`. In one process the starts come one after the other.
OURS = Ours("queuectl", processes=2, slots=1)


def variants(servers: Mapping[str, str]) -> list[Ours]:
    return [
        Ours(ONE_PROCESS, processes=1, slots=2),
        Ours(FOUR_PROCESSES, processes=4, slots=1),
        Ours(MANY_SLOTS, slots=64),
        *(
            Ours(engine, processes=2, slots=1, engine=engine, servers=servers)
            for engine in SERVERS
            if engine in servers
        ),
    ]


def quickest_at_hand() -> list[Contestant]:
    return [contestant for contestant in NATIVE if contestant.at_hand()][:2]


def measure(*, quick: bool = False) -> list[Result]:
    """Quick: against `xargs` and two others that are installed already, in one minute."""
    servers = {} if quick else found()
    field = Field([OURS, *([] if quick else variants(servers))], most=1000 if quick else 3000)
    invited = [FLOOR, *quickest_at_hand()] if quick else EVERYONE
    for contestant in invited:
        field.invite(contestant)
    results = []
    for command in COMMANDS:
        rates = field.run(command, rounds=3 if quick else 5)
        compared = [against(command, contestant.name, rates, field.absent) for contestant in invited]
        if not quick:
            compared += [_fastest_python(command, rates)]
            compared += [_variant(command, name, rates) for name in VARIANTS]
        results += compared
    return [*results, *realistic.measure(rounds=3 if quick else 7, count=60 if quick else 200)]


def against(command: str, name: str, rates: Mapping[str, list[float]], absent: Mapping[str, str]) -> Result:
    what = f"commands/s end to end, sh -c {command!r}, 2 slots"
    if name not in rates:
        missing = not_measured(f"{what}, against {name}", absent[name])
        missing.peer = name
        return missing
    return _judged(what, rates[OURS.name], name, rates[name], TARGETS.get(name))


def _fastest_python(command: str, rates: Mapping[str, list[float]]) -> Result:
    what = f"… the fastest queue in Python, sh -c {command!r}"
    names = [contestant.name for contestant in PYTHON_QUEUES if contestant.name in rates]
    if not names:
        return not_measured(what, "there is none")
    fastest = max(names, key=lambda name: median(rates[name]))
    return _judged(what, rates[OURS.name], fastest, rates[fastest], FASTEST_PYTHON)


def _variant(command: str, name: str, rates: Mapping[str, list[float]]) -> Result:
    what = f"commands/s, {name}, sh -c {command!r}"
    if name not in rates or FLOOR.name not in rates:
        return not_measured(what, "no server" if name in SERVERS else f"no {FLOOR.name}")
    return _judged(what, rates[name], FLOOR.name, rates[FLOOR.name], VARIANTS[name])


def _judged(what: str, ours: list[float], peer: str, theirs: list[float], bound: float | None) -> Result:
    reached = ratio(ours, theirs)
    return Result(
        what,
        ours,
        "/s",
        peer=peer,
        peer_values=theirs,
        ratio=reached,
        target=STATED if bound is None else f"≥ {bound:g} ×",
        good=bound is None or reached >= bound,
    )
