"""Chapter 7, from Double DQN to Rainbow."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import rainbow
from yieldrl.algorithms.c51.algorithm import of_action
from yieldrl.buffers import PrioritizedReplayBuffer


def next_action(online_q: Tensor, target_q: Tensor) -> Tensor:
    """Double DQN: the actions `[B]` that the next states are valued by.

    Args:
        online_q: `Q(s', .)`, what the network that learns says, `[B, A]`.
        target_q: `Q'(s', .)`, what its copy says, which judges the choice, `[B, A]`.

    Returns:
        Numbers of actions. Not all of the arguments are needed.
    """
    # The gap, of one line. Whose luck must not be the judge's?
    # gap: the choice: which network chooses the next action?
    return online_q.argmax(1)
    # end


def look_ahead(
    reward: Tensor, terminated: Tensor, truncated: Tensor, gamma: float
) -> tuple[Tensor, Tensor, Tensor]:
    """n-step returns: what n steps in a row earned, as far as their episode went.

    Args:
        reward: Of n steps as they were taken, `[B, n]`.
        terminated: Bool, `[B, n]`; the episode ended with this step.
        truncated: Bool, `[B, n]`; it was cut after this step.
        gamma: Discount.

    Returns:
        The discounted sum of the k rewards up to the first end or cut, `[B]`; the
        discount of what follows, gamma^k, `[B]`; and k, an integer, `[B]`. What comes
        after an end or a cut belongs to another episode, and k = n if there is none.
    """
    # The gap. The step that ends the episode still counts; none after it does.
    #   terminated | truncated   where it stops
    #   x.cumsum(1)              how many stops there were, this step included
    #   gamma ** torch.arange(n) 1, gamma, gamma^2, ...
    # gap: n steps: which of the rewards count, and how much?
    n = reward.shape[1]
    stops = (terminated | truncated).long()
    used = stops.cumsum(1) - stops == 0
    length = used.sum(1)
    powers = gamma ** torch.arange(n, device=reward.device)
    return (reward * used * powers).sum(1), gamma**length, length
    # end


def project(probability: Tensor, returns: Tensor, atoms: Tensor) -> Tensor:
    """C51: move probability from any returns to evenly spaced atoms.

    Args:
        probability: Of each return, `[B, K]`.
        returns: `[B, K]`.
        atoms: `[K]`, ascending, evenly spaced.

    Returns:
        Probability of each atom, `[B, K]`, a new tensor. What lies between two atoms is
        shared by them, the nearer one gets more; what lies outside goes to the first
        or to the last.
    """
    # The gap. Count in atoms: place = (return - first) / spacing, from 0 to K - 1.
    #   below   the atom below, and below + 1 the one above
    #   share   of the one above: how far the place is from the one below
    # And a return that is an atom's own? Several returns may go to the same atom:
    # x.scatter_add_(1, index, y) adds y[b, j] to x[b, index[b, j]], all of them.
    # gap: the projection: between which atoms does a return lie?
    last = len(atoms) - 1
    place = ((returns - atoms[0]) / (atoms[1] - atoms[0])).clamp(0, last)
    below = place.floor().clamp(max=last - 1)
    share = place - below
    projected = torch.zeros_like(probability)
    projected.scatter_add_(1, below.long(), probability * (1 - share))
    projected.scatter_add_(1, below.long() + 1, probability * share)
    return projected
    # end


class Buffer(PrioritizedReplayBuffer):
    """Drawn by priority, looking n steps ahead, with the sums above."""

    def _n_steps(self, index: Tensor) -> TensorDict:
        n = torch.arange(self.n_step, device=self.device)
        path = (index.unsqueeze(1) + n * self.num_envs) % self.capacity
        reward, terminated, truncated = (
            self._storage[name].flatten()[path]
            for name in ("reward", "terminated", "truncated")
        )
        reward, discount, length = look_ahead(reward, terminated, truncated, self.gamma)
        last = path.gather(1, length.unsqueeze(1) - 1).squeeze(1)
        later = {"next_obs": last, "terminated": last, "truncated": last}
        sums = {"reward": reward.float(), "discount": discount.float()}
        return self._storage.gather(index, later).update(sums)


class Algorithm(rainbow.Algorithm):
    """Rainbow that takes the steps above."""

    def next_action(self, data: TensorDict, target_q_value: Tensor) -> Tensor:
        """The actions `[B]` that the next states are valued by."""
        return next_action(self.model.value(data["next_obs"]), target_q_value)

    @torch.no_grad()
    def td_target(self, data: TensorDict) -> Tensor:
        """Target distributions on the atoms, `[B, K]`."""
        atoms = self.target_model.atoms
        probability = self.target_model.logits(data["next_obs"]).softmax(-1)
        action = self.next_action(data, probability @ atoms)
        discount = data["discount"] * ~data["terminated"]
        returns = data["reward"].unsqueeze(1) + discount.unsqueeze(1) * atoms
        return project(of_action(probability, action), returns, atoms).float()


class Trainer(rainbow.Trainer):
    """The schedule of Rainbow, as it is."""

    algorithm_class = Algorithm

    def make_buffer(self, kind: Any = Buffer, **options: Any) -> Any:
        """A buffer that samples as above."""
        return super().make_buffer(kind, **options)
