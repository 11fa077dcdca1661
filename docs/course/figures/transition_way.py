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
from yieldrl.envs.arrays import copied

from . import drawing as svg
from .drawing import Frame


def recording(trainer: Any) -> dict[str, Any]:
    """Name -> the latest argument or result of some methods of a trainer's parts."""
    seen: dict[str, Any] = {}

    def record(owner: Any, method: str, came: str, went: str) -> None:
        inside = getattr(owner, method)

        def recorded(data: Any, *rest: Any, **options: Any) -> Any:
            seen[came] = data.clone() if method == "learn" else copied(data)
            result = inside(data, *rest, **options)
            seen[went] = copied(result)
            return result

        setattr(owner, method, recorded)

    border = trainer.agent.border
    record(border, "to_tensors", "obs", "tensor")
    record(border, "like_input", "chosen", "action")
    record(trainer.algorithm.model, "value", "asked", "q_value")
    record(trainer.collector.stepper, "step", "done", "step")
    record(trainer.buffer, "add", "row", "added")
    record(trainer.agent, "learn", "batch", "logs")
    return seen


def followed(trainer: Any) -> dict[str, Any]:
    """All that was seen of the first transition that ends an episode and earns.

    Returns:
        What was recorded in its step (see `recording`); `batch`, the first that holds
        it; `at`, its place there; and the `log` that followed.
    """
    seen, mine = recording(trainer), {}
    for log in trainer():
        if log["log_type"] == "collect" and not mine:
            if log["logs"].get("episode_return", 0) > 0 and "q_value" in seen:
                mine = dict(seen)
        elif log["log_type"] == "train" and mine:
            at = place(seen["batch"], mine)
            if at is not None:
                return mine | {"batch": seen["batch"], "at": at, "log": log}
        seen.pop("q_value", None)  # learning asks the model, too
    raise RuntimeError("no batch held the transition: train for longer")


def ending(row: dict[str, Any]) -> int:
    """Which environment's episode ended in a row, and with a reward."""
    return int(np.flatnonzero(row["terminated"] & (row["reward"] > 0))[0])


def place(batch: TensorDict, mine: dict[str, Any]) -> int | None:
    """Where in a batch the transition is, if it is there."""
    row, n = mine["row"], ending(mine["row"])
    same = torch.ones(len(batch), dtype=torch.bool)
    for name in ("obs", "next_obs", "action"):
        own = torch.as_tensor(np.asarray(row[name])[n])
        same &= (batch[name] == own).reshape(len(batch), -1).all(1)
    return int(same.nonzero()[0]) if same.any() else None


STATIONS = {
    "observation": "the environments give NumPy arrays, a row for each.",
    "tensor": "the agent makes tensors of them, on the model's device.",
    "Q(s, ·)": "the model answers with numbers, and chooses nothing.",
    "action": "the agent chooses, explores now and then, and gives NumPy back.",
    "answer": "the environments answer; next_obs is where the action led.",
    "row": "the collector writes all of it into a row of the buffer.",
    "batch": "agent.learn hands a batch to the algorithm, on its device.",
    "target": "the algorithm says where the model should have been.",
    "log": "the trainer yields a log, and waits for your loop.",
}


def figure() -> dict[str, Any]:
    """All frames: a world and a station each."""
    trainers = {"frozen lake, a table": lake(), "CartPole, a network": cart()}
    ways = {world: told(trainer) for world, trainer in trainers.items()}

    def frame(world: str, station: int) -> Frame:
        (kind, holds), says = ways[world][station], [*STATIONS.values()][station]
        return {
            "way visibility": svg.visible(i == station for i in range(len(STATIONS))),
            "form text": kind,
            "holds text": holds,
            "says text": f"{station + 1} of {len(STATIONS)}, {world}: {says}",
        }

    return svg.figure(
        size=(480, 330),
        svg=svg.drawn("transition_way"),
        controls={
            "world": svg.labelled(ways),
            "station": {f"{i + 1}. {name}": i for i, name in enumerate(STATIONS)},
        },
        start=("frozen lake, a table", "6. row"),
        frame=frame,
    )


def lake() -> q_learning.Trainer:
    """Q-learning, in two lakes."""
    config = q_learning.Config(num_envs=2, total_steps=4_000, eval_every=0, seed=5)
    return q_learning.Trainer(config)


def cart() -> dqn.Trainer:
    """DQN with two carts, that explores in half of its steps and learns soon."""
    small = {"num_envs": 2, "total_steps": 2_000, "batch_size": 4, "device": "cpu"}
    soon = {"learning_starts": 20, "epsilon_start": 0.5, "eval_every": 0, "seed": 5}
    return dqn.Trainer(dqn.Config(**small, **soon))


def told(trainer: Any) -> list[tuple[str, list[str]]]:
    """Form and content, in words, of one transition at all stations."""
    mine = followed(trainer)
    row, batch, at, log = (mine[name] for name in ("row", "batch", "at", "log"))
    n = ending(row)
    target = trainer.algorithm.td_target(batch)
    plain = {key: text(row[key][n]) for key in ("obs", "action", "reward", "next_obs")}
    led = f"next_obs {plain['next_obs']}, terminated True, truncated False"
    parts = ["obs {obs}, action {action}, reward {reward}".format(**plain), led]
    first = (
        ("obs", mine["obs"]),
        ("obs", mine["tensor"][0]),
        ("q_value", mine["q_value"]),
        ("action", mine["action"]),
    )
    reward, shown = mine["step"].reward, list(log["logs"].items())[:2]
    metrics = ", ".join(f"{name}: {float(value):.2g}" for name, value in shown)
    counts = [f"{k}: {log[k]}" for k in ("log_type", "sample_step", "learn_step")]
    ended = f"{text(target[at])}: the reward alone, for the episode terminated"
    return [
        *((f"{name}: {form(data)}", [text(data[n]), ""]) for name, data in first),
        (
            f"reward: {form(reward)}; next_obs, flags likewise",
            [led, f"reward {text(reward[n])}"],
        ),
        (f"{type(trainer.buffer).__name__}: a row, [2] of every entry", parts),
        (f"TensorDict [{len(batch)}], of which it is entry {at}", parts),
        (f"td_target: {form(target)}", [ended, ""]),
        (
            "LogData: a dict of plain numbers and 0-dim tensors",
            [", ".join(counts), f"logs: {metrics}"],
        ),
    ]


def form(data: Any) -> str:
    """Library, dtype, shape and device."""
    if isinstance(data, Tensor):
        dtype = str(data.dtype).removeprefix("torch.")
        return f"torch.Tensor {dtype} {list(data.shape)} on {data.device}"
    return f"numpy.ndarray {data.dtype} {list(data.shape)}"


def text(values: Any) -> str:
    """Numbers with two digits after the point, if they have any."""
    array = np.asarray(values)
    spec = "z.2f" if array.dtype.kind == "f" else ""
    said = ", ".join(f"{x:{spec}}" for x in array.flat)
    return svg.minus(f"[{said}]" if array.ndim else said)
