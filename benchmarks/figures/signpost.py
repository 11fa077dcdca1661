"""What PPO's LSTM holds of the T-maze's signpost, on the way to the junction.

Two episodes differ in their first observation alone. What they leave in the memory is
looked at, exchanged and emptied. `details` are for the figure of chapter 12.
"""

import copy
from functools import partial
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo_lstm
from yieldrl.benchmarks import figure
from yieldrl.benchmarks.style import series

SAYS = {
    "ppo_lstm-signpost": (
        "What an LSTM holds of the T-maze's signpost decides where it turns: with the"
        " memory of the other episode it turns the other way."
    ),
}
LENGTH, LONGEST = 10, 100  # steps to the junction; those for which memory is followed
AT = 5  # observations after which the memories are exchanged, or emptied
CELLS = 8  # how many are kept: those in which the episodes differ most at the end
CHANGES: dict[str, Any] = {  # of the two memories, half way down the corridor
    "right turns": lambda memory: memory,
    "right turns, exchanged": lambda memory: memory.flip(0),
    "right turns, emptied": torch.zeros_like,
}


def measure(seed: int, steps: int = 100_000) -> dict[str, Any]:
    """Train; the lines say how probable it is to turn north if the junction came so
    many steps after the signpost."""
    fields: Any = {"env_id": "yieldrl/TMaze-v1", "total_steps": steps, "seed": seed}
    config = ppo_lstm.Config(**fields, eval_every=0, device="cpu")
    with ppo_lstm.Trainer(config) as trainer:
        models = {"untrained": copy.deepcopy(trainer.model), "trained": trainer.model}
        for _ in trainer():
            pass
        score = float(trainer.evaluate(100)["logs"]["episode_return"])
    numbers, lines, going = {"return": score}, {}, {}
    short, far = corridor(LENGTH - 1), corridor(LONGEST - 1)
    for name, change in CHANGES.items():
        p = north(models["trained"], walk(models["trained"], short, change)[-1:])[0]
        numbers[name] = round(float(p[0] + 1 - p[1]) / 2, 4)
    for name, model in models.items():
        chances = north(model, walk(model, far)).T.tolist()
        for way, line in zip(("north", "south"), chances, strict=True):
            lines[f"{way}, {name}"] = [[t, round(p, 4)] for t, p in enumerate(line, 1)]
        going[name] = walk(model, short)
    going["emptied"] = walk(models["trained"], short, torch.zeros_like)
    cells = {name: memory.chunk(2, dim=-1)[1] for name, memory in going.items()}
    apart = (cells["trained"][-1, 0] - cells["trained"][-1, 1]).abs()
    most = apart.topk(CELLS).indices
    details: dict[str, Any] = {"cells": most.tolist()}
    for name, memory in going.items():
        turns = north(models.get(name, models["trained"]), memory)
        shown = rounded(cells[name][..., most].tolist())
        details[name] = {"cells": shown, "north": rounded(turns.tolist())}
    return {"seed": seed, "numbers": numbers, "series": lines, "details": details}


def rounded(value: Any) -> Any:
    """A number, or a list of them, as short as a figure needs them."""
    return [*map(rounded, value)] if isinstance(value, list) else round(value, 3)


def corridor(steps: int) -> Tensor:
    """What is seen on the way east `[steps + 1, 2, 3]`, behind signposts that say north
    and south (see `yieldrl/TMaze-v1`)."""
    seen = torch.tensor([1.0, 0.0, 1.0]).repeat(steps + 1, 2, 1)
    seen[0] = torch.tensor([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    return seen


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
    """Probabilities `[T, 2]` of turning north, if the junction comes next."""
    flat = memories.flatten(0, 1)
    junction = torch.tensor([0.0, 1.0, 0.0]).expand(len(flat), 3)
    first = torch.zeros(len(flat), dtype=torch.bool)
    policy, _ = model.act({"obs": junction, "memory": flat, "first": first})
    turns = policy.logits[:, [0, 2]].softmax(-1)
    return turns[:, 0].unflatten(0, memories.shape[:2])


table = figure.numbers
draw = partial(
    series, xlabel="steps since the signpost", ylabel="probability of turning north"
)


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw)
