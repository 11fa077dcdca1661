"""Tables and measurements on the site."""

from __future__ import annotations

import json
import re

import pytest
from site_logic import DOCS, rendered

from yieldrl.benchmarks.tasks import TASKS, Published, Task
from yieldrl.docs._site import DirectiveError, measured

ALGORITHMS = sorted((DOCS.parent / "algorithms").iterdir())


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """A folder of results, and a function that puts one into it."""
    monkeypatch.setattr(measured, "FOLDER", tmp_path)

    def put(name, **result):
        (tmp_path / f"{name}.json").write_text(json.dumps(result))

    return put


def runs(*returns):
    return [{"final": {"episode_return": value}} for value in returns]


def test_results_are_a_table_that_nobody_typed(committed, monkeypatch):
    learned = {
        "task": "dqn-x",
        "kind": "learning",
        "command": "python -m benchmarks learning dqn-x",
        "whole_config": {"env_id": "X-v1", "total_steps": 150_000},
        "criterion": "at least 1",
        "passed": 1,
        "holds": False,
        "runs": runs(1.0, 2.5),
    }
    committed("dqn-x", **learned)
    reference: dict[str, object] = {"library": "sb3", "algorithm": "DQN"}
    reference |= {"runs": runs(3.0), "source": "its zoo"}
    reference["command"] = "python -m benchmarks learning dqn-y --side reference"
    more = {"task": "dqn-y", "reference": reference, "criterion": "none"}
    task = Task(algorithm="dqn", published=Published(value=4.0, source="somebody"))
    monkeypatch.setitem(TASKS, "dqn-y", task)
    committed("dqn-y", **learned | more)
    committed("peers", kind="peers")
    lines = rendered("Text.\n\n::: table learning\n").splitlines()
    assert lines[2].startswith("| task | environment | steps | mean | seeds | learned")
    assert lines[4] == (
        "| [dqn-x](results/dqn-x.json) | X-v1 | 150,000 | **1.75** | 1 to 2.5 |"
        " 1 of 2: **too few** |   |"
    )
    assert lines[5].endswith(
        "| a control | 3 (sb3 DQN, 1 seeds; its zoo)<br>4 (somebody) |"
    )
    commands = [learned["command"], reference["command"]]
    assert lines[7:] == ["```bash", *commands, "```"]


def test_claims_are_a_table_too(committed):
    assert "Nothing has been measured" in rendered("::: table evidence")
    numbers = [{"numbers": {"size": value}} for value in (1.0, 2.0)]
    committed(
        "a",
        kind="evidence",
        command="python -m benchmarks evidence a",
        statement="It is so.",
        criterion="size is positive",
        passed=2,
        holds=True,
        runs=numbers,
    )
    shown = rendered("::: table evidence").splitlines()[2]
    assert "| It is so. | size: 1.5 | 2 of 2 |" in shown


def test_the_speed_of_worlds_is_a_table_with_the_fastest_in_bold(committed):
    assert "Nothing has been measured" in rendered("::: table worlds")

    def side(speed, held=None):
        return {"steps_per_second": speed, "bytes_per_env": held}

    verdicts = [{"holds": True}, {"holds": False}, {"holds": None}]
    committed(
        "worlds-x",
        kind="worlds",
        command="python -m benchmarks worlds x",
        env_id="X-v1",
        hardware={"cpu": "A CPU", "cores": 2},
        threads=1,
        sides=["yieldrl", "rival"],
        points=[
            {"num_envs": 1, "sides": {"yieldrl": side(950, 79), "rival": side(9500)}},
            {"num_envs": 1024, "sides": {"yieldrl": side(12_345_678.0, 79)}},
        ],
        demands=verdicts,
    )
    lines = rendered("::: table worlds").splitlines()
    head = "| side | 1 | 16 | 256 | 1,024 | 16,384 | 65,536 | bytes |"
    assert lines[0] == head
    assert lines[2] == (
        "| **X-v1**<br>A CPU<br>1 thread<br>1 of 2 demands hold<br>"
        "[figure](results/worlds-x.svg)<br>[worlds-x](results/worlds-x.json)"
        " |   |   |   |   |   |   |   |"
    )
    fast = "| yieldrl | 0.95&nbsp;k |   |   | **12.3&nbsp;M** |   |   | 79 |"
    assert lines[3] == fast
    assert lines[4] == "| rival | **9.5&nbsp;k** |   |   |   |   |   |   |"
    assert lines[6:] == ["```bash", "python -m benchmarks worlds x", "```"]


def test_a_page_shows_what_was_measured_of_its_algorithm_alone(committed):
    assert "not measured" in rendered("::: reached by dqn")
    learned = {
        "kind": "learning",
        "task": "dqn-x",
        "algorithm": "dqn",
        "command": "python -m benchmarks learning dqn-x",
        "whole_config": {"env_id": "X-v1", "total_steps": 150_000},
        "criterion": "at least 2",
        "threshold": 2.0,
        "passed": 1,
        "holds": True,
        "runs": runs(1.0, 2.5),
    }
    committed("dqn-x", **learned)
    committed("c51-x", **learned | {"algorithm": "c51"})
    shown = rendered("::: reached by dqn")
    assert shown == (
        "![Returns of dqn on X-v1 as they train](../results/dqn-x.svg)\n\n"
        "**X-v1**, 150,000 steps: mean return 1.75 over 2 seeds, from 1 to 2.5; 2 or"
        " more on 1 of 2. [Every number](../results/dqn-x.json) is from"
        " `python -m benchmarks learning dqn-x`."
    )


def test_a_page_shows_the_figures_that_compare_its_algorithm(committed):
    measured = {
        "kind": "learning",
        "command": "python -m benchmarks learning",
        "whole_config": {"env_id": "X-v1", "total_steps": 1},
        "criterion": "at least 1",
        "threshold": 1.0,
        "passed": 1,
        "holds": True,
        "runs": runs(1.0),
    }
    for name in ("td3", "sac"):
        task = f"{name}-pendulum"
        committed(task, **measured | {"task": task, "algorithm": name})
    shown = rendered("::: reached by td3")
    assert shown.endswith(
        "\n\n![Returns of sac, td3, ddpg on X-v1 as they train]"
        "(../results/pendulum.svg)\n\n"
        "On the same axes with [sac](../algorithms/sac.md),"
        " [ddpg](../algorithms/ddpg.md)."
    )
    assert "results/td3-pendulum.svg" in shown
    assert "halfcheetah" not in shown  # no two of its tasks were measured
    assert "pendulum" not in rendered("::: reached by dqn")


def test_a_page_may_show_one_claim_or_one_comparison_alone(committed):
    source = {"command": "python -m benchmarks x", "passed": 1, "holds": True}
    claim = {"kind": "evidence", "statement": "It is so.", "criterion": "it is"}
    committed(
        "td3-a", **claim, **source, runs=[{"numbers": {"size": 1.5}, "series": {}}]
    )
    shown = rendered("::: measured td3-a")
    assert shown == rendered("::: reached by td3")
    assert "**It is so.** Means over seeds: size: 1.5. It held on 1 of 1" in shown
    config = {"env_id": "X-v1", "total_steps": 1}
    learned = {"kind": "learning", "whole_config": config, "criterion": "none"}
    for name in ("td3", "sac"):
        task = {"task": f"{name}-pendulum", "algorithm": name, "runs": runs(2.0)}
        committed(f"{name}-pendulum", **learned, **source, **task)
    figure, _, *members = rendered("::: measured pendulum").splitlines()
    assert figure == (
        "![Returns of sac, td3 on X-v1 as they train](../results/pendulum.svg)"
    )
    assert [line.partition(":")[0] for line in members] == [
        "- [sac](../algorithms/sac.md)",
        "- [td3](../algorithms/td3.md)",
    ]
    assert "results/td3-pendulum.json) is from `python -m benchmarks x`" in members[1]
    with pytest.raises(DirectiveError, match="called td3-b"):
        rendered("::: measured td3-b")


def test_controls_come_last_and_say_what_they_are_for(committed):
    measured = {
        "kind": "learning",
        "command": "python -m benchmarks learning",
        "whole_config": {
            "env_id": "m:X-v1",
            "total_steps": 5,
            "env_kwargs": {"velocities": False},
        },
        "runs": runs(1.0),
    }
    nothing, asked = {"criterion": "none"}, {"criterion": "at least 1", "threshold": 1}
    asked |= {"passed": 1, "holds": True}
    for name, algorithm, of in (
        ("ppo-cartpole-positions", "ppo", nothing),
        ("ppo-zoo", "ppo", asked),
        ("ppo_lstm-cartpole-positions", "ppo_lstm", asked),
        ("ppo-other", "ppo", nothing),
    ):
        committed(name, **measured | of | {"task": name, "algorithm": algorithm})
    shown = rendered("::: reached by ppo")
    first, heading, controls = shown.partition("### As a control")
    assert heading
    assert re.findall(r"results/([\w-]+)\.json", first) == ["ppo-zoo"]
    assert "![Returns of ppo_lstm, ppo on X-v1 (velocities=False) as" in controls
    assert "(../results/cartpole-memory.svg)" in controls
    assert "**X-v1 (velocities=False)**, 5 steps, a control for [ppo_lstm]" in controls
    assert "(../results/ppo-other.svg)\n\n**X-v1 (velocities=False)**" in controls
    lstm = rendered("::: reached by ppo_lstm")
    assert "As a control" not in lstm
    assert "On the same axes with [ppo](../algorithms/ppo.md)" in lstm
    rows = rendered("::: table learning").splitlines()[2:6]
    assert ["a control" in row for row in rows] == [False, False, True, True]


def test_peers_are_a_section_once_there_is_a_result(committed):
    assert rendered("Before.\n\n::: table peers\n") == "Before.\n\n\n"
    assert "Nothing has been measured" in rendered("::: table beside")
    medians = {"steps_per_second": 8973.4, "return": 480.0, "returns": [450.0, 500.0]}
    medians["steps"] = 1_000
    slow = medians | {"steps_per_second": 2954.4, "ratio": 3.04, "ratios": [2.9, 3.2]}
    slow |= {"steps": 900, "first_ratio": 1.9, "first_ratios": [1.8, 2.0]}
    verdict = {"demand": "times as fast as Stable-Baselines3", "value": 3.04}
    learned = {"demand": "its deterministic return", "value": 480.0, "bound": 475.0}
    committed(
        "peers-W1",
        kind="peers",
        workload="W1",
        title="PPO, X-v1",
        command="python -m benchmarks peers W1",
        hardware={"cpu": "A CPU", "cores": 2},
        measure="steps_per_second",
        steps=1_000,
        summary={"yieldrl": medians, "sb3": slow},
        demands=[verdict | {"bound": 3.5, "holds": False}, learned | {"holds": True}],
    )
    shown = rendered("::: table peers")
    assert shown.startswith("## Beside other libraries\n")
    title, own, other = [row for row in shown.splitlines() if row.startswith("|")][2:]
    assert title.startswith("| **PPO, X-v1**<br>[peers-W1](results/peers-W1.json) |")
    assert own == (
        "| yieldrl, kept code | 8,973 steps/s |   |   | 480 (450 to 500)"
        " | times as fast as Stable-Baselines3: 3.04 of 3.5, **not enough**<br>"
        "its deterministic return: 480 of 475 |"
    )
    assert other == (
        "| Stable-Baselines3 | 2,954 steps/s | 3.04 (2.90 to 3.20)"
        " | 1.90 (1.80 to 2.00) | 480 (450 to 500, 900 steps) |   |"
    )
    assert shown.endswith("On 2 cores of A CPU.")
    brief = rendered("::: table beside").splitlines()[2]
    assert brief == (
        "| PPO, X-v1<br>[peers-W1](results/peers-W1.json) | Stable-Baselines3"
        " | kept code | **3.04 (2.90 to 3.20)** | 1.90 (1.80 to 2.00)"
        " | 480 (450 to 500) | 480 (450 to 500, 900 steps) |"
    )


def test_the_family_is_a_table_of_every_algorithm():
    shown = rendered("::: table family").splitlines()
    names = {line.split("`")[1] for line in shown[2:]}
    assert names == {path.name for path in ALGORITHMS if (path / "trainer.py").exists()}
    rainbow = next(line for line in shown if "`rainbow`" in line)
    below = "&nbsp;" * 8 + "└&nbsp;"
    assert rainbow.startswith(f"| {below}[`rainbow`](rainbow.md) |")
    assert "[arXiv:1710.02298](https://arxiv.org/abs/1710.02298)" in rainbow


def test_what_the_page_of_ppo_counts():
    path = DOCS.parent / "benchmarks" / "results" / "ppo-halfcheetah.json"
    result = json.loads(path.read_text("utf-8"))
    sides = (result["runs"], result["reference"]["runs"])
    low, late = [], []
    for runs in sides:
        returns = [
            look["episode_return"]
            for run in runs
            for look in run["curve"]
            if look["sample_step"] > 100_000
        ]
        low.append(sum(value < -150 for value in returns))
        late.append(len(returns))
    text = " ".join((DOCS / "algorithms" / "ppo.md").read_text().split())
    said = f"{low[0]} of {late[0]} evaluations were below -150 here, and"
    assert f"{said} {low[1]} of {late[1]} there" in text
