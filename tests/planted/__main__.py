"""Whether the tests would notice: plant bugs in copies of the package, and run tests.

    python -m tests.planted --map        # which test enters which function (long)
    python -m tests.planted --map quick  # the same of the tests that are not slow
    python -m tests.planted              # plant every bug, say who catches it
    python -m tests.planted buffers envs # those of some rooms

A file of bugs, one for each room, lists `file`, `old` text, `new` text and, in one
sentence, what `goes_wrong`. Of each bug the quickest tests run that enter its function,
those of its own room first, until three have failed; if none of its room has, its
others. The exit status is 1 if no test of its own room catches a bug, or if one failed
while the map was made.
"""

from __future__ import annotations

import argparse
import ast
import json
import multiprocessing
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import yaml

from tests.planted.child import run_tests

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "planted"
MAP = CACHE / "map.json"
PROCESSES = multiprocessing.get_context("forkserver")
"""Each forks one that has imported what is large, but nothing of yieldrl."""

PROCESSES.set_forkserver_preload(["torch", "tensordict", "gymnasium"])
SECONDS = 40.0
"""Of the tests that run for one bug, as long as they took when the map was made."""


@dataclass(frozen=True)
class Bug:
    """One mistake: text of a file, what stands in its place, and what goes wrong."""

    room: str
    file: str
    old: str
    new: str
    goes_wrong: str

    @property
    def function(self) -> str:
        """The name of the function in which the old text stands; "" outside of all."""
        text = (ROOT / self.file).read_text("utf-8")
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.room}.yaml: {self.old!r} stands {text.count(self.old)} times in"
                f" {self.file}, and must stand there once: plant the bug anew"
            )
        line = text[: text.index(self.old)].count("\n") + 1
        inside = [name for name, lines in functions(text) if line in lines]
        return inside[-1] if inside else ""

    def plant(self, copy: Path) -> None:
        """Write the file with the mistake into a copy of the repository."""
        text = (ROOT / self.file).read_text("utf-8")
        (copy / self.file).write_text(text.replace(self.old, self.new), "utf-8")

    def remove(self, copy: Path) -> None:
        """Write the file as it is into a copy of the repository."""
        shutil.copy(ROOT / self.file, copy / self.file)


def functions(text: str) -> Iterator[tuple[str, range]]:
    """Name and lines of every function of a source, outer ones before inner ones."""

    def look(node: ast.AST, path: str) -> Iterator[tuple[str, range]]:
        for child in ast.iter_child_nodes(node):
            name = path
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{path}.{child.name}"
            if isinstance(child, ast.FunctionDef):
                yield name, range(child.lineno, (child.end_lineno or 0) + 1)
            yield from look(child, name)

    return look(ast.parse(text), "")


def bugs(rooms: list[str]) -> list[Bug]:
    """The bugs of some rooms, or of all."""
    files = sorted(Path(__file__).parent.glob("*.yaml"))
    if unknown := set(rooms) - {file.stem for file in files}:
        raise SystemExit(
            f"no bugs for {unknown}: choose from {[f.stem for f in files]}"
        )
    return [
        Bug(file.stem, **each)
        for file in files
        if not rooms or file.stem in rooms
        for each in yaml.safe_load(file.read_text("utf-8"))
    ]


@dataclass(frozen=True)
class Map:
    """Which tests execute a line, and how long each takes."""

    seconds: dict[str, float]  # test -> seconds, of those that passed
    entered: dict[str, dict[str, list[int]]]  # file -> function -> numbers of tests

    def tests(self, bug: Bug) -> list[str]:
        """The quickest tests that enter a bug's function, of its own room first."""
        names, entered = list(self.seconds), self.entered.get(bug.file, {})
        return self._quickest(bug, {names[i] for i in entered.get(bug.function, [])})

    def others(self, bug: Bug) -> list[str]:
        """The quickest tests of its room that are not known to enter the function: what
        runs in other processes is not in the map."""
        room = {name for name in self.seconds if is_in(name, bug.room)}
        return self._quickest(bug, room - {*self.tests(bug)})

    def _quickest(self, bug: Bug, tests: set[str]) -> list[str]:
        order = sorted(tests, key=lambda n: (not is_in(n, bug.room), self.seconds[n]))
        left, chosen = SECONDS, []
        for name in order:
            left -= self.seconds[name]
            if left < 0 and chosen:
                break
            chosen.append(name)
        return chosen


def is_in(test: str, room: str) -> bool:
    """Whether a test is of a room: in its folder, or in a file named after it."""
    return test.startswith((f"tests/{room}/", f"tests/test_{room}"))


class Durations:
    """A plugin of pytest: the seconds of each test that passes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.left_out: set[str] = set()  # that were skipped, or failed

    def pytest_runtest_logreport(self, report: Any) -> None:
        before = self.seconds.get(report.nodeid, 0.0)
        self.seconds[report.nodeid] = before + report.duration
        if report.outcome != "passed":
            self.left_out.add(report.nodeid)


def make_map(chosen: str) -> bool:
    """Run tests, write the map, and print the coverage of each room; whether none of
    them failed."""
    import coverage
    import pytest

    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True)
    os.environ["YIELDRL_MAP"] = str(CACHE)
    durations = Durations()
    words = ["-q", "-rf", "--tb=short", "-p", "no:cacheprovider"]
    words += ["-p", "planted.recorder"]
    words += ["-m", "not slow"] * (chosen == "quick")
    # A process that has Ray must not fork, and so its tests have one of their own.
    most = ["-n", "2", "--dist", "worksteal", "--ignore", "tests/distributed", "tests"]
    codes = [
        pytest.main([*words, *part], plugins=[durations])
        for part in (most, ["-n", "1", "tests/distributed"])
    ]
    left_out = durations.left_out
    seconds = {k: v for k, v in durations.seconds.items() if k not in left_out}
    numbers = {name: number for number, name in enumerate(seconds)}
    measured = coverage.Coverage(data_file=str(CACHE / ".coverage"))
    measured.combine([str(CACHE)])
    data = measured.get_data()
    entered = {}
    # Tests make files that are gone, and pages have code that is measured too.
    files = [file for file in data.measured_files() if file.endswith(".py")]
    for file in filter(os.path.isfile, files):
        by_line = {
            line: {numbers[name] for name in by if name in numbers}
            for line, by in data.contexts_by_lineno(file).items()
        }
        entered[Path(file).relative_to(ROOT).as_posix()] = {
            name: sorted(set().union(*(by_line.get(line, ()) for line in lines)))
            for name, lines in functions(Path(file).read_text("utf-8"))
        }
    MAP.write_text(json.dumps({"seconds": seconds, "entered": entered}))
    print_coverage(measured)
    print(f"{len(seconds)} tests passed, {len(left_out)} did not; wrote {MAP}")
    return not any(codes)


def print_coverage(measured: Any) -> None:
    """Of each room, how many of its statements and branches were executed."""
    kinds = ("covered_lines", "num_statements", "covered_branches", "num_branches")
    measured.json_report(outfile=str(CACHE / "coverage.json"), ignore_errors=True)
    files = json.loads((CACHE / "coverage.json").read_text())["files"]
    rooms: dict[str, Counter[str]] = {}
    for file, found in files.items():
        room = rooms.setdefault(Path(file).parts[0], Counter())
        room.update({kind: found["summary"][kind] for kind in kinds})
    for room, of in sorted(rooms.items()):
        lines = of["covered_lines"] / max(1, of["num_statements"])
        branches = of["covered_branches"] / max(1, of["num_branches"])
        print(f"{room:20} {lines:6.1%} of lines {branches:6.1%} of branches")


def copies(folder: str, count: int) -> Iterator[Path]:
    """Copies of the repository's files, each in a folder called `yieldrl`."""
    named = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.check_output(named, cwd=ROOT, text=True).splitlines()
    for number in range(count):
        copy = Path(folder, str(number), "yieldrl")
        for file in files:
            if (ROOT / file).is_file():
                (copy / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, copy / file)
        yield copy


def caught_by(bug: Bug, tests: list[str], copy: Path) -> list[str]:
    """The tests that fail with the bug, three at most."""
    if not tests:
        return []
    bug.plant(copy)
    said = CACHE / f"said_{copy.parent.name}.txt"
    try:
        child = PROCESSES.Process(target=run_tests, args=(copy, tests, said))
        child.start()
        child.join(10 * SECONDS)
    finally:
        bug.remove(copy)
    if child.exitcode is None:  # it waits for ever, which is noticed too
        child.kill()
        return tests[:1]
    if child.exitcode < 0:  # the interpreter died, which is noticed too
        return tests[:1]
    if child.exitcode > 1:
        raise RuntimeError(f"no tests were run:\n{said.read_text()[-3000:]}")
    lines = (line.split(" ", 2) for line in said.read_text().splitlines())
    return [words[1] for words in lines if words[0] in ("FAILED", "ERROR")]


def report(planted: list[Bug], known: Map, folder: str) -> int:
    """Plant every bug and print who catches it; how many its own room misses."""
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies(folder, 2):
        free.put(copy)

    def look(bug: Bug) -> list[str]:
        copy = free.get()
        try:
            found = caught_by(bug, known.tests(bug), copy)
            if not any(is_in(test, bug.room) for test in found):
                found += caught_by(bug, known.others(bug), copy)
            return found
        finally:
            free.put(copy)

    missed = 0
    with ThreadPoolExecutor(2) as pool:
        for bug, found in zip(planted, pool.map(look, planted), strict=True):
            own = [test for test in found if is_in(test, bug.room)]
            missed += not own
            verdict = f"caught by {len(found)}" if own else "MISSED by its own room"
            print(f"{verdict:24} {bug.file}: {bug.goes_wrong}", *found[:1], flush=True)
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*")
    parser.add_argument(
        "--map", nargs="?", const="all", choices=["all", "quick"], help="make it anew"
    )
    words = parser.parse_args()
    passed = True
    if words.map or not MAP.is_file():
        passed = make_map(words.map or "all")
    known, planted = Map(**json.loads(MAP.read_text())), bugs(words.rooms)
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        missed = report(planted, known, folder)
    print(f"{len(planted)} bugs, {missed} missed")
    raise SystemExit(missed > 0 or not passed)


if __name__ == "__main__":
    main()
