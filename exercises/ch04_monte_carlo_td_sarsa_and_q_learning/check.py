"""What holds of the targets of Q-learning and SARSA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import q_learning, sarsa
from yieldrl.exercises.checking import expect_close

HINTS = {
    "no gamma": "the next value is not discounted: gamma is left out",
    "no reward": "the reward is missing",
    "no future": "the next value is missing, or `terminated` taken for `~terminated`",
    "error": "Q(s, a) is subtracted: that is the TD error, asked for is the target",
    "bootstrap": "`terminated` is ignored: a terminated step has no future",
    "reward lost": "`~terminated` must stop the future alone, not the reward",
    "cut is end": "`truncated` is taken for an end: there Q(s', .) still counts",
    "old state": "bootstrapped from the old state: take row s' of the table, not row s",
    "old state, a'": "bootstrapped from the old state: take row s', not row s",
    "old entry": "Q(s, a) itself is taken for the next value: that is the old entry",
    "old action": "Q(s', a) is taken, the action before: take a', the one that follows",
    "max": "the maximum is taken: SARSA values the action that is taken, a'",
    "mean": "the mean over actions is taken: Q-learning takes the best of them",
    "over batch": "the maximum is that of the whole batch: take each row's",
}
"""Mistake -> what to say of it; from "old state" on, what is taken for the future."""


@dataclass(frozen=True)
class Case:
    """Transitions, and what their targets are, rightly or with a known mistake."""

    state: Tensor
    action: Tensor
    reward: Tensor
    next_state: Tensor
    next_action: Tensor
    terminated: Tensor
    truncated: Tensor
    gamma: float = 0.9

    def expect_q_learning(self, answer: Any, *mistakes: str) -> None:
        """Compare Q-learning's target with what is right and what mistakes give."""
        parts = self.parts()
        del parts["next_action"]
        got = answer.q_learning_target(*parts.values(), self.gamma)
        self._compare(got, "q_learning_target", "max", mistakes)

    def expect_sarsa(self, answer: Any, *mistakes: str) -> None:
        """Compare SARSA's target likewise."""
        got = answer.sarsa_target(*self.parts().values(), self.gamma)
        self._compare(got, "sarsa_target", "taken", mistakes)

    def parts(self) -> dict[str, Tensor]:
        """Copies of all tensors, in the order of the arguments; nothing is spoilt."""
        own = {name: part for name, part in vars(self).items() if name != "gamma"}
        return {"table": TABLE.clone()} | {k: part.clone() for k, part in own.items()}

    def target(self, entry: str, mistake: str = "") -> Tensor:
        """Targets `[B]`, whose future is `entry`, with or without one mistake."""
        values = self.futures()
        future = values.get(mistake, values[entry]) * (mistake != "no future")
        gamma = 1.0 if mistake == "no gamma" else self.gamma
        ends = self.terminated & (mistake != "bootstrap")
        if mistake == "cut is end":
            ends = ends | self.truncated
        target = self.reward * (mistake != "no reward") + gamma * future * ~ends
        if mistake == "error":
            target = target - TABLE[self.state, self.action]
        return target * ~self.terminated if mistake == "reward lost" else target

    def futures(self) -> dict[str, Tensor]:
        """The value of the next state `[B]`, and what may be taken for it."""
        rows = TABLE[self.next_state]
        return {
            "max": rows.amax(1),
            "taken": TABLE[self.next_state, self.next_action],
            "old state": TABLE[self.state].amax(1),
            "old state, a'": TABLE[self.state, self.next_action],
            "old entry": TABLE[self.state, self.action],
            "old action": TABLE[self.next_state, self.action],
            "mean": rows.mean(1),
            "over batch": rows.max().expand(len(rows)),
        }

    def _compare(
        self, got: Any, named: str, entry: str, mistakes: tuple[str, ...]
    ) -> None:
        known = {HINTS[key]: self.target(entry, key) for key in mistakes}
        expect_close(got, self.target(entry), named=named, mistakes=known)


TABLE = torch.tensor(
    [[1.0, 4.0, 2.0], [7.0, 3.0, 5.0], [6.0, 9.0, 11.0], [-3.0, -8.0, -2.0]]
)
"""`Q`, four states and three actions; every entry is another."""


def best_action(answer: Any) -> None:
    """Q-learning's target is r + gamma max_a' Q(s', a')."""
    mistakes = ("no gamma", "no reward", "no future", "old state", "old entry", "error")
    _steps().expect_q_learning(answer, *mistakes, "mean", "over batch")


def action_taken(answer: Any) -> None:
    """SARSA's is r + gamma Q(s', a'), with the action a' that is taken next."""
    mistakes = ("max", "no gamma", "no reward", "no future", "old state, a'")
    case = _steps()
    case.expect_sarsa(answer, *mistakes, "old action", "old entry", "error")


def q_learning_ends(answer: Any) -> None:
    """Q-learning: after a terminated step nothing follows, and its reward counts."""
    case = _steps(terminated=[1, 3])
    case.expect_q_learning(answer, "bootstrap", "reward lost")


def sarsa_ends(answer: Any) -> None:
    """SARSA: after a terminated step nothing follows, and its reward counts."""
    case = _steps(terminated=[1, 3])
    case.expect_sarsa(answer, "bootstrap", "reward lost")


def q_learning_cut(answer: Any) -> None:
    """Q-learning: a truncated step is no end, and is bootstrapped like any other."""
    _steps(terminated=[1], truncated=[0, 2]).expect_q_learning(answer, "cut is end")


def sarsa_cut(answer: Any) -> None:
    """SARSA: a truncated step is no end, and is bootstrapped like any other."""
    _steps(terminated=[1], truncated=[0, 2]).expect_sarsa(answer, "cut is end")


def unchanged(answer: Any) -> None:
    """The table and all other arguments stay as they were."""
    case = _steps(terminated=[1])
    for name, extra in (("q_learning_target", "next_action"), ("sarsa_target", "")):
        parts, before = case.parts(), case.parts()
        asked = [part for key, part in parts.items() if key != extra]
        getattr(answer, name)(*asked, case.gamma)
        for key, part in parts.items():
            hint = "the argument was changed in place: make a new tensor"
            expect_close(part, before[key], named=key, hint=hint)


def training(answer: Any) -> None:
    """Both take the same steps as the library's own, on the cliff and on the lake."""
    for env_id in ("CliffWalking-v1", "FrozenLake-v1"):
        _train(answer.QLearning, q_learning.Algorithm, q_learning.Trainer, env_id)
        _train(answer.Sarsa, sarsa.Algorithm, sarsa.Trainer, env_id)


def _train(answer: Any, library: Any, trainer: Any, env_id: str) -> None:
    """Train briefly, and compare every target with the library's."""

    class Algorithm(answer):
        def td_target(self, data: Any) -> Tensor:
            got, want = super().td_target(data), library.td_target(self, data)
            expect_close(got, want, named="target")
            return got

    class Trainer(trainer):
        algorithm_class = Algorithm

    config = trainer.config_class(
        env_id=env_id,
        env_kwargs={"max_episode_steps": 12},
        num_envs=4,
        total_steps=400,
        eval_every=0,
        seed=4,
    )
    for _ in Trainer(config)():
        pass


def _steps(
    terminated: list[int] | None = None, truncated: list[int] | None = None
) -> Case:
    """Four transitions; some may end an episode, or be where it is cut."""
    flags = torch.zeros(2, 4, dtype=torch.bool)
    for flag, steps in zip(flags, (terminated or [], truncated or []), strict=True):
        flag[steps] = True
    return Case(
        state=torch.tensor([0, 1, 3, 2]),
        action=torch.tensor([2, 0, 0, 1]),
        reward=torch.tensor([0.5, -1.0, 2.0, 1.0]),
        next_state=torch.tensor([1, 2, 0, 3]),
        next_action=torch.tensor([1, 0, 2, 1]),
        terminated=flags[0],
        truncated=flags[1],
    )
