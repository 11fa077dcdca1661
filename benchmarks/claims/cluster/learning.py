"""What PPO learns on Ray and in one process: CartPole, and GoTo from one clone."""

from typing import Any

import torch

from yieldrl.algorithms import ppo, vla_ppo
from yieldrl.benchmarks.claims.vla.learning import CLONE, clones, look, rates
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, values
from yieldrl.benchmarks.style import dots
from yieldrl.benchmarks.subprocesses import each
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least

CARTPOLE: dict[str, Any] = {
    "env_id": "CartPole-v1",
    "total_steps": 100_000,
    "eval_every": 0,
    "device": "cpu",
}
# how PPO goes on from a clone
GOTO = {**CLONE, "demonstration_steps": 0, "total_steps": 24_000, "eval_every": 0}
RAY: dict[str, Any] = {"collection": "ray", "rollout_workers": 2}
PLACES: dict[str, dict[str, Any]] = {
    "ppo here": {},
    "ppo ray": {**RAY, "learners": 2},
    "vla_ppo here": {},
    "vla_ppo ray": {**RAY, "inference_actors": 1},
}
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
        fields = {**GOTO, **PLACES[side]}
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


def from_clones(seeds: int, jobs: int) -> list[dict[str, Any]]:
    made = clones(seeds, jobs)
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
    return first + each(train, cases, jobs)


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side, label in LABELS.items():
        found = values(runs, "score", side=side)
        ends = f"{min(found):.3f} to {max(found):.3f}"
        rows.append([label, f"{mean(runs, 'score', side=side):.3f}", ends])
    return ["what", "score", "seeds"], rows


def judge(runs: Runs) -> list[Demand]:
    ray, here = (mean(runs, "score", side=f"vla_ppo {at}") for at in ("ray", "here"))
    words = "GoTo, success on Ray less that in one process"
    cartpole = mean(runs, "score", side="ppo ray")
    return [
        at_least("CartPole on Ray, mean return", cartpole, 475),
        at_least(words, ray - here, -0.03),
    ]


def draw(axes: Any, runs: Runs) -> None:
    found = {}
    for side, label in LABELS.items():
        most = 500 if side.startswith("ppo") else 1
        shares = [score / most for score in values(runs, "score", side=side)]
        found[label] = values(runs, "seed", side=side), shares
    dots(axes, found)


CLAIMS = [
    Trial(
        name="cluster-learning",
        statement=(
            "PPO reaches on Ray what it reaches in one process: with two rollout"
            " workers and two learners on CartPole, with two rollout workers and an"
            " inference actor on GoTo."
        ),
        settings={"cartpole": CARTPOLE, "goto": GOTO, "places": PLACES},
        together=from_clones,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "PPO in one process and on Ray",
            "xlabel": "seed",
            "ylabel": "share of the best return; success rate",
            "ylim": (0, 1.05),
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
