"""Chapter 5's first figure: the way of one transition through the four classes.

Two short trainings are watched, Q-learning on the frozen lake and DQN on CartPole: what
passes each border is written down as it passes. The transition that is followed is the
first that ends an episode, on the lake the first that arrives; and it is followed until
a batch holds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from yieldrl.algorithms import dqn, q_learning

from .watched import ending, followed

STATIONS = ("observation", "tensor", "Q(s, ·)", "action", "answer", "row", "batch")
STATIONS += ("target", "log")
WORLDS = ("frozen lake, a table", "CartPole, a network")
CAPTION = """\
Grey: all ways there are. Red: where the data is now. Below: what form it has there, and
what our transition, of one environment of two, holds. Both were written down while
the library trained."""


def figure() -> dict[str, Any]:
    """All frames: a world and a station each."""
    ways = [told(lake()), told(cart())]
    shown = [
        frame(station, *way[station], WORLDS[which])
        for which, way in enumerate(ways)
        for station in range(len(STATIONS))
    ]
    start = (0, STATIONS.index("row"))
    return {
        "title": "A transition on its way through Trainer, Agent, Algorithm and Model",
        "caption": CAPTION,
        "size": (480, 330),
        "svg": drawing(shown[start[1]]),
        "controls": {
            "world": list(WORLDS),
            "station": [f"{i}. {name}" for i, name in enumerate(STATIONS, 1)],
        },
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


def lake() -> q_learning.Trainer:
    """Q-learning, in two lakes."""
    config = q_learning.Config(num_envs=2, total_steps=4_000, eval_every=0, seed=5)
    return q_learning.Trainer(config)


def cart() -> dqn.Trainer:
    """DQN with two carts, that explores in half of its steps and learns soon."""
    config = dqn.Config(
        num_envs=2,
        total_steps=2_000,
        learning_starts=20,
        batch_size=4,
        epsilon_start=0.5,
        device="cpu",
        eval_every=0,
        seed=5,
    )
    trainer = dqn.Trainer(config)
    return trainer


def told(trainer: Any) -> list[tuple[str, list[str]]]:
    """Form and content, in words, of one transition at all stations."""
    mine = followed(trainer)
    row, batch, at, log = (mine[name] for name in ("row", "batch", "at", "log"))
    n = ending(row)
    target = trainer.algorithm.td_target(batch)
    parts = [
        f"obs {text(row['obs'][n])}, action {text(row['action'][n])},"
        f" reward {text(row['reward'][n])}",
        f"next_obs {text(row['next_obs'][n])}, terminated True, truncated False",
    ]
    metrics = ", ".join(
        f"{name}: {float(value):.2g}" for name, value in list(log["logs"].items())[:2]
    )
    storage = type(trainer.buffer).__name__
    return [
        (f"obs: {form(mine['obs'])}", [text(mine["obs"][n]), ""]),
        (f"obs: {form(mine['tensor'][0])}", [text(mine["tensor"][0][n]), ""]),
        (f"q_value: {form(mine['q_value'])}", [text(mine["q_value"][n]), ""]),
        (f"action: {form(mine['action'])}", [text(mine["action"][n]), ""]),
        (
            f"reward: {form(mine['step'].reward)}; next_obs, flags likewise",
            [parts[1], f"reward {text(mine['step'].reward[n])}"],
        ),
        (f"{storage}: a row, [2] of every entry", parts),
        (f"TensorDict [{len(batch)}], of which it is entry {at}", parts),
        (
            f"td_target: {form(target)}",
            [f"{text(target[at])}: the reward alone, for the episode terminated", ""],
        ),
        (
            "LogData: a dict of plain numbers and 0-dim tensors",
            [
                f"log_type: {log['log_type']}, sample_step: {log['sample_step']},"
                f" learn_step: {log['learn_step']}",
                f"logs: {metrics}",
            ],
        ),
    ]


def form(data: Any) -> str:
    """Library, dtype, shape and device."""
    shape = list(data.shape)
    if isinstance(data, Tensor):
        dtype = str(data.dtype).removeprefix("torch.")
        return f"torch.Tensor {dtype} {shape} on {data.device}"
    return f"numpy.ndarray {data.dtype} {shape}"


def text(values: Any) -> str:
    """Numbers with two digits after the point, if they have any."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        numbers = [f"{x:.2f}".replace("-0.00", "0.00") for x in array.reshape(-1)]
    else:
        numbers = [str(x) for x in array.reshape(-1)]
    said = ", ".join(numbers) if array.ndim == 0 else f"[{', '.join(numbers)}]"
    return said.replace("-", "\N{MINUS SIGN}")


PARTS = [(".way", "d"), (".form", "text"), (".holds", "text"), (".says", "text")]


def frame(station: int, kind: str, holds: list[str], world: str) -> list[Any]:
    """The values of `PARTS`."""
    said = f"{station + 1} of {len(STATIONS)}, {world}: {SAYS[station]}"
    return [WAYS[station], kind, holds, said]


WAYS = (
    "M112 76H226m-8 -5l8 5l-8 5",
    "M226 94H362m-8 -5l8 5l-8 5",
    "M362 118H226m8 -5l-8 5l8 5",
    "M226 106H112m8 -5l-8 5l8 5",
    "M64 120V188m-5 -8l5 8l5 -8",
    "M146 194h24v26h-24z",
    "M290 207H330V152m-5 8l5 -8l5 8",
    "M330 138H362m-8 -5l8 5l-8 5",
    "M430 160V258m-5 -8l5 8l5 -8",
)
SAYS = (
    "the environments give NumPy arrays, a row for each.",
    "the agent makes tensors of them, on the model's device.",
    "the model answers with numbers, and chooses nothing.",
    "the agent chooses, explores now and then, and gives NumPy back.",
    "the environments answer; next_obs is where the action led.",
    "the collector writes all of it into a row of the buffer.",
    "agent.learn hands a batch to the algorithm, on its device.",
    "the algorithm says where the model should have been.",
    "the trainer yields a log, and waits for your loop.",
)


def drawing(first: list[Any]) -> str:
    """The boxes, all ways in grey, and the way and texts of a frame."""
    way, kind, holds, _ = first
    cells = "".join(
        f'<path class="axis" d="M{x} 194h24v26h-24z"/>' for x in range(98, 290, 24)
    )
    grey = "".join(f'<path class="axis" d="{path}"/>' for path in WAYS if path != way)
    lines = "".join(
        f'<text class="holds" x="240" y="{y}" text-anchor="middle">{line}</text>'
        for y, line in zip((302, 320), holds, strict=True)
    )
    return (
        f"{box(6, 6, 468, 224, 'Trainer')}{box(18, 50, 94, 70, 'environments')}"
        f"{box(168, 22, 294, 138, 'Agent')}{box(286, 44, 166, 106, 'Algorithm')}"
        f"{box(362, 70, 80, 76, 'Model')}{cells}"
        '<path class="axis dashed" d="M226 44V154"/>'
        '<text x="220" y="148" text-anchor="end">NumPy</text>'
        '<text x="232" y="148">tensors</text>'
        f'<text x="92" y="211" text-anchor="end">buffer</text>'
        f'<text x="420" y="250" text-anchor="end">for log in trainer():</text>'
        f'{grey}<path class="way red line" d="{way}"/>'
        f'<text class="form" x="240" y="282" text-anchor="middle"'
        f' font-weight="600">{kind}</text>{lines}'
    )


def box(x: int, y: int, width: int, height: int, name: str) -> str:
    """A box with its name in the upper left."""
    return (
        f'<rect class="axis" x="{x}" y="{y}" width="{width}" height="{height}"'
        f' rx="5"/><text x="{x + 8}" y="{y + 15}">{name}</text>'
    )
