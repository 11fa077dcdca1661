"""Rollouts `[T, N]` of random numbers, and what is asked about them."""

import torch
from factories import trainer_of
from tensordict import TensorDict

from yieldrl.abstractions import Policy
from yieldrl.algorithms import ppo


def rollout_of(steps=6, envs=4, ends=0.0, action=None):
    """Observations of three numbers, three choices, and ends with that probability."""
    rng, size = torch.Generator().manual_seed(1), (steps, envs)
    obs = torch.randn(steps + 1, envs, 3, generator=rng)
    data = {"obs": obs[:-1], "next_obs": obs[1:].clone()}
    data["reward"] = torch.randn(size, generator=rng)
    data["action"] = torch.randint(3, size, generator=rng)
    for name in ("terminated", "truncated"):
        data[name] = torch.rand(size, generator=rng) < ends
    if action is not None:
        data["action"] = action
    return TensorDict(data, size)


def gradients(algorithm, data):
    """Of the loss of minibatches `[B]`, by all parameters."""
    loss, _ = algorithm.loss(data)
    return torch.autograd.grad(loss, list(algorithm.model.parameters()))


class Keeping(ppo.Model):
    """Writes down what acting computed, as a policy of one's own does."""

    sample = Policy.sample


def learners_values(module, model, **options):
    """Train beside a lag, and see by which weights rollouts are valued."""
    options |= {"env_id": "CartPole-v1", "env_kwargs": {}, "num_steps": 8}
    options |= {"total_steps": 96, "demonstration_steps": 0}
    if module is ppo:
        del options["demonstration_steps"]
    with trainer_of(module, model=model, **options) as trainer:
        algorithm, lags = trainer.algorithm, []
        prepare = algorithm.prepare

        def prepared(rollout):
            acted, version = rollout.get("value", None), rollout["policy_version"]
            kept = None if acted is None else acted.clone()
            data = prepare(rollout)
            with torch.no_grad():
                values = trainer.model.get_value(rollout["obs"].flatten(0, 1))
            torch.testing.assert_close(data["value"].flatten(), values)
            lags.append(algorithm.counters.policy_version - int(version.min()))
            if lags[-1] > 0 and kept is not None:
                assert not torch.allclose(kept, data["value"])
            return data

        algorithm.prepare = prepared
        list(trainer())
    assert max(lags) > 0
