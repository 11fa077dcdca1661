"""What holds of the returns and the loss of REINFORCE."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import reinforce
from yieldrl.exercises.comparing import expect, expect_close

RETURNS = {
    "whole": "every step has the return of the whole episode: only what follows counts",
    "past": "these are the rewards so far: sum backwards in time, from the last row",
    "across": "the sum runs over environments: the first axis is time",
    "alone": "nothing is added up: G_t = r_t + gamma G_{t+1}",
    "own": "the reward of the step itself is missing: G_t begins with r_t",
    "no discount": "the rewards are not discounted: gamma is left out",
    "all discounted": "the step's own reward is discounted too: gamma is for G_{t+1}",
    "from start": "gamma counts from the start of the episode, not from step t",
    "leak": "the sum runs through the end of an episode, into the next one",
    "last lost": "the reward of the last step is lost: only what follows it is 0",
    "too early": "the sum stops a step too early: ended[t] is said of step t itself",
}
"""Mistake in the returns -> what to say of it."""

LOSS = {
    "sign": "the sign is wrong: an optimizer minimises, and what pays is to be raised",
    "no baseline": "the baseline is not subtracted",
    "added": "the baseline is added: returns less baseline",
    "no log": "the probability is taken, not its logarithm: grad log p = grad p / p",
    "raw": "logits are no log-probabilities: they lack the log_softmax",
    "over batch": "the softmax runs over the batch: the actions are in axis 1",
    "all actions": "the mean over all actions is taken: only the one taken was tried",
    "best": "the most likely action is taken: it need not be the one that was tried",
    "sum": "the sum over the batch is taken: the mean does not grow with its size",
    "apart": "two means are multiplied: weigh each step by its own, [B] times [B]",
}
"""Mistake in the loss -> what to say of it."""

GAMMA = 0.8


def to_go(answer: Any) -> None:
    """Without a discount a return is the sum of all rewards from its step on."""
    _expect_returns(answer, 1.0, [], "whole", "past", "across", "alone", "own")


def discount(answer: Any) -> None:
    """A reward that comes k steps later counts gamma ** k times as much."""
    mistakes = "no discount", "all discounted", "from start", "whole", "own"
    _expect_returns(answer, GAMMA, [], *mistakes)


def ends(answer: Any) -> None:
    """Where an episode ends the sum stops, and the next one starts from nothing."""
    _expect_returns(answer, GAMMA, [(2, 0)], "leak", "last lost", "too early")


def environments(answer: Any) -> None:
    """Environments side by side end when they like, and do not touch each other."""
    ended = [(0, 1), (1, 0), (3, 1), (4, 0)]
    _expect_returns(answer, GAMMA, ended, "leak", "last lost", "too early", "across")


def loss(answer: Any) -> None:
    """The loss is the mean of -(G - b) log pi(a | s) over the batch."""
    parts = _batch()
    expect_close(
        answer.policy_loss(*(part.clone() for part in parts)),
        _loss(*parts),
        named="loss",
        mistakes={hint: _loss(*parts, mistake=key) for key, hint in LOSS.items()},
    )


def gradient(answer: Any) -> None:
    """Its gradient raises what returned more than expected, and lowers the others."""
    logits, *others = _batch()
    logits.requires_grad_()
    value = answer.policy_loss(logits, *others)
    hint = "the loss must depend on the logits: detach what weighs log pi, not log pi"
    expect(value.requires_grad, "the loss has no gradient", hint)
    (got,) = torch.autograd.grad(value, logits)
    expect_close(got, _slope(*_batch()), named="gradient of logits", hint=hint)


def constants(answer: Any) -> None:
    """The baseline is a constant to the loss, and the arguments stay as they were."""
    logits, action, returns, baseline = _batch()
    logits.requires_grad_()
    baseline.requires_grad_()
    value = answer.policy_loss(logits, action, returns, baseline)
    (got,) = torch.autograd.grad(value, [baseline], allow_unused=True)
    expect(
        got is None or not got.any(),
        "the loss has a gradient for the baseline",
        "detach the baseline: this loss would train it, and not to predict returns",
    )
    reward, ended = _walk([(2, 0)])
    answer.returns_to_go(reward, ended, GAMMA)
    names = "logits", "action", "returns", "baseline", "reward", "ended"
    parts = logits, action, returns, baseline, reward, ended
    before = *_batch(), *_walk([(2, 0)])
    for name, part, was in zip(names, parts, before, strict=True):
        hint = "the argument was changed in place: make a new tensor"
        expect_close(part.detach(), was, named=name, hint=hint)


def training(answer: Any) -> None:
    """REINFORCE that uses both takes the same steps as the library's own."""

    class Algorithm(answer.Algorithm):
        def prepare(self, episodes: TensorDict) -> TensorDict:
            want = reinforce.Algorithm.prepare(self, episodes.clone())["returns"]
            got = super().prepare(episodes)
            _expect_library(got["returns"], want, "returns")
            return got

        def loss(self, data: TensorDict) -> Any:
            got = super().loss(data)
            want, _ = reinforce.Algorithm.loss(self, data)
            _expect_library(got[0], want, "loss")
            return got

    class Trainer(answer.Trainer):
        algorithm_class = Algorithm

    config = reinforce.Config(
        num_envs=2,
        num_episodes=4,
        total_steps=400,
        baseline="mean",
        eval_every=0,
        seed=8,
    )
    for _ in Trainer(config)():
        pass


def _expect_library(got: Any, want: Tensor, named: str) -> None:
    """What training gives depends on chance: no numbers of it."""
    same = isinstance(got, Tensor) and got.shape == want.shape
    expect(
        same and torch.allclose(got, want, rtol=1e-4, atol=1e-4),
        f"the {named} of a batch of episodes: not those of the library",
        "the properties above say more",
    )


def _expect_returns(
    answer: Any, gamma: float, ended: list[tuple[int, int]], *mistakes: str
) -> None:
    """Compare the answer with what is right, and with what mistakes would give."""
    parts = _walk(ended)
    expect_close(
        answer.returns_to_go(*(part.clone() for part in parts), gamma),
        _returns(*parts, gamma),
        named="returns",
        mistakes={RETURNS[key]: _returns(*parts, gamma, key) for key in mistakes},
    )


def _walk(ended: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Six steps of two environments, and where episodes end."""
    reward = torch.tensor([1.0, 0, 2, 0, 4, 3, 5, 7, 1, 6, 2, 8]).view(2, 6).T
    flags = torch.zeros(6, 2, dtype=torch.bool)
    for row, column in ended:
        flags[row, column] = True
    return reward.contiguous(), flags


def _returns(reward: Tensor, ended: Tensor, gamma: float, mistake: str = "") -> Tensor:
    """Returns `[T, N]`, with or without one mistake."""
    if mistake == "across":
        return _returns(reward.T, ended.T, gamma).T.contiguous()
    if mistake == "past":
        return _returns(reward.flip(0), ended.flip(0), gamma).flip(0)
    if mistake == "alone":
        return reward
    if mistake in ("whole", "from start"):
        returns = _returns(reward, ended, gamma)  # one episode in each column
        powers = gamma ** torch.arange(len(reward))[:, None]
        return returns * powers if mistake != "whole" else returns[:1].expand(6, 2)
    gamma = 1.0 if mistake == "no discount" else gamma
    stops = ended.roll(-1, 0) if mistake == "too early" else ended
    stops = torch.zeros_like(ended) if mistake == "leak" else stops
    earned = reward * ~ended if mistake == "last lost" else reward
    rows, following = list(earned), torch.zeros_like(reward[0])
    for t in reversed(range(len(rows))):
        future = gamma * following * ~stops[t]
        following = earned[t] * (gamma if mistake == "all discounted" else 1) + future
        rows[t] = future if mistake == "own" else following
    return torch.stack(rows)


def _batch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits, actions, returns and baselines of four steps, with three actions."""
    logits = torch.tensor([[1.0, 0, 2], [0, 1, -1], [2, 1, 0], [-1, 0, 3]])
    action = torch.tensor([2, 0, 1, 1])
    returns = torch.tensor([3.0, 1.0, 4.0, 2.0])
    baseline = torch.tensor([1.0, 2.0, 1.0, 2.5])
    return logits, action, returns, baseline


def _loss(
    logits: Tensor,
    action: Tensor,
    returns: Tensor,
    baseline: Tensor,
    mistake: str = "",
) -> Tensor:
    """The loss, with or without one mistake."""
    log_p = logits.log_softmax(0 if mistake == "over batch" else 1)
    log_p = logits if mistake == "raw" else log_p
    taken = log_p.gather(1, action[:, None]).squeeze(1)
    kinds = {"no log": taken.exp(), "all actions": log_p.mean(1), "best": log_p.amax(1)}
    taken = kinds.get(mistake, taken)
    side = {"no baseline": 0.0, "added": -1.0}.get(mistake, 1.0)
    weight = returns - side * baseline
    if mistake == "apart":
        return -weight.mean() * taken.mean()
    each = weight * taken * (1 if mistake == "sign" else -1)
    return each.sum() if mistake == "sum" else each.mean()


def _slope(logits: Tensor, action: Tensor, returns: Tensor, baseline: Tensor) -> Tensor:
    """The gradient of the loss for each logit, `[B, A]`, written out."""
    score = torch.eye(logits.shape[1])[action] - logits.softmax(1)
    return -score * (returns - baseline)[:, None] / len(logits)
