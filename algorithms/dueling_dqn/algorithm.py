"""The dueling network: how good the state is, and what each action adds."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from yieldrl.algorithms import dqn
from yieldrl.networks import MLP


class DuelingHead(nn.Module):
    """Two streams from shared features: `V(s)` and the advantages `A(s, .)`.

    Args:
        make_mlp: Makes a stream's layers, of given widths; shared ones are plain.
        sizes: Widths of the features and of the hidden layers, the last of which each
            stream has to itself.
        num_actions: `A`.
        per_action: Numbers for every action: 1 for `Q`, more for a distribution.
    """

    def __init__(
        self,
        make_mlp: Callable[[Sequence[int]], nn.Module],
        sizes: Sequence[int],
        num_actions: int,
        per_action: int = 1,
    ) -> None:
        super().__init__()
        self.shape = (num_actions, per_action)
        split = max(1, len(sizes) - 1)
        shared, streams = sizes[:split], sizes[split - 1 :]
        self.shared = MLP(shared, "relu") if len(shared) > 1 else None
        self.state_value = make_mlp([*streams, per_action])
        self.advantage = make_mlp([*streams, num_actions * per_action])

    def forward(self, features: Tensor) -> Tensor:
        """From `[B, F]` to `[B, A * per_action]`."""
        if self.shared is not None:
            features = torch.relu_(self.shared(features))
        value = self.state_value(features).unsqueeze(1)
        advantage = self.advantage(features).unflatten(1, self.shape)
        # Q(s, a) = V(s) + A(s, a) - mean_a' A(s, a'), equation 9: without the mean, a
        # number could go from the one stream to the other and nothing would change.
        return (value + advantage - advantage.mean(1, keepdim=True)).flatten(1)


class Model(dqn.Model):
    """DQN's network, parted in two streams near its end.

    Wang et al. 2016, "Dueling Network Architectures for Deep Reinforcement Learning",
    arXiv:1511.06581.

    Differs from the paper: gradients into the shared layers are not scaled down by
    `1 / sqrt(2)`.
    """

    def make_head(self, per_action: int = 1) -> nn.Module:
        sizes = [self.encoder.size, *self.config.hidden_sizes]
        return DuelingHead(self.make_mlp, sizes, self.num_actions, per_action)


class Trainer(dqn.Trainer):
    """DQN's schedule around a dueling network."""

    model_class = Model
