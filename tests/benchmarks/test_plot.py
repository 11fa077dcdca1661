"""The plots of results: which there are, and that they suit both kinds of page."""

import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes

from yieldrl.benchmarks import plot, results, style
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.benchmarks.tasks import TASKS, Published, Task

PAGES = {"light": (255, 255, 255), "dark": (30, 35, 43)}


def run(seed: int, returns: list[float]) -> dict[str, Any]:
    curve = [
        {"sample_step": 1000 * (i + 1), "episode_return": value}
        for i, value in enumerate(returns)
    ]
    return {"seed": seed, "curve": curve}


@pytest.fixture
def learned() -> dict[str, Any]:
    """As results were before they had references and tuned files."""
    return results.circumstances("learning", "python -m benchmarks", [1, 2]) | {
        "task": "one",
        "algorithm": "double_dqn",
        "whole_config": {"env_id": "CartPole-v1"},
        "threshold": 475.0,
        "runs": [run(1, [20.0, 500.0]), run(2, [30.0, 400.0])],
    }


@pytest.fixture
def reference() -> dict[str, Any]:
    return results.circumstances("reference", "python -m benchmarks", [1]) | {
        "library": "sb3_contrib",
        "algorithm": "TRPO",
        "runs": [run(1, [100.0, 200.0])],
    }


@pytest.fixture
def evidence() -> dict[str, Any]:
    lines = {"dqn, estimated": [[0, 2.0], [5, 3.0]], "dqn, true": [[0, 1.0], [5, 1.0]]}
    return results.circumstances("evidence", "python -m benchmarks", [1]) | {
        "statement": "It is so.",
        "x_label": "environment steps",
        "y_label": "value",
        "runs": [{"seed": 1, "numbers": {"bias": 1.5}, "series": lines}],
    }


def labels(path: Path, monkeypatch: pytest.MonkeyPatch, draw: Any) -> str:
    """The words of an SVG, which has them as words for once."""
    monkeypatch.setitem(style.STYLE, "svg.fonttype", "none")
    svg = draw()
    assert svg.parent == path
    return " | ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg.read_text()))


def test_results_are_drawn_the_same_each_time(
    learned: dict[str, Any], evidence: dict[str, Any], tmp_path: Path
) -> None:
    results.save(learned, tmp_path / "a.json")
    results.save(evidence, tmp_path / "b.json")
    files = list(plot.draw_all(tmp_path / "figures", tmp_path))
    assert files == [tmp_path / "figures" / f"{name}.svg" for name in "ab"]
    first = [file.read_bytes() for file in files]
    again = plot.draw_all(tmp_path / "again", tmp_path)
    assert [file.read_bytes() for file in again] == first


def test_only_what_has_lines_is_drawn(
    learned: dict[str, Any], evidence: dict[str, Any], tmp_path: Path
) -> None:
    evidence["runs"][0]["series"] = {}
    results.save(evidence, tmp_path / "numbers.json")
    results.save(learned | {"kind": "peers"}, tmp_path / "peers.json")
    assert plot.figures(tmp_path) == {}


def test_a_curve_says_what_it_stands_beside(
    learned: dict[str, Any],
    reference: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def draw() -> Path:
        return plot.draw(plot.draw_learning, learned, tmp_path / "a.svg")

    words = labels(tmp_path, monkeypatch, draw)
    assert "double_dqn on CartPole-v1" in words
    assert "double_dqn, 2 seeds" in words
    assert "counts as learned: 475" in words
    assert "SB3-Contrib" not in words
    learned["reference"] = reference
    published = Published(value=480.5, source="RL Zoo")
    monkeypatch.setitem(TASKS, "one", Task(algorithm="ppo", published=published))
    words = labels(tmp_path, monkeypatch, draw)
    assert "TRPO of SB3-Contrib, 1 seed" in words
    assert "RL Zoo: 480.5" in words


def test_a_figure_compares_the_tasks_that_have_results(
    learned: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {"family": ("one", "two", "three"), "alone": ("two", "four")}
    monkeypatch.setattr(plot, "FIGURES", figures)
    results.save(learned, tmp_path / "one.json")
    results.save(learned | {"algorithm": "dqn"}, tmp_path / "two.json")

    figure = plot.figures(tmp_path)["family"]

    def draw() -> Path:
        return figure.draw(figure.data, tmp_path / "family.svg")

    words = labels(tmp_path, monkeypatch, draw)
    assert "double_dqn, 2 seeds | dqn, 2 seeds" in words
    assert plot.figures(tmp_path).keys() == {"one", "two", "family"}


def test_worlds_are_lines_over_the_number_of_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, slow = {"runs": [4.0, 5.0, 9.0]}, {"runs": [1.0, 2.0, 3.0]}
    result = results.circumstances("worlds", "python -m benchmarks", [0]) | {
        "env_id": "yieldrl/CartPole-v1",
        "threads": 2,
        "sides": ["yieldrl", "Gymnasium, single"],
        "points": [
            {
                "num_envs": 1,
                "sides": {"yieldrl": slow, "Gymnasium, single": slow},
            },
            {"num_envs": 65536, "sides": {"yieldrl": fast}},
        ],
    }

    def draw() -> Path:
        return plot.draw(plot.draw_worlds, result, tmp_path / "worlds-cartpole.svg")

    words = labels(tmp_path, monkeypatch, draw)
    assert "yieldrl/CartPole-v1, 2 threads" in words
    assert "yieldrl | Gymnasium, single" in words
    assert "1 | 65,536 | environments" in words
    result["hardware"]["gpu"] = "A GPU"
    words = labels(tmp_path, monkeypatch, draw)
    assert "2 threads, A GPU" in words


def test_seeds_that_look_at_other_steps_have_a_mean_where_all_were() -> None:
    late = run(2, [0.0, 100.0])
    for point in late["curve"]:
        point["sample_step"] += 500
    drawn = plot.curve("DQN", [run(1, [0.0, 100.0]), late])
    assert drawn.steps.tolist() == [1500.0, 2000.0]
    assert drawn.mean.tolist() == [25.0, 75.0]


def luminance(color: tuple[int, ...]) -> float:
    """Relative luminance as the WCAG 2.2 define it."""
    parts = [c / 255 for c in color]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("color", [*plot.COLORS, plot.INK])
def test_colors_are_seen_on_light_and_dark_pages(color: str, page: str) -> None:
    drawn = luminance(tuple(bytes.fromhex(color.removeprefix("#"))))
    paper = luminance(PAGES[page])
    contrast = (max(drawn, paper) + 0.05) / (min(drawn, paper) + 0.05)
    assert contrast >= 3  # WCAG 2.2, 1.4.11: graphical objects


def test_the_background_is_left_out(learned: dict[str, Any], tmp_path: Path) -> None:
    """SVG draws it as the first patch: without a colour."""
    svg = plot.draw(plot.draw_learning, learned, tmp_path / "a.svg").read_text()
    patch = svg.partition('<g id="patch_1">')[2].partition("</g>")[0]
    assert 'style="fill: none"' in patch


@pytest.mark.parametrize("group", CLAIMS)
def test_what_a_claim_says_of_its_figure_can_be_drawn(group: str) -> None:
    """A comma in YAML's braces makes another entry of what was to be words."""
    for name, claim in CLAIMS[group].items():
        unknown = [of for of in claim.figure if not hasattr(Axes, f"set_{of}")]
        assert not unknown, name
