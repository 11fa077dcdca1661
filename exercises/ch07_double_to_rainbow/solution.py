"""Rainbow with its differences, written out."""

from __future__ import annotations

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import rainbow
from yieldrl.algorithms.c51.model import of_action
from yieldrl.buffers import NStepReplayBuffer, PrioritizedReplayBuffer


def next_action(online_q: Tensor, target_q: Tensor) -> Tensor:
    """Double DQN: the actions `[B]` that the next states are valued by."""
    return online_q.argmax(1)


def look_ahead(
    reward: Tensor, terminated: Tensor, truncated: Tensor, gamma: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Discounted sum `[B]` of k rewards, gamma^k `[B]`, and k `[B]`."""
    n = reward.shape[1]
    stops = (terminated | truncated).long()
    used = stops.cumsum(1) - stops == 0
    length = used.sum(1)
    powers = gamma ** torch.arange(n, device=reward.device)
    return (reward * used * powers).sum(1), gamma**length, length


def project(probability: Tensor, returns: Tensor, atoms: Tensor) -> Tensor:
    """C51: move probability from any returns to evenly spaced atoms, `[B, K]`."""
    last = len(atoms) - 1
    place = ((returns - atoms[0]) / (atoms[1] - atoms[0])).clamp(0, last)
    below = place.floor().clamp(max=last - 1)
    share = place - below
    projected = torch.zeros_like(probability)
    projected.scatter_add_(1, below.long(), probability * (1 - share))
    projected.scatter_add_(1, below.long() + 1, probability * share)
    return projected


class Steps(NStepReplayBuffer):
    """The n-step buffer, with the sums above."""

    def _gather(self, index: Tensor) -> TensorDict:
        n = torch.arange(self.horizon, device=self.device)
        path = (index.unsqueeze(1) + n * self.num_envs) % self.capacity
        reward, terminated, truncated = (
            self._storage[name].flatten()[path]
            for name in ("reward", "terminated", "truncated")
        )
        reward, discount, length = look_ahead(reward, terminated, truncated, self.gamma)
        last = path.gather(1, length.unsqueeze(1) - 1).squeeze(1)
        later = {"next_obs": last, "terminated": last, "truncated": last}
        batch = self._storage.gather(index, later)
        return batch.update({"reward": reward, "discount": discount})


class Buffer(PrioritizedReplayBuffer, Steps):
    """Drawn by priority, looking n steps ahead."""


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
        return project(of_action(probability, action), returns, atoms)


class Trainer(rainbow.Trainer):
    """The schedule of Rainbow, as it is."""

    algorithm_class = Algorithm
    buffer_class = Buffer


if __name__ == "__main__":
    torch.set_num_threads(1)
    for log in Trainer(rainbow.Config(total_steps=20_000, eval_every=5_000))():
        if log["log_type"] == "evaluate":
            print(log["sample_step"], float(log["logs"]["episode_return"]))
