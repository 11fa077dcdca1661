"""An arm that is seen, and a model of one's own whose eyes have running statistics."""

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from torch import nn
from torch.distributions import Independent, Normal


class Arm(gymnasium.Env):
    """Two joints; the first ought to be where the picture is bright."""

    observation_space = Dict(rgb=Box(0, 255, (8, 8, 3), np.uint8))
    action_space = Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.obs(), {}

    def step(self, action):
        self.steps += 1
        reward = -abs(float(action[0]) - 0.3)
        return self.obs(), reward, False, self.steps == 5, {}

    def obs(self):
        return {"rgb": self.np_random.integers(0, 255, (8, 8, 3), np.uint8)}


def expert(envs, obs):
    """What `demonstrations` names: the same for all."""
    return np.full((envs.num_envs, 2), 0.3, np.float32)


class Moving(nn.Module):
    """An average of what it has seen in train mode, as some normalisers keep it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("average", torch.zeros(3))
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        if self.training:
            self.average.lerp_(x.detach().mean((0, 2, 3)), 0.1)
        return (x - self.average.view(3, 1, 1)) * self.scale.view(3, 1, 1)


LAYERS = {
    "BatchNorm2d": lambda: nn.BatchNorm2d(3),
    "InstanceNorm2d": lambda: nn.InstanceNorm2d(3, track_running_stats=True),
    "spectral_norm": lambda: nn.utils.parametrizations.spectral_norm(
        nn.Conv2d(3, 3, 3, padding=1)
    ),
    "Moving": Moving,
    "Dropout2d": lambda: nn.Dropout2d(0.5),
}
"""Each kind of layer whose state, or whose answer, depends on the mode."""


class Seeing(nn.Module):
    """Pictures through a stem and one such layer, and a Gaussian."""

    def __init__(self, layer, own=False):
        super().__init__()
        self.vision = nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), LAYERS[layer]())
        if own:  # as the model of the document does
            self.vision.requires_grad_(False)
        self.body = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8))
        self.mean = nn.Linear(8, 2)
        self.log_std = nn.Parameter(torch.zeros(2))
        self.value_head = nn.Linear(8, 1)

    def vision_parameters(self):
        return self.vision.parameters()

    def hidden(self, observations):
        image = observations["rgb"].permute(0, 3, 1, 2) / 255
        return self.body(self.vision(image).mean((2, 3)))

    def policy(self, observations):
        mean = self.mean(self.hidden(observations))
        return Independent(Normal(mean, self.log_std.exp()), 1)

    def forward(self, observations, deterministic=False):
        policy = self.policy(observations)
        return policy.mean if deterministic else policy.sample()

    def get_value(self, observations):
        return self.value_head(self.hidden(observations))

    def evaluate_actions(self, observations, actions):
        policy = self.policy(observations)
        return policy.log_prob(actions), policy.entropy()


class Blind(Seeing):
    """Does not say which of its parameters see."""

    vision_parameters = None

    def __init__(self):
        super().__init__("Dropout2d")
