"""What an LSTM holds of the T-maze's signpost decides where it turns: with the memory
of the other episode it turns the other way.

Two episodes differ in their first observation alone. What they leave in the memory is
looked at, exchanged and emptied. `details` are for the figure of chapter 12.
"""

import copy
from typing import Any

import torch
from torch import Tensor

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.tasks import make_trainer

SAYS = figure.said("ppo_lstm-signpost", __doc__)
LENGTH, LONGEST = 10, 100  # steps to the junction; those for which memory is followed
CELLS = 8  # how many are kept: those in which the episodes differ most at the end
CHANGES: dict[str, Any] = {  # of the two memories, after 5 observations
    "trained": None,
    "exchanged": lambda memory: memory.flip(0),
    "emptied": torch.zeros_like,
}


def measure(seed: int, steps: int = 100_000) -> dict[str, Any]:
    """Train; the lines say how probable it is to turn north if the junction came so
    many steps after the signpost."""
    fields: Any = {"env_id": "yieldrl/TMaze-v1", "total_steps": steps, "seed": seed}
    with make_trainer("ppo_lstm", fields | {"eval_every": 0}) as of:
        models = {"untrained": copy.deepcopy(of.model), "trained": of.model}
        figure.trained(of)
        numbers, lines = {"return": figure.score(of, 100, 4)}, {}
    for name, model in models.items():
        turns = figure.rounded(walk_east(model, LONGEST)[1].T, 4)
        for way, line in zip(("north", "south"), turns, strict=True):
            lines[f"{way}, {name}"] = [*map(list, enumerate(line, 1))]
    walks = {"untrained": walk_east(models["untrained"], LENGTH)}
    for name, change in CHANGES.items():
        walks[name] = walk_east(models["trained"], LENGTH, change)
    north, south = walks["trained"][0][-1]
    cells = (north - south).abs().topk(CELLS).indices
    details: dict[str, Any] = {"cells": cells.tolist()}
    for name, (memory, turns) in walks.items():
        kept = {"cells": memory[..., cells], "north": turns}
        details[name] = {key: figure.rounded(of) for key, of in kept.items()}
        label = "right turns" + f", {name}" * (name != "trained")
        if name in CHANGES:
            numbers[label] = round(float(turns[-1, 0] + 1 - turns[-1, 1]) / 2, 4)
    return {"seed": seed, "numbers": numbers, "series": lines, "details": details}


@torch.no_grad()
def walk_east(model: Any, steps: int, change: Any = None) -> tuple[Tensor, Tensor]:
    """Cells `[T, 2, C]` of a model in the T-maze's corridor, behind signposts that say
    north and south, and probabilities `[T, 2]` of turning north if the junction came
    next. A change maps its memories `[2, M]` to others, after five observations."""
    seen = torch.tensor([1.0, 0.0, 1.0]).repeat(steps, 2, 1)
    seen[0] = torch.tensor([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    junction = {"obs": torch.tensor([0.0, 1.0, 0.0]).expand(2, 3)}
    junction["first"] = torch.zeros(2, dtype=torch.bool)
    memory, rows = torch.zeros(2, model.memory_size), []
    for t, obs in enumerate(seen):
        memory = change(memory) if change and t == 5 else memory
        inputs = {"obs": obs, "memory": memory, "first": torch.full((2,), t == 0)}
        memory = model.step(inputs)[1]
        policy, _ = model.act({**junction, "memory": memory})
        north = policy.logits[:, [0, 2]].softmax(-1)[:, 0]
        rows.append((memory.chunk(2, dim=-1)[1], north))
    cells, turns = (torch.stack(column) for column in zip(*rows, strict=True))
    return cells, turns


if __name__ == "__main__":
    labels = {"xlabel": "steps since the signpost"}
    labels |= {"ylabel": "probability of turning north"}
    figure.main(SAYS, measure, labels=labels)
