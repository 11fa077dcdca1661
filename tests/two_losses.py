"""What the engines are tried with: two losses, two optimizers, rates of their own."""

import torch
from tensordict import TensorDict
from torch import nn
from vla_folders import CHUNKS, OBSERVED, seen

from yieldrl.abstractions import Algorithm
from yieldrl.core import Config
from yieldrl.vla import VLAConfig, load_vla_model

SIZES = 6, 4
"""Rows of each process: one number for each of two."""


class Net(nn.Module):
    """A policy and a value on one layer, of sizes that two cannot share equally."""

    def __init__(self, bias):
        super().__init__()
        self.layer, self.value = nn.Linear(3, 5), nn.Linear(5, 1)
        self.critic = nn.Linear(5, 3)
        self.log_std = nn.Parameter(torch.zeros(3))
        self.bias = nn.Parameter(torch.ones(bias))
        self.frozen = nn.Parameter(torch.ones(5), requires_grad=False)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        raise NotImplementedError  # losses call methods

    def hidden(self, x):
        return self.layer(x - self.seen).tanh() * self.frozen


class Number(nn.Module):
    """One number beside the model, as SAC's temperature is."""

    def __init__(self):
        super().__init__()
        self.number = nn.Parameter(torch.tensor(0.5))


class Two(Algorithm):
    """Two losses with one optimizer of two groups, and one loss with each of two more.

    Args:
        kind: Of optimizer.
        bias: The shape of one of the model's numbers.
    """

    def __init__(self, kind=torch.optim.Adam, bias=()):
        torch.manual_seed(3)
        super().__init__(Net(bias), Config(device="cpu"))
        net, self.number = self.model, Number()
        policy = [*net.layer.parameters(), net.log_std, net.frozen]
        value = [*net.value.parameters(), net.bias]
        rate = 1.0 if kind is torch.optim.SGD else 0.05
        groups = [{"params": policy}, {"params": value, "lr": 2 * rate}]
        self.optimizer = kind(groups, lr=rate)
        self.critic_optimizer = kind(net.critic.parameters(), lr=3 * rate)
        self.number_optimizer = kind(self.number.parameters(), lr=rate)

    def policy_loss(self, data):
        hidden = self.model.hidden(data["x"])
        squared = (hidden.sum(1) - data["y"]).square()
        spread = self.model.log_std.exp().sum()
        loss = (squared * spread).mean() + self.value_of(hidden).mean()
        data["error"] = squared.detach()
        return loss, {"loss": loss.detach()}

    def value_loss(self, data):
        value = self.value_of(self.model.hidden(data["x"]))
        loss = (value - 3 * data["y"]).square().mean() + 0 * self.model.log_std.sum()
        return loss, {"value_loss": loss.detach(), "constant": 7.0}

    def critic_loss(self, data):
        """Depends on the layer too, which another optimizer trains."""
        found = self.model.critic(self.model.hidden(data["x"]))
        loss = (found - data["x"]).square().mean()
        return loss, {"critic_loss": loss.detach()}

    def number_loss(self, data):
        loss = self.number.number * data["y"].mean()
        return loss, {"number": self.number.number.detach().clone()}

    def value_of(self, hidden):
        return self.model.value(hidden).squeeze(1) * self.model.bias

    def learn(self, data, parts=None):
        logs = self.take(self.policy_loss, data, self.optimizer, 0.5, parts)
        norm = logs.pop("grad_norm")
        logs |= self.take(self.value_loss, data, self.optimizer, None, parts)
        logs |= self.take(
            self.critic_loss, data, self.critic_optimizer, float("inf"), parts
        )
        logs |= self.take(self.number_loss, data, self.number_optimizer, 0.1, parts)
        return {**logs, "policy_norm": norm}

    def take(self, loss, data, optimizer, max_grad_norm, parts):
        return self.minimize(loss, data, optimizer, max_grad_norm, parts)

    def predict(self, obs):
        return self.model.hidden(obs)


class Missing(Two):
    """Its second loss depends on nothing of the first group but the layer."""

    def value_loss(self, data):
        value = self.value_of(self.model.hidden(data["x"]))
        loss = (value - 3 * data["y"]).square().mean()
        return loss, {"value_loss": loss.detach(), "constant": 7.0}


def batches(count=6):
    """A few batches `[10]`."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        x = torch.randn(sum(SIZES), 3, generator=generator)
        y = torch.randn(sum(SIZES), generator=generator)
        yield TensorDict({"x": x, "y": y}, [sum(SIZES)])


def curve(algorithm, own=lambda data: data, parts=None):
    """What is logged of some steps; the rates fall on the way."""
    found = []
    for number, data in enumerate(batches()):
        algorithm.anneal(number / 10)
        logs = algorithm.learn(own(data), parts)
        found.append({name: float(x) for name, x in logs.items()})
    return found


class Adapted(Algorithm):
    """A tiny VLA, of which adapters and value head are trained."""

    def __init__(self):
        config = VLAConfig(chunk_length=2, action_bins=16, lora_rank=3)
        model = load_vla_model(config, OBSERVED, CHUNKS, seed=1)
        super().__init__(model, Config(device="cpu"))
        groups = [
            {"params": params, "lr": rate}
            for params, rate in zip(groups_of(model), (0.01, 0.02, 0.03), strict=True)
            if params
        ]
        self.optimizer = torch.optim.AdamW(groups, fused=True)

    def predict(self, obs):
        return self.model.predict(obs)

    def learn(self, data):
        return self.minimize(self.loss, data)

    def loss(self, data):
        output = self.model.evaluate(data["obs"], data["action"])
        loss = output.value.square().mean() - output.log_prob.mean()
        return loss, {"loss": loss.detach()}


def groups_of(model):
    """Policy, adapters and value head."""
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    adapters = [p for n, p in named if "lora_" in n]
    value = [p for n, p in named if n.startswith("value")]
    known = {id(p) for p in (*adapters, *value)}
    return [p for _, p in named if id(p) not in known], adapters, value


def adapted_curve(algorithm, own=lambda data: data):
    action = torch.tensor([[[0.5, 1.0], [-0.5, 3.0]]]).expand(sum(SIZES), 2, 2)
    data = TensorDict({"obs": seen(sum(SIZES)), "action": action}, [sum(SIZES)])
    step = algorithm.minimize
    return [float(step(algorithm.loss, own(data), None, 1.0)["loss"]) for _ in range(3)]
