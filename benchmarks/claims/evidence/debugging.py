"""What the six silent bugs of `exercises/ch14_debugging` look like on CartPole, beside
PPO as it is. All runs are stopped half way, saved, and go on from what was saved."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import Claim, main

STEPS = 30_720
LOOK_EVERY = 1_536  # environment steps: three rollouts
LOGGED = ("entropy", "approx_kl", "explained_variance")
READINGS = ("return", "promised", *LOGGED)
SETTINGS: dict[str, Any] = {  # where the config differs from PPO's defaults
    "num_epochs": 8,
    "gae_lambda": 0.9,
    "entropy_coef": 0.05,
    "normalize_observation": True,
}

Line = list[list[float]]


def on_cartpole(seed: int) -> dict[str, Any]:
    """PPO's readings and those of the six folders, and numbers to judge each folder by.

    "promised" is the value of the upright pole, less the discounted return of the
    episodes that ended since the evaluation before.
    """
    from yieldrl.exercises.ch14_debugging import diagnostics

    classes = {"right": ppo.Trainer}
    classes |= {name: diagnostics.trainer_of(name) for name in diagnostics.FOLDERS}
    lines = {name: watched(trainer, seed) for name, trainer in classes.items()}
    measured = {
        f"{name}, {reading}": line
        for name, readings in lines.items()
        for reading, line in readings.items()
    }
    for what, broken, number in (
        ("promised too much", "broken_01", lambda of: late(of["promised"])),
        ("approx_kl", "broken_02", lambda of: mean(of["approx_kl"])),
        ("entropy at the end", "broken_03", lambda of: of["entropy"][-1][1]),
        ("lost by saving", "broken_04", lambda of: lost(of["return"])),
    ):
        for name in ("right", broken):
            measured[f"{what}, {name}"] = number(lines[name])
    differ = sum(lines["right"][name] != lines["broken_05"][name] for name in READINGS)
    measured["readings that differ, broken_05"] = differ
    for name in ("right", "broken_05"):
        sides = diagnostics.known_sides(classes[name], seed)
        measured[f"sides, {name}"] = round(sides, 4)
    for name in ("right", "broken_06"):
        left = diagnostics.indecision(classes[name], seed)
        measured[f"undecided, {name}"] = round(left, 4)
    return measured


def watched(trainer_class: Any, seed: int) -> dict[str, Line]:
    """Train, save and load half way, go on; the lines of all readings."""
    config = ppo.Config(
        total_steps=STEPS,
        eval_every=LOOK_EVERY,
        seed=seed,
        speed="eager",
        device="cpu",
        **SETTINGS,
    )
    lines: dict[str, Line] = {name: [] for name in READINGS}
    with trainer_class(config) as trainer:
        for look in looks(trainer, until=STEPS // 2):
            note(look, lines)
        with tempfile.TemporaryDirectory() as folder:
            path = trainer.save(Path(folder) / "checkpoint.pt")
            restored = trainer_class.load(path)
    with restored:
        step, found = restored.agent.sample_step, restored.evaluate(10)["logs"]
        note({"step": step, "return": found["episode_return"]}, lines)
        for look in looks(restored, until=STEPS):
            note(look, lines)
    return lines


def looks(trainer: Any, until: int) -> Iterator[dict[str, float]]:
    """At every evaluation, what was seen since the one before."""
    seen: dict[str, list[float]] = {name: [] for name in (*LOGGED, "earned")}
    for log in trainer():
        logs = log["logs"]
        if log["log_type"] == "collect" and "episode_length" in logs:
            gamma, length = trainer.config.gamma, float(logs["episode_length"])
            seen["earned"].append((1 - gamma**length) / (1 - gamma))
        for name in LOGGED:
            if log["log_type"] == "train" and name in logs:
                seen[name].append(float(logs[name]))
        if log["log_type"] != "evaluate":
            continue
        look = {name: statistics.mean(of) for name, of in seen.items() if of}
        if "earned" in look:
            look["promised"] = value(trainer) - look.pop("earned")
        yield look | {"step": log["sample_step"], "return": logs["episode_return"]}
        seen = {name: [] for name in seen}
        if log["sample_step"] >= until:
            return


@torch.inference_mode()
def value(trainer: Any) -> float:
    """The critic's value of the upright pole, in units of rewards."""
    scale = trainer.algorithm.reward_scaler.moments.var.sqrt()
    return float(trainer.model.get_value(torch.zeros(1, 4))[0] * scale)


def note(look: dict[str, float], lines: dict[str, Line]) -> None:
    for name, line in lines.items():
        if name in look:
            line.append([look["step"], round(look[name], 5)])


def mean(line: Line) -> float:
    return round(statistics.mean(y for _, y in line), 5)


def late(line: Line) -> float:
    return mean(line[len(line) // 2 :])


def lost(line: Line) -> float:
    """By how much a return is lower after loading than before saving."""
    at = next(i for i in range(1, len(line)) if line[i][0] == line[i - 1][0])
    return round(line[at - 1][1] - line[at][1], 5)


def told_apart(of: Any) -> bool:
    """Whether every bug shows in its reading, and PPO does not."""
    return (
        of["promised too much, right"] < 20 < of["promised too much, broken_01"]
        and of["approx_kl, broken_02"] < 1e-6 < of["approx_kl, right"]
        and of["entropy at the end, right"] < 0.69 < of["entropy at the end, broken_03"]
        and of["lost by saving, right"] < 50 < of["lost by saving, broken_04"]
        and of["readings that differ, broken_05"] == 0
        and of["sides, broken_05"] < 0.5
        and of["sides, right"] > 1.9
        and of["undecided, broken_06"] < 0.5
        and of["undecided, right"] > 0.9
    )


CLAIMS = [
    Claim(
        name="debugging-cartpole",
        statement=(
            "Of six bugs in PPO that raise no error four show in a reading on CartPole,"
            " and two in worlds whose answer is known."
        ),
        run=on_cartpole,
        criterion=(
            "1 promises 20 more than is earned, 2 has an approx_kl of 0, 3 all the"
            " entropy there is, 4 loses 50 of the return by saving and loading, 5 has"
            " the readings of the right one and does not tell a step that pays from one"
            " that costs, 6 is decided where only being undecided pays; PPO is right in"
            " all of that"
        ),
        holds=told_apart,
        y_label="reading",
    )
]


if __name__ == "__main__":
    main(CLAIMS)
