"""What holds of Munchausen DQN's target."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.exercises.cases import Chapter, flags
from yieldrl.exercises.comparing import expect, expect_close
from yieldrl.exercises.training import logged, trainer_class

# Four states and three actions; the two tables prefer different actions.
ONLINE = torch.tensor([[0.5, 2, 1.0], [3, 1.5, 0.0], [1, 0.2, 2.2], [2, 2.5, 0.0]])
TARGET = torch.tensor([[1.0, 0, 2.0], [0.5, 1.2, 0.3], [2, 2.4, 0.9], [0, 1, 3.0]])


class Table(nn.Embedding):
    """`Q(s, .)` as a table, in the place of a network."""

    def value(self, obs: Tensor) -> Tensor:
        """`[B, A]`."""
        return self(obs)


def _batch(
    terminated: Sequence[int] = (),
    truncated: Sequence[int] = (),
    discount: Sequence[float] = (0.8,) * 4,
) -> TensorDict:
    columns: dict[str, Any] = {"obs": [0, 1, 2, 3], "action": [1, 2, 1, 0]}
    columns |= {"reward": [1.0, -0.5, 2.0, 0.25], "next_obs": [1, 2, 3, 0]}
    columns["discount"] = discount
    columns["terminated"], columns["truncated"] = flags(4, terminated, truncated)
    return TensorDict({name: torch.as_tensor(of) for name, of in columns.items()}, [4])


def _algorithm(
    answer: Any, coef: float, clip: float = -100.0, tau: float = 0.5, scale: float = 1.0
) -> Any:
    settings = {"munchausen_coef": coef, "munchausen_clip": clip, "temperature": tau}
    config = answer.Config(**settings, gamma=0.8, device="cpu")
    online, target = (Table.from_pretrained(scale * of) for of in (ONLINE, TARGET))
    algorithm = answer.Algorithm(online.requires_grad_(), config)
    algorithm.target_model = target
    return algorithm


def td_target(answer: Any, batch: TensorDict, *settings: float) -> Any:
    """The answer's target."""
    return _algorithm(answer, *settings).td_target(batch)


def constant(answer: Any) -> None:
    """The target is a constant to the loss, and the batch stays as it was."""
    data, algorithm = _batch(), _algorithm(answer, 0.9)
    algorithm.target_model.requires_grad_()
    hint = "the target has a gradient: `@torch.no_grad()`, it is a constant to the loss"
    expect(not algorithm.td_target(data).requires_grad, "it has a gradient", hint)
    hint = "the batch was changed in place: make new tensors"
    for name, was in _batch().items():
        expect_close(data[name], was, named=f"data[{name!r}]", hint=hint)


def learned(answer: Any) -> None:
    """It learns what a world of two like actions is worth to it, which is known."""
    gamma, alpha, tau = 0.5, 0.9, 0.5
    settings = {"gamma": gamma, "munchausen_coef": alpha, "temperature": tau}
    settings |= {"total_steps": 500, "learning_starts": 50, "train_every": 1}
    settings |= {"batch_size": 32, "tau": 0.05, "learning_rate": 0.01, "seed": 17}
    settings |= {"env_id": "yieldrl/ProbeCut-v1", "hidden_sizes": (16,)}
    config = answer.Config(**settings, eval_every=0, device="cpu")
    trainer = trainer_class(answer.Algorithm)(config)
    logged(trainer)
    found = trainer.model.value(torch.zeros(1, 1)).mean()
    worth = (1 + (gamma - alpha) * tau * math.log(2)) / (1 - gamma)
    expect_close(float(found.detach()), worth, named="value", tolerance=0.03)


CHAPTER = Chapter(__name__)
CHAPTER.same(
    td_target,
    "Without a bonus it is reward and discounted soft value of the next state",
    (_batch(), 0.0),
    "The bonus is alpha tau log pi(a | s), of the action that was taken",
    (_batch(), 0.9),
    "Where tau log pi is below l_0, l_0 counts, and alpha of it is taken",
    (_batch(), 0.9, -0.8),
    "Only a termination ends the future, and the bonus stays",
    (_batch(terminated=[1, 3], truncated=[0]), 0.9),
    "What follows is discounted as the transition says: after n steps by gamma^n",
    (_batch(discount=[0.8, 0.64, 0.512, 0.8]), 0.9),
    "Values of hundreds and the paper's temperature give finite numbers",
    (_batch(), 0.9, -1.0, 0.03, 200.0),
)
CHAPTER.holds(constant, learned)
