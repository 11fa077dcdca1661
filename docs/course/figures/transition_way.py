"""Chapter 5's first figure: the way of one transition through the four classes.

Two short trainings are recorded, Q-learning on the frozen lake and DQN on CartPole. The
transition that is followed is the first that ends an episode, on the lake the first
that arrives; and it is followed until a batch holds it.
"""

from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import dqn, q_learning

from . import drawing as svg
from .drawing import Frame


class Recorder:
    """Records the latest arguments and results of some methods of a trainer's parts.

    Attributes:
        seen: Name -> the latest that was recorded.
    """

    def __init__(self, trainer: Any) -> None:
        self.seen: dict[str, Any] = {}
        agent, border = trainer.agent, trainer.agent.border
        self._record(border, "to_tensors", "obs", "tensor")
        self._record(border, "like_input", "chosen", "action")
        self._record(trainer.algorithm.model, "value", "asked", "q_value")
        self._record(trainer.collector.stepper, "step", "done", "step")
        self._record(trainer.buffer, "add", "row", "added")
        self._record(agent, "learn", "batch", "logs")

    def _record(self, owner: Any, method: str, came: str, went: str) -> None:
        """Replace a method by one that also records."""
        inside = getattr(owner, method)

        def recorded(data: Any, *rest: Any, **options: Any) -> Any:
            self.seen[came] = copied(data)
            result = inside(data, *rest, **options)
            self.seen[went] = copied(result)
            return result

        setattr(owner, method, recorded)


def copied(data: Any) -> Any:
    """What is not written over later."""
    if isinstance(data, Tensor | TensorDict):
        return data.clone()
    if isinstance(data, np.ndarray):
        return data.copy()
    if isinstance(data, dict):
        return {name: copied(part) for name, part in data.items()}
    return data


def followed(trainer: Any) -> dict[str, Any]:
    """All that was seen of the first transition that ends an episode and earns.

    Returns:
        What was recorded in its step (see `Recorder`); `batch`, the first that holds
        it; `at`, its place there; and the `log` that followed.
    """
    recorder = Recorder(trainer)
    mine: dict[str, Any] = {}
    for log in trainer():
        if log["log_type"] == "collect" and not mine:
            if log["logs"].get("episode_return", 0) > 0 and "q_value" in recorder.seen:
                mine = dict(recorder.seen)
        elif log["log_type"] == "train" and mine:
            at = place(recorder.seen["batch"], mine)
            if at is not None:
                return mine | {"batch": recorder.seen["batch"], "at": at, "log": log}
        recorder.seen.pop("q_value", None)  # learning asks the model, too
    raise RuntimeError("no batch held the transition: train for longer")


def ending(row: dict[str, Any]) -> int:
    """Which environment's episode ended in a row, and with a reward."""
    return int(np.flatnonzero(row["terminated"] & (row["reward"] > 0))[0])


def place(batch: TensorDict, mine: dict[str, Any]) -> int | None:
    """Where in a batch the transition is, if it is there."""
    row = mine["row"]
    n = ending(row)
    same = torch.ones(len(batch), dtype=torch.bool)
    for name in ("obs", "next_obs", "action"):
        of = torch.as_tensor(np.asarray(row[name])[n])
        same &= (batch[name] == of).reshape(len(batch), -1).all(1)
    return int(same.nonzero()[0]) if same.any() else None


STATIONS = ("observation", "tensor", "Q(s, ·)", "action", "answer", "row", "batch")
STATIONS += ("target", "log")
WORLDS = ("frozen lake, a table", "CartPole, a network")


def figure() -> dict[str, Any]:
    """All frames: a world and a station each."""
    ways = [told(lake()), told(cart())]
    return svg.figure(
        size=(480, 330),
        svg=svg.drawn("transition_way"),
        controls={
            "world": {
                world: (world, way) for world, way in zip(WORLDS, ways, strict=True)
            },
            "station": {f"{i + 1}. {name}": i for i, name in enumerate(STATIONS)},
        },
        start=(WORLDS[0], "6. row"),
        frame=lambda of, station: frame(station, *of),
    )


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
    return dqn.Trainer(config)


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


def frame(station: int, world: str, way: list[tuple[str, list[str]]]) -> Frame:
    """One station of a transition's way."""
    kind, holds = way[station]
    return {
        "way d": WAYS[station],
        "form text": kind,
        "holds text": holds,
        "says text": f"{station + 1} of {len(STATIONS)}, {world}: {SAYS[station]}",
    }


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
