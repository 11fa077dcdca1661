"""What a trained LSTM holds of the T-maze's signpost, and whether it goes by that.

Two episodes differ in their first observation alone. What they leave in the memory is
looked at, exchanged and emptied.
"""

import copy
from typing import Any

import gymnasium
import torch
from torch import Tensor

from yieldrl.algorithms import ppo_lstm
from yieldrl.benchmarks.evidence import Claim, main

STEPS = 100_000
EPISODES = 100  # of the evaluation after training
LENGTH = 10  # steps from the signpost to the junction
LONGEST = 100  # steps for which the memory is followed, in a corridor that does not end
AT = 5  # observations after which the memories are exchanged, or emptied
CELLS = 8  # how many are kept: those in which the episodes differ most at the end
WAYS = ("north", "south")

# what is done to the two memories half way down the corridor
CHANGES = {
    "": None,
    ", exchanged": lambda memory: memory.flip(0),
    ", emptied": torch.zeros_like,
}


def in_t_maze(seed: int) -> dict[str, Any]:
    """Train with PPO's LSTM, once as it is and once without a reset of its memory.

    The lines say how probable it is to turn north if the junction came so many steps
    after the signpost; `details` are for the figure of chapter 12.
    """
    models, returns = trained(seed, resets=True)
    measured: dict[str, Any] = {
        **turns(models["trained"]),
        "return": returns,
        "return, never reset": trained(seed, resets=False)[1],
    }
    for name, model in models.items():
        chances = north(model, walk(model, corridor(LONGEST - 1)))
        for way, line in zip(WAYS, chances.T.tolist(), strict=True):
            points = [[steps, round(p, 4)] for steps, p in enumerate(line, 1)]
            measured[f"{way}, {name}"] = points
    return {**measured, "details": details(models)}


def trained(seed: int, *, resets: bool) -> tuple[dict[str, Any], float]:
    """The untrained model and the trained one, and what the latter returns."""

    class Agent(ppo_lstm.Agent):
        def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
            if resets or where is None:  # None is the very first episode
                super().begin_episode(where, exploring=exploring)

    class Trainer(ppo_lstm.Trainer):
        agent_class = Agent

    fields: Any = {"total_steps": STEPS, "eval_every": 0, "seed": seed, "device": "cpu"}
    config = ppo_lstm.Config(env_id="yieldrl/TMaze-v1", **fields)
    with Trainer(config) as trainer:
        untrained = copy.deepcopy(trainer.model)
        for _ in trainer():
            pass
        logs = trainer.evaluate(EPISODES)["logs"]
        models = {"untrained": untrained, "trained": trainer.model}
        return models, float(logs["episode_return"])


def corridor(steps: int) -> Tensor:
    """What is seen on the way east, `[steps + 1, 2, 3]`: the signposts say `WAYS`."""
    worlds = gymnasium.make_vec(
        "yieldrl/TMaze-v1", num_envs=16, length=steps + 1, max_episode_steps=None
    )
    obs, _ = worlds.reset(seed=0)
    says_north = obs[:, 2] == 1
    one_each = [int((says_north == north).nonzero()[0]) for north in (True, False)]
    seen = [obs[one_each].clone()]
    for _ in range(steps):
        obs, *_ = worlds.step(torch.ones(16, dtype=torch.int64))
        seen.append(obs[one_each].clone())
    return torch.stack(seen)


@torch.no_grad()
def walk(model: Any, seen: Tensor, change: Any = None) -> Tensor:
    """The memories `[T, 2, M]` after each observation `[T, 2, 3]`; `change` maps
    memories `[2, M]` to others, after the first `AT` observations."""
    memory, first = torch.zeros(2, model.memory_size), torch.ones(2, dtype=torch.bool)
    memories = []
    for t, obs in enumerate(seen):
        if t == AT and change is not None:
            memory = change(memory)
        memory = model.step({"obs": obs, "memory": memory, "first": first})[1]
        first = torch.zeros_like(first)
        memories.append(memory)
    return torch.stack(memories)


@torch.no_grad()
def north(model: Any, memories: Tensor) -> Tensor:
    """Probabilities `[T, 2]` to turn north and not south, if the junction comes
    next."""
    flat = memories.flatten(0, 1)
    junction = torch.tensor([0.0, 1.0, 0.0]).expand(len(flat), 3)
    first = torch.zeros(len(flat), dtype=torch.bool)
    policy, _ = model.act({"obs": junction, "memory": flat, "first": first})
    turns = policy.logits[:, [0, 2]].softmax(-1)
    return turns[:, 0].unflatten(0, memories.shape[:2])


def turns(model: Any) -> dict[str, float]:
    """Mean probabilities to turn right at the junction, and after `LONGEST` steps."""
    found = {
        f"right turns{name}": right(model, LENGTH, change)
        for name, change in CHANGES.items()
    }
    return found | {f"right turns, {LONGEST} steps": right(model, LONGEST, None)}


def right(model: Any, steps: int, change: Any) -> float:
    """The mean probability to turn right, `steps` after the signpost."""
    before = walk(model, corridor(steps - 1), change)[-1:]
    p = north(model, before)[0]
    return round(float(p[0] + 1 - p[1]) / 2, 4)


def details(models: dict[str, Any]) -> dict[str, Any]:
    """The cells that differ most at the junction, and where it would turn, by step:
    "cells" `[T, 2, CELLS]` and "north" `[T, 2]`, in the corridor of `LENGTH` steps."""
    seen = corridor(LENGTH - 1)
    going = {name: walk(model, seen) for name, model in models.items()}
    going["emptied"] = walk(models["trained"], seen, torch.zeros_like)
    cells = {name: memory.chunk(2, dim=-1)[1] for name, memory in going.items()}
    apart = (cells["trained"][-1, 0] - cells["trained"][-1, 1]).abs()
    most = apart.topk(CELLS).indices
    found: dict[str, Any] = {"cells": most.tolist()}
    for name, memory in going.items():
        model = models.get(name, models["trained"])
        found[name] = {
            "cells": rounded(cells[name][..., most]),
            "north": rounded(north(model, memory)),
        }
    return found


def rounded(values: Tensor) -> list[Any]:
    """Nested lists, as short as a figure needs them."""
    return torch.round(values, decimals=3).double().mul(1e3).round().div(1e3).tolist()


CLAIMS = [
    Claim(
        name="ppo_lstm-signpost",
        statement=(
            "What an LSTM holds of the T-maze's signpost decides where it turns: with"
            " the memory of the other episode it turns the other way."
        ),
        run=in_t_maze,
        criterion=(
            "it turns right with a probability of 0.95 or more with its own memory, and"
            " of 0.05 or less with the exchanged one"
        ),
        holds=lambda of: (
            of["right turns"] >= 0.95 and of["right turns, exchanged"] <= 0.05
        ),
        x_label="steps since the signpost",
        y_label="probability of turning north",
    )
]


if __name__ == "__main__":
    main(CLAIMS)
