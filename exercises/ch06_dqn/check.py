"""What holds of DQN's target and of its loss."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.algorithms import dqn
from yieldrl.exercises.checking import expect, expect_close

HINTS = {
    "no gamma": "the next value is not discounted: gamma is left out",
    "no reward": "the reward is missing",
    "no future": "the next value is missing, or `terminated` taken for `~terminated`",
    "online": "the online network is asked: the target is made by its copy, `target`",
    "double": "the online network chooses the action: that is Double DQN, of chapter 7",
    "over batch": "the maximum is over the wrong axis: actions are axis 1 of [B, A]",
    "overall": "the maximum is that of the whole batch: take each row's",
    "mean action": "the mean over actions is taken: Q-learning takes the best of them",
    "bootstrap": "`terminated` is ignored: a terminated step has no future",
    "reward lost": "`~terminated` must stop the future alone, not the reward",
    "cut is end": "`truncated` is taken for an end: there Q'(s', .) still counts",
    "best": "the best action's value is taken: `gather` that of the action taken",
    "other axis": "values are gathered along the wrong axis: actions are axis 1",
    "doubled": "the half is missing: error^2 / 2",
    "absolute": "the error is not squared",
    "no clip": "`clip` is ignored: beyond it the loss is a line",
    "flat": "the error is clamped and then squared: beyond `clip` that is flat, and no"
    " gradient comes from it",
    "jump": "the line does not meet the parabola: clip (|error| - clip / 2)",
    "clip of 1": "`clip` is taken to be 1, whatever it is",
}
"""Mistake -> what to say of it."""
CONSTANT = "a target is a number to the loss: ask the network under `torch.no_grad()`"
PAIRS = "a `[B, 1]` met a `[B]`, which makes all pairs of them: squeeze it first"
WHOLE = "return the losses of the transitions one by one: their mean comes later"
NO_GRADIENT = "only the target is a constant: through Q(s, a) the network must learn"
IN_PLACE = "the argument was changed in place: make a new tensor"

ONLINE = torch.tensor([[1.0, 4.0, 2.0], [7.0, 3.0, 5.0], [6.0, 9.0, 11.0]])
"""`Q`, three states and three actions, so that the axes can be mistaken."""
TARGET = torch.tensor([[3.0, 2.5, 1.5], [8.0, 12.0, 4.5], [-2.0, -3.0, -1.0]])
"""`Q'`; its best actions are others than those of `Q`."""
STATES, REWARD = torch.eye(3), torch.tensor([0.5, -1.0, 2.0])
NEXT = torch.tensor([1, 2, 0])
GAMMA = 0.9


def best_next_value(answer: Any) -> None:
    """The target is r + gamma max_a' Q'(s', a'), and Q' is the target network."""
    mistakes = ("no gamma", "no reward", "no future", "online", "double", "over batch")
    _expect_target(answer, (), (), *mistakes, "overall", "mean action")


def ends(answer: Any) -> None:
    """After a terminated step nothing follows, and its reward counts."""
    _expect_target(answer, (1, 2), (), "bootstrap", "reward lost")


def cut(answer: Any) -> None:
    """A truncated step is no end, and is bootstrapped like any other."""
    _expect_target(answer, (1,), (0, 2), "cut is end")


def constant(answer: Any) -> None:
    """The target has no gradient, and the arguments stay as they were."""
    online, target = _network(ONLINE), _network(TARGET)
    parts, before = _parts((1,), (0,)), _parts((1,), (0,))
    got = answer.td_target(online, target, *parts.values(), GAMMA)
    expect_close(got, _target(*_flags((1,), (0,))), named="td_target")
    expect(not got.requires_grad, "the target has a gradient", CONSTANT)
    for name, part in parts.items():
        expect_close(part * 1.0, before[name] * 1.0, named=name, hint=IN_PLACE)


def action_taken(answer: Any) -> None:
    """The loss is half of the squared error of the action that was taken, [B]."""
    mistakes = ("best", "other axis", "doubled", "absolute", "clip of 1")
    _expect_loss(answer, math.inf, *mistakes)


def huber(answer: Any) -> None:
    """Errors beyond `clip` count along a line that meets the parabola."""
    _expect_loss(answer, 2.0, "no clip", "flat", "jump", "clip of 1")


def gradient(answer: Any) -> None:
    """Its gradient is the error, at most `clip`, at the action taken and only there."""
    online = _network(ONLINE)
    loss = answer.element_loss(online, STATES, ACTION, GOAL, 2.0)
    expect_close(loss, _loss(2.0), named="element_loss")
    expect(loss.requires_grad, "the loss has no gradient", NO_GRADIENT)
    (got,) = torch.autograd.grad(loss.sum(), online.weight)
    wanted = torch.zeros(3, 3)
    wanted[torch.arange(3), ACTION] = (_chosen() - GOAL).clamp(-2.0, 2.0)
    expect_close(got.T, wanted, named="gradient", hint=NO_GRADIENT)


def training(answer: Any) -> None:
    """DQN that uses both takes the same steps as the library's own, on CartPole."""

    class Algorithm(answer.Algorithm):
        def td_target(self, data: Any) -> Tensor:
            got, want = super().td_target(data), dqn.Algorithm.td_target(self, data)
            expect_close(got, want, named="td_target", tolerance=1e-3)
            return got

        def element_loss(self, data: Any) -> Any:
            got, logs = super().element_loss(data)
            want, _ = dqn.Algorithm.element_loss(self, data)
            expect_close(got, want, named="element_loss", tolerance=1e-3)
            return got, logs

    class Trainer(answer.Trainer):
        algorithm_class = Algorithm

    config = dqn.Config(
        env_kwargs={"max_episode_steps": 15},
        total_steps=300,
        learning_starts=100,
        batch_size=32,
        hidden_sizes=(32,),
        error_clip=0.5,
        eval_every=0,
        speed="eager",
        seed=6,
    )
    with Trainer(config) as trainer:
        for _ in trainer():
            pass


ACTION = torch.tensor([2, 0, 1])
GOAL = torch.tensor([3.5, 2.0, 9.5])
"""Errors of 1.5, -5 and 0.5."""


def _expect_target(
    answer: Any, terminated: tuple[int, ...], truncated: tuple[int, ...], *mistakes: str
) -> None:
    """Compare the target with what is right, and with what mistakes would give."""
    parts = _parts(terminated, truncated).values()
    got = answer.td_target(_network(ONLINE), _network(TARGET), *parts, GAMMA)
    if isinstance(got, Tensor):
        got = got.detach()
        expect(
            got.shape != (3, 3), "td_target has the shape [3, 3], expected [3]", PAIRS
        )
    flags = _flags(terminated, truncated)
    known = {HINTS[mistake]: _target(*flags, mistake) for mistake in mistakes}
    expect_close(got, _target(*flags), named="td_target", mistakes=known)


def _target(terminated: Tensor, truncated: Tensor, mistake: str = "") -> Tensor:
    """Targets `[3]`, with or without one mistake."""
    rows, chosen = TARGET[NEXT], ONLINE[NEXT].argmax(1)
    futures = {
        "no future": torch.zeros(3),
        "online": ONLINE[NEXT].amax(1),
        "double": rows[torch.arange(3), chosen],
        "over batch": rows.amax(0),
        "overall": rows.max().expand(3),
        "mean action": rows.mean(1),
    }
    future = futures.get(mistake, rows.amax(1))
    gamma = 1.0 if mistake == "no gamma" else GAMMA
    stops = terminated & (mistake != "bootstrap")
    if mistake == "cut is end":
        stops = stops | truncated
    target = REWARD * (mistake != "no reward") + gamma * future * ~stops
    return target * ~terminated if mistake == "reward lost" else target


def _expect_loss(answer: Any, clip: float, *mistakes: str) -> None:
    """Compare the loss with what is right, and with what mistakes would give."""
    got = answer.element_loss(
        _network(ONLINE), STATES.clone(), ACTION.clone(), GOAL.clone(), clip
    )
    if isinstance(got, Tensor):
        got = got.detach()
        shape = f"element_loss has the shape {list(got.shape)}, expected [3]"
        expect(got.shape != (3, 3), shape, PAIRS)
        expect(got.ndim > 0, shape, WHOLE)
    known = {HINTS[mistake]: _loss(clip, mistake) for mistake in mistakes}
    expect_close(got, _loss(clip), named="element_loss", mistakes=known)


def _loss(clip: float, mistake: str = "") -> Tensor:
    """Losses `[3]`, with or without one mistake."""
    values = {
        "best": ONLINE.amax(1),
        "other axis": ONLINE[ACTION, torch.arange(3)],
    }
    error = (GOAL - values.get(mistake, _chosen())).abs()
    if mistake == "doubled":
        return error**2
    if mistake == "absolute":
        return error
    if mistake == "no clip":
        clip = math.inf
    if mistake == "clip of 1":
        clip = 1.0
    small = error.clamp(max=clip)
    if mistake == "flat":
        return small**2 / 2
    line = clip * error if mistake == "jump" else clip * (error - clip / 2)
    return torch.where(error <= clip, error**2 / 2, line)


def _chosen() -> Tensor:
    """`Q(s, a)` of the actions taken, `[3]`."""
    return ONLINE[torch.arange(3), ACTION]


def _parts(
    terminated: tuple[int, ...], truncated: tuple[int, ...]
) -> dict[str, Tensor]:
    """New tensors of three transitions, in the order of the arguments."""
    ended, stopped = _flags(terminated, truncated)
    return {
        "reward": REWARD.clone(),
        "next_obs": STATES[NEXT],
        "terminated": ended,
        "truncated": stopped,
    }


def _flags(
    terminated: tuple[int, ...], truncated: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Which of the transitions ended an episode, and at which one was cut."""
    flags = torch.zeros(2, 3, dtype=torch.bool)
    flags[0, list(terminated)] = True
    flags[1, list(truncated)] = True
    return flags[0], flags[1]


def _network(table: Tensor) -> nn.Linear:
    """A network whose answer to the one-hot state `s` is row `s` of a table."""
    network = nn.Linear(3, 3, bias=False)
    with torch.no_grad():
        network.weight.copy_(table.T)
    return network
