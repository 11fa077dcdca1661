"""What holds of the returns and the loss of REINFORCE."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import reinforce
from yieldrl.exercises.calls import train, variant
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.comparing import expect

GAMMA = 0.8
LOGITS = torch.tensor([[1.0, 0, 2], [0, 1, -1], [2, 1, 0], [-1, 0, 3]])
# arguments of `policy_loss`: logits, actions, returns and baselines of four steps
BATCH = (LOGITS, *map(torch.tensor, ([2, 0, 1, 1], [3.0, 1, 4, 2], [1.0, 2, 1, 2.5])))
LOGITS_LEARN = (
    "the loss must depend on the logits: detach what weighs log pi, not log pi"
)
NO_BASELINE = (
    "detach the baseline: this loss would train it, and not to predict returns"
)


def _walk(gamma: float, *ended: tuple[int, int]) -> list[Any]:
    """Arguments of `returns_to_go`: six steps of two environments."""
    reward = torch.tensor([1.0, 0, 2, 0, 4, 3, 5, 7, 1, 6, 2, 8]).view(2, 6).T
    flags = torch.zeros(6, 2, dtype=torch.bool)
    for row, column in ended:
        flags[row, column] = True
    return [reward.contiguous(), flags, gamma]


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

    settings: dict[str, Any] = {"num_envs": 2, "num_episodes": 4, "total_steps": 400}
    config = reinforce.Config(**settings, baseline="mean", eval_every=0, seed=8)
    train(variant(answer.Trainer, algorithm_class=Algorithm)(config))


def _expect_library(got: Any, want: Tensor, named: str) -> None:
    same = isinstance(got, Tensor) and got.shape == want.shape
    expect(
        same and torch.allclose(got, want, rtol=1e-4, atol=1e-4),
        f"the {named} of a batch of episodes: not those of the library",
    )


CHAPTER = Chapter(__name__)
PROPERTIES = [
    *CHAPTER.same(
        "returns_to_go",
        "Without a discount a return is the sum of all rewards from its step on",
        _walk(1.0),
        "A reward that comes k steps later counts gamma ** k times as much",
        _walk(GAMMA),
        "Where an episode ends the sum stops, and the next one starts from nothing",
        _walk(GAMMA, (2, 0)),
        "Environments side by side end when they like, and do not touch each other",
        _walk(GAMMA, (0, 1), (1, 0), (3, 1), (4, 0)),
        named="returns",
    ),
    *CHAPTER.same(
        "policy_loss",
        "The loss is the mean of -(G - b) log pi(a | s) over the batch",
        BATCH,
        named="loss",
    ),
    CHAPTER.gradient(
        "Its gradient raises what returned more than expected, and lowers the others",
        "policy_loss",
        BATCH,
        of=0,
        hint=LOGITS_LEARN,
    ),
    CHAPTER.constant(
        "The baseline is a constant to the loss, and the arguments stay as they were",
        ("policy_loss", BATCH),
        ("returns_to_go", _walk(GAMMA, (2, 0))),
        of=[3],
        hint=NO_BASELINE,
    ),
    training,
]
