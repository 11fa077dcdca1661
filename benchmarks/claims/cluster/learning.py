"""What PPO learns on Ray and in one process: CartPole, and GoTo from one clone."""

from collections.abc import Sequence
from typing import Any

import torch

from yieldrl.algorithms import ppo, vla_ppo
from yieldrl.benchmarks.claim import Options, Run, constants, values
from yieldrl.benchmarks.claims.vla.learning import CLONE, clones, look, rates
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.subprocesses import each

CARTPOLE, GOTO, PLACES = constants("cluster/learning", "CARTPOLE", "GOTO", "PLACES")
SETTINGS = {"cartpole": CARTPOLE, "goto": {**CLONE, **GOTO}, "places": PLACES}
LABELS = {
    "ppo here": "CartPole, in one process",
    "ppo ray": "CartPole, on Ray",
    "vla_ppo here": "GoTo, in one process",
    "vla_ppo ray": "GoTo, on Ray",
}


def train(side: str, seed: int, path: str) -> dict[str, Any]:
    """The score of a policy at the end: a return, or a success rate in `[0, 1]`.

    That of GoTo goes on from the clone in the file.
    """
    name, place = side.split()
    if name == "ppo":
        trainer: Any = ppo.Trainer(ppo.Config(**CARTPOLE, **PLACES[side], seed=seed))
    else:
        fields = {**CLONE, **GOTO, **PLACES[side]}
        trainer = vla_ppo.Trainer(vla_ppo.Config(**fields, seed=seed))
    with trainer:
        if name == "vla_ppo":
            trainer.model.load_state_dict(torch.load(path, weights_only=True))
        for _ in trainer():
            pass
        cartpole = {"score": "episode_return"}
        found = rates(trainer, 100, **cartpole) if name == "ppo" else look(trainer)
    score = found["score" if name == "ppo" else "success"]
    return {"side": side, "name": name, "place": place, "seed": seed, "score": score}


def measure(options: Options) -> list[dict[str, Any]]:
    made = clones(options)
    cases = [
        {"side": side, "seed": clone["seed"], "path": clone["path"]}
        for clone in made
        for side in LABELS
    ]
    first = [
        {"side": "vla_ppo clone", "name": "vla_ppo", "place": "clone"}
        | {"seed": clone["seed"], "score": clone["cloned"]["success"]}
        for clone in made
    ]
    return first + each(train, cases, options.jobs)


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, (side, label) in zip(COLORS, LABELS.items(), strict=False):
        most = 500 if side.startswith("ppo") else 1
        seeds, scores = (
            values(runs, "seed", side=side),
            values(runs, "score", side=side),
        )
        shares = [score / most for score in scores]
        axes.plot(seeds, shares, "o", color=color, label=label)
