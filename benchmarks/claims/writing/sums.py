"""GRPO, its relatives, REINFORCE and PPO with a critic, from one clone of each seed."""

import copy
import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch

from yieldrl.algorithms import behavior_cloning
from yieldrl.benchmarks.claims.vla.learning import rates
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import some, spread, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least
from yieldrl.language import AnswerCritic, AnswerPolicy, TokenPolicy, policy_for

MODEL: dict[str, Any] = {"d_model": 64, "num_layers": 2}
PLACE: dict[str, Any] = {
    "eval_every": 0,
    "device": "cpu",
    "threads": 1,
    "speed": "eager",
}
WORLDS: dict[str, dict[str, Any]] = {
    "sums": {"env_id": "yieldrl/Sums-v1", "env_kwargs": {"max_operand": 19}},
    "lengths": {"env_id": "yieldrl/Steps-v1", "env_kwargs": {"max_operand": 9}},
}
CLONE: dict[str, Any] = {
    "num_envs": 64,
    "demonstration_steps": 20_000,
    "batch_size": 128,
    "learning_rate": 0.002,
    "warmup_steps": 100,
    **PLACE,
}
CLONES = {
    "sums": {**CLONE, "learn_steps": 165},
    "lengths": {**CLONE, "learn_steps": 160},
}
# of what goes on from a clone: 60 and 30 rollouts of 512 answers
COMMON: dict[str, Any] = {"learning_rate": 0.0003, "gamma": 1.0, **PLACE}
ALL: dict[str, dict[str, Any]] = {
    "sums": {**COMMON, "total_steps": 30_720},
    "lengths": {**COMMON, "total_steps": 15_360},
}
OWN: dict[str, dict[str, Any]] = {
    "grpo": {  # and its relatives
        "demonstration_steps": 0,
        "num_envs": 512,
        "num_epochs": 4,
        "warmup_share": 0.0,
    },
    "reinforce": {"num_envs": 128, "num_episodes": 128},  # a minibatch a gradient step
    "ppo": {
        "num_envs": 512,
        "num_steps": 1,
        "entropy_coef": 0.0,
        "normalize_reward": False,
    },
}
SIDES = {
    "clone": "the clone",
    "grpo": "GRPO",
    "rloo": "RLOO",
    "dr_grpo": "Dr. GRPO",
    "dapo": "DAPO",
    "gspo": "GSPO",
    "reinforce_pp": "REINFORCE++, no group baseline",
    "reinforce": "REINFORCE",
    "ppo": "PPO with a critic",
}
TRIALS = {"sums": [*SIDES], "lengths": ["clone", "grpo", "dr_grpo"]}
GROUPS, GROUP, EPISODES = 64, 8, 1_000
EVERY = 5 * GROUPS * GROUP  # answers between two looks
LOOKS = ("answers", "right", "entropy", "kl", "informative", "length")

WRAPPERS = {"reinforce": AnswerPolicy, "ppo": AnswerCritic}


class Look:
    """What a policy writes for 64 prompts, 8 answers each, the same ones every time.

    It sees how many are right, the mean entropy of a token, the divergence of an answer
    from the clone (the mean log-ratio), the share of prompts whose answers earn unlike
    rewards, and the tokens of an answer.
    """

    def __init__(self, world: Mapping[str, Any], clone: TokenPolicy) -> None:
        kwargs: Any = {"num_envs": GROUPS * GROUP, **world["env_kwargs"]}
        self.envs: Any = gymnasium.make_vec(world["env_id"], **kwargs)
        self.clone = copy.deepcopy(clone)

    @torch.no_grad()
    def __call__(self, policy: TokenPolicy) -> list[float]:
        seeds = [20_000 + i // GROUP for i in range(GROUPS * GROUP)]
        obs, _ = self.envs.reset(seed=seeds)
        tokens, log_prob = policy.write(obs, torch.Generator().manual_seed(1))
        _, entropy, _ = policy.evaluate_actions(obs, tokens)
        before, *_ = self.clone.evaluate_actions(obs, tokens)
        text = policy.tokenizer.to_bytes(tokens, policy.length)
        _, reward, _, _, info = self.envs.step(text)
        low, high = reward.view(GROUPS, GROUP).aminmax(dim=1)
        found = info["success"], entropy, (log_prob - before).sum(1), low < high
        found = *found, policy.written(tokens).sum(1)
        return [round(float(of.float().mean()), 4) for of in found]


def cloned(world: Mapping[str, Any], clone: Mapping[str, Any], seed: int) -> Any:
    """A trainer that has cloned the world's expert, not quite."""
    config = behavior_cloning.Config(**world, **clone, seed=seed)
    model = functools.partial(policy_for, **MODEL)
    trainer = behavior_cloning.Trainer(config, model=model)
    for _ in trainer():
        pass
    return trainer


def improved(name: str, clone: TokenPolicy, look: Look, fields: Any) -> dict[str, Any]:
    """Let an algorithm go on from a copy of the clone."""
    module = importlib.import_module(f"yieldrl.algorithms.{name}")
    config = module.Config(**fields, **OWN.get(name, OWN["grpo"]))
    model = WRAPPERS.get(name, lambda one: one)(copy.deepcopy(clone))
    curve: list[list[float]] = []
    with module.Trainer(config, model=model) as trainer:
        for log in trainer():
            written = log["sample_step"]
            if log["log_type"] == "train" and written >= len(curve) * EVERY + EVERY:
                curve.append([written, *look(trainer.model)])
        found = rates(trainer, EPISODES, accuracy="success_rate")
    return {"side": name, **found, "curve": curve}


def train(seed: int, trial: str) -> dict[str, Any]:
    """The clone, and what algorithms make of it."""
    world = WORLDS[trial]
    made = cloned(world, CLONES[trial], seed)
    start = rates(made, EPISODES, accuracy="success_rate")
    look = Look(world, made.model)
    first = [0, *look(made.model)]
    runs = [{"side": "clone", **start, "curve": [first]}]
    for name in TRIALS[trial][1:]:
        fields = {**world, **ALL[trial], "seed": seed}
        runs.append(improved(name, made.model, look, fields))
        runs[-1]["curve"].insert(0, first)
    return {"runs": [{"seed": seed, **run} for run in runs]}


def last(runs: Runs, name: str) -> list[float]:
    """What the last look found."""
    return [run["curve"][-1][LOOKS.index(name)] for run in runs]


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side, label in SIDES.items():
        of, place = some(runs, side=side), LOOKS.index("informative")
        row = [label, spread(values(of, "accuracy"))]
        looked = {"right": ".3f", "entropy": ".2f", "kl": ".2f"}
        row += [f"{np.mean(last(of, name)):{spec}}" for name, spec in looked.items()]
        halfway = [run["curve"][len(run["curve"]) // 2][place] for run in of]
        ends = halfway, last(of, "informative")
        rows.append(row + [f"{np.mean(found):.2f}" for found in ends])
    header = ["algorithm", "right, most likely answer", "right, drawn"]
    header += ["entropy of a token", "KL from the clone"]
    return [*header, "groups that differ: halfway", "at the end"], rows


def table_of_lengths(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side in TRIALS["lengths"]:
        of = some(runs, side=side)
        row = [SIDES[side], spread(last(of, "length"), ".2f")]
        row.append(spread(values(of, "accuracy")))
        rows.append([*row, f"{np.mean(last(of, 'right')):.3f}"])
    header = ["algorithm", "tokens of an answer", "right, most likely answer"]
    return [*header, "right, drawn"], rows


def judge(runs: Runs) -> list[Demand]:
    """More of what is drawn is right than of the clone's answers, in the mean: what
    algorithms improve is the expected reward."""
    right = {s: float(np.mean(last(some(runs, side=s), "right"))) for s in SIDES}
    gained = {
        side: of - right["clone"] for side, of in right.items() if side != "clone"
    }
    words = "share of right answers, less its clone's, mean"
    return [
        at_least(f"each algorithm: {words}", min(gained.values()), 0.0),
        at_least(f"GRPO: {words}", gained["grpo"], 0.1),
    ]


def draw(axes: Any, runs: Runs, sides: Sequence[str], name: str) -> None:
    place = LOOKS.index(name)
    curves = {
        SIDES[side]: [
            [(row[0], row[place]) for row in rows]
            for rows in values(runs, "curve", side=side)
        ]
        for side in sides[1:]
    }
    lines(axes, curves)


def claim(trial: str, statement: str, look: str, title: str, **of: Any) -> Trial:
    axes = {"title": title, "xlabel": "answers", "ylabel": of.pop("ylabel")}
    settings = {"world": WORLDS[trial], "model": MODEL, "clone": CLONES[trial]}
    return Trial(
        name=f"writing-{trial}",
        statement=statement,
        settings={**settings, "all": ALL[trial], "own": OWN},
        run=train,
        cases=[{"trial": trial}],
        draw=functools.partial(draw, sides=TRIALS[trial], name=look),
        axes=axes,
        **of,
    )


CLAIMS = [
    claim(
        "sums",
        "From one clone, which is right now and then, every algorithm learns to add"
        " from rewards alone; at equal numbers of answers they end where the table"
        " says.",
        "right",
        "Sums from one clone: answers that are right, drawn as in training",
        ylabel="share of right answers",
        table=table,
        judge=judge,
    ),
    claim(
        "lengths",
        "How long answers with steps become, by GRPO, which divides by their length,"
        " and by Dr. GRPO, which does not: from one clone, at equal numbers of"
        " answers.",
        "length",
        "Sums with steps from one clone: the length of answers",
        ylabel="tokens of an answer",
        table=table_of_lengths,
    ),
]


if __name__ == "__main__":
    main(CLAIMS)
