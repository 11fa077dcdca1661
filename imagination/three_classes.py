"""Reward and end of a step as one of three classes; rare classes count more."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

GOES_ON = 0
"""The class of a step that goes on, without a reward."""

ENDED = 1
"""The class of a step that ends without a reward."""

SUCCESS = 2
"""The class of a step that ends with a reward of 1."""

MAX_WEIGHT = 20.0
"""Largest weight of a class, so that a single rare end does not dominate the loss."""


def encode_reward_termination(reward: Tensor, terminated: Tensor) -> Tensor:
    """The class of every step, int64, of any shape.

    A truncation is no end: the world would have gone on.

    Args:
        reward: Float, 0 or 1 each.
        terminated: Bool, the same shape.

    Raises:
        ValueError: If a reward is neither 0 nor 1, or a step is rewarded and goes on.

    >>> reward, ended = torch.tensor([0.0, 0.0, 1.0]), torch.tensor([False, True, True])
    >>> encode_reward_termination(reward, ended)
    tensor([0, 1, 2])
    """
    if reward.shape != terminated.shape:
        raise ValueError(
            f"reward is {list(reward.shape)}, terminated {list(terminated.shape)}: give"
            " one of each for every step"
        )
    rewarded = reward == 1
    odd = reward[~rewarded & (reward != 0)]
    if len(odd) > 0:
        raise ValueError(
            f"three classes know rewards of 0 and 1 alone, got {odd[0].item():g}:"
            " choose outcome='number' or 'symlog'"
        )
    if bool((rewarded & ~terminated).any()):
        raise ValueError(
            "a step has a reward of 1 and goes on, which is none of the three classes:"
            " end the episode with its success, or choose outcome='number'"
        )
    return terminated.long() + rewarded.long()


def decode_reward_termination(classes: Tensor) -> tuple[Tensor, Tensor]:
    """The inverse: `reward` float32 and `terminated` bool, both of the same shape.

    >>> decode_reward_termination(torch.tensor([0, 1, 2]))
    (tensor([0., 0., 1.]), tensor([False,  True,  True]))
    """
    return (classes == SUCCESS).float(), classes != GOES_ON


def class_weights(classes: Tensor, count: int, most: float = MAX_WEIGHT) -> Tensor:
    """Weights of the classes, `[count]`: `n / (count n_c)`, at most `most`.

    Then each class counts as much as every other. One that never came counts 1.

    >>> class_weights(torch.tensor([0, 0, 0, 1]), 2)
    tensor([0.6667, 2.0000])
    """
    found = torch.bincount(classes.flatten(), minlength=count).float()
    weights = classes.numel() / (count * found.clamp(min=1))
    return torch.where(found > 0, weights.clamp(max=most), 1.0)


class BalancedClasses(nn.Module):
    """A head's loss and probabilities where some classes are rare.

    `weights [count]` are those of `class_weights` after `fit_to`. Cross-entropy with
    weights `w` learns `q_c ~ w_c p_c`, so `probabilities` divides by them again: what
    is rare is learned sooner, and is not predicted too often.
    """

    weights: Tensor

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.register_buffer("weights", torch.ones(count, dtype=torch.float32))

    def fit_to(self, classes: Tensor) -> None:
        """Take the weights of these classes, int64 of any shape."""
        self.weights.copy_(class_weights(classes, self.count))

    def loss(self, logits: Tensor, classes: Tensor) -> Tensor:
        """`-w_c log q_c`, `[...]`, of logits `[..., count]`."""
        flat = logits.flatten(0, -2), classes.flatten()
        return cross_entropy(*flat, self.weights, reduction="none").view(classes.shape)

    def probabilities(self, logits: Tensor) -> Tensor:
        """`p_c`, `[..., count]`, without the effect of the weights."""
        return (logits - self.weights.log()).softmax(-1)


def recall_of_ends(end: Tensor, terminated: Tensor) -> Tensor:
    """The share of ended steps whose end was predicted, 0-dim.

    Accuracy says nothing where one step in a hundred ends. NaN where none did.

    Args:
        end: Probabilities that a step ends, of any shape.
        terminated: Whether it did, bool, the same shape.
    """
    return (end > 0.5)[terminated].float().mean()
