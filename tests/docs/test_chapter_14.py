"""What chapter 14 says of its six runs was measured, and its figure shows all of it."""

from __future__ import annotations

import statistics

import pytest
from site_logic import DOCS

from yieldrl.benchmarks import results
from yieldrl.docs._site import course
from yieldrl.exercises.ch14_debugging.diagnostics import BUGS, FOLDERS
from yieldrl.experiments import CHECKS

PAGE = (DOCS / "course" / "14-debugging.md").read_text("utf-8")
TEXT = " ".join(PAGE.split())


@pytest.fixture(scope="module")
def runs():
    return results.load(results.FOLDER / "debugging-cartpole.json")["runs"]


def returns(runs, folder):
    """The return's line of every seed."""
    return [[value for _, value in run["series"][f"{folder}, return"]] for run in runs]


def first_475(runs, folder):
    """The mean step at which evaluations first return 475."""
    return statistics.mean(
        next(step for step, value in run["series"][f"{folder}, return"] if value >= 475)
        for run in runs
    )


def numbers(runs, name):
    return [run["numbers"][name] for run in runs]


def test_what_the_page_says_of_the_returns_was_measured(runs):
    first, last = (
        {
            folder: round(statistics.mean(line[at] for line in returns(runs, folder)))
            for folder in ("right", *FOLDERS)
        }
        for at in (0, -1)
    )
    assert "after 1 536 steps, with 373 on average where PPO has 171" in TEXT
    assert (first["broken_02"], first["right"]) == (373, 171)
    assert first["broken_02"] == max(first.values())
    assert "it ends at 42." in TEXT
    assert last["broken_02"] == 42
    assert "two and a half times as long to get to 475" in TEXT
    ratio = first_475(runs, "broken_06") / first_475(runs, "right")
    assert ratio == pytest.approx(2.5, abs=0.1)
    assert "one of its five runs falls back to 334" in TEXT
    ends = [line[-1] for line in returns(runs, "broken_06")]
    assert round(min(ends)) == 334
    assert sum(end < 475 for end in ends) == 1
    assert "Its five lines lie between 9 and 137" in TEXT
    third = [value for line in returns(runs, "broken_03") for value in line]
    assert (round(min(third)), round(max(third))) == (9, 137)


def test_what_the_page_says_of_the_resume_was_measured(runs):
    lost = numbers(runs, "lost by saving, broken_04")
    assert "loses between 144 and 308 of its 500" in TEXT
    assert (round(min(lost)), round(max(lost))) == (144, 308)
    assert set(numbers(runs, "lost by saving, right")) == {0}


def test_the_fifth_is_the_right_one_in_every_digit(runs):
    assert "the same, in every digit of every reading" in TEXT
    for run in runs:
        right, fifth = (
            {
                name.partition(", ")[2]: line
                for name, line in run["series"].items()
                if name.startswith(folder)
            }
            for folder in ("right", "broken_05")
        )
        assert right == fifth
        assert len(right) == 5


def test_the_table_says_what_was_measured(runs):
    rows = dict.fromkeys(("right", *FOLDERS))
    for line in PAGE.partition("## What it reaches")[2].splitlines():
        cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
        if cells[0] in {"PPO", *FOLDERS}:
            rows["right" if cells[0] == "PPO" else cells[0]] = cells[1:]
    told = {
        "broken_01": ("promised too much", 0),
        "broken_02": ("approx_kl", 4),
        "broken_03": ("entropy at the end", 2),
        "broken_04": ("lost by saving", 0),
        "broken_05": ("sides", 2),
        "broken_06": ("undecided", 2),
    }
    for folder, (final, _, *shown) in rows.items():
        ends = [line[-1] for line in returns(runs, folder)]
        assert int(final) == round(statistics.mean(ends))
        if folder == "right":
            continue
        name, places = told[folder]
        for said, of in zip(shown, ("right", folder), strict=True):
            mean = statistics.mean(numbers(runs, f"{name}, {of}"))
            number = float(said.replace("−", "-"))  # noqa: RUF001
            assert number == pytest.approx(mean, abs=0.5 * 10**-places), (folder, of)
    assert results.load(results.FOLDER / "debugging-cartpole.json")["command"] in TEXT


def test_the_readings_say_what_the_page_says(runs):
    at_the_end = {
        (folder, reading): statistics.mean(
            run["series"][f"{folder}, {reading}"][-1][1] for run in runs
        )
        for folder in ("right", *FOLDERS)
        for reading in ("promised", "explained_variance")
    }
    assert "*promises*, at the end, 54 more than its episodes earn" in TEXT
    assert round(at_the_end["broken_01", "promised"]) == 54
    explained = {
        folder: at_the_end[folder, "explained_variance"]
        for folder in ("right", *FOLDERS)
    }
    assert "Judged by the explained variance, PPO is the worst of all" in TEXT
    assert min(explained.values()) == explained["right"]
    assert min(explained["broken_02"], explained["broken_03"]) > 0.65
    standing = [
        folder
        for folder in FOLDERS
        if all(
            abs(value) < 1e-6
            for run in runs
            for _, value in run["series"][f"{folder}, approx_kl"]
        )
    ]
    assert standing == ["broken_02", "broken_03"]  # "in two panels"


def test_the_figure_has_a_line_for_every_seed_and_folder(runs):
    names = course.load("six_bugs")
    frames = names["figure"]()["frames"]
    assert len(frames) == len(names["READINGS"]) == 5
    for frame, reading in zip(frames, names["READINGS"].values(), strict=True):
        band, mean, bug, marks, said = frame
        assert len(band) == len(mean) == len(FOLDERS)
        assert len(bug) == len(FOLDERS) * len(runs)
        assert len(marks) == 6
        assert said.startswith(reading.says)
        points = [len(line.split("L")) for line in bug]
        wanted = [
            len(run["series"][f"{folder}, {reading.name}"])
            for folder in FOLDERS
            for run in runs
        ]
        assert points == wanted


def test_every_bug_of_the_exercise_is_among_the_symptoms():
    table = PAGE.partition("## From symptom to cause")[2].partition("\n1. ")[0]
    rows = [
        line.strip("|").split("|") for line in table.splitlines() if line[:1] == "|"
    ]
    assert len(rows) > 20
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
    for words in (
        "an end that is bootstrapped",
        "a ratio that is always 1",
        "no gradient reaches the actor",
        "statistics, target network or optimizer that are not saved",
        "advantages of other steps",
        "a bonus with the wrong sign",
    ):
        assert words in table
    assert len(BUGS) == 7


def test_the_contract_looks_at_as_much_as_the_page_says():
    """That it finds two of the six is tested with the exercise."""
    assert "does that and [fourteen other things]" in TEXT
    assert len(CHECKS) - len({"state_dict"}) == 14
