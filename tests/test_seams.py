"""Parts of one's own, written against the seams alone: short, and nothing patched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from tensordict import TensorDict
from torch import Tensor, nn
from worlds import Counter

from yieldrl.abstractions import Policy
from yieldrl.algorithms import a2c, ppo, ppo_lstm, reinforce
from yieldrl.collectors import Collector
from yieldrl.collectors.stepping import Stepper
from yieldrl.foundations import derive_seed
from yieldrl.runtime import GradientStep

SMALL = {
    "num_envs": 2,
    "num_steps": 8,
    "num_minibatches": 2,
    "num_epochs": 2,
    "hidden_sizes": (8,),
    "total_steps": 32,
    "eval_every": 0,
    "device": "cpu",
}


def trained(trainer: Any) -> list[dict[str, Any]]:
    """Train; what the gradient steps logged."""
    return [log["logs"] for log in trainer() if log["log_type"] == "train"]


class Actor(Policy):
    """A policy without a critic."""

    has_critic = False

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        super().__init__(observation_space, action_space)
        size = observation_space.shape[0], int(action_space.n)
        self.logits = nn.Linear(*size)

    def forward(
        self, obs: Any, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, None]:
        logits = self.logits(obs)
        random = torch.distributions.Categorical(logits=logits).sample()
        action = logits.argmax(-1) if deterministic else random
        return action, self.evaluate_actions(obs, action)[0], None

    def evaluate_actions(self, obs: Any, action: Tensor) -> tuple[Tensor, Tensor, None]:
        policy = torch.distributions.Categorical(logits=self.logits(obs))
        return policy.log_prob(action), policy.entropy(), None


class GroupRelative(ppo.Algorithm):
    """Shao et al. 2024, "DeepSeekMath", arXiv:2402.03300: groups in place of a critic.

    All environments of the rollout are the group.
    """

    def advantages(self, rollout: TensorDict) -> Tensor:
        total = rollout["reward"].sum(0)
        relative = (total - total.mean()) / (total.std() + 1e-8)
        return relative.expand(rollout.batch_size).clone()


class TestWithoutACritic:
    def trainer(self, algorithm_class: Any, **options: Any) -> ppo.Trainer:
        config = ppo.Config(**{**SMALL, **options})
        model = Actor(Box(-9, 9, (4,)), Discrete(2))
        return ppo.Trainer(config, algorithm=algorithm_class(model, config))

    @pytest.mark.parametrize("algorithm_class", [ppo.Algorithm, GroupRelative])
    def test_it_is_trained(self, algorithm_class: Any) -> None:
        trainer = self.trainer(algorithm_class)
        before = [p.detach().clone() for p in trainer.model.parameters()]
        logs = trained(trainer)
        assert len(logs) == 8
        assert all(np.isfinite(float(x)) for log in logs for x in log.values())
        assert not any("value" in name or "variance" in name for name in logs[0])
        assert not any(map(torch.equal, before, trainer.model.parameters()))
        assert trainer.evaluate(1)["logs"]["episodes"] == 1

    def test_its_advantages_are_the_returns_themselves(self) -> None:
        trainer = self.trainer(
            ppo.Algorithm, gamma=1.0, gae_lambda=1.0, normalize_reward=False
        )
        while not trainer.learning_due:
            trainer.collector.step()
        rollout = trainer.buffer.rollout()
        rollout["terminated"][:], rollout["truncated"][:] = False, False
        prepared = trainer.algorithm.prepare(rollout)
        ahead = torch.arange(8.0, 0, -1).unsqueeze(1).expand(8, 2)
        torch.testing.assert_close(prepared["advantage"], ahead)


class TestPolicy:
    METHODS = frozenset({"forward", "evaluate_actions", "get_value"})

    def test_one_that_misses_a_method_is_refused_when_made(self) -> None:
        for missing in self.METHODS:
            methods = dict.fromkeys(self.METHODS - {missing}, lambda self: None)
            with pytest.raises(TypeError, match=missing):
                type("Half", (Policy,), methods)(Box(-1, 1, (2,)), Discrete(2))

    def test_one_without_a_critic_says_so(self) -> None:
        spaces = Box(-9, 9, (4,)), Discrete(2)
        assert not Actor(*spaces).has_critic
        assert ppo.Model(*spaces, ppo.Config()).has_critic
        with pytest.raises(NotImplementedError, match="Actor has no critic"):
            Actor(*spaces).get_value(torch.zeros(1, 4))


class Recording(Collector):
    """A collector of one's own: it keeps every reward that it saw."""

    def __init__(self, trainer: Any) -> None:
        self.trainer, self.stepper = trainer, Stepper(trainer.envs)
        self.obs: Any = None
        self.rewards: list[Any] = []

    def step(self) -> dict[str, Any]:
        if self.obs is None:
            self.reset(derive_seed(self.trainer.config.seed, "envs"))
        action, extras = self.trainer.agent.sample(self.obs)
        step = self.stepper.step(action)
        transition = {"obs": self.obs, "action": action, **extras}
        for name in ("next_obs", "reward", "terminated", "truncated"):
            transition[name] = getattr(step, name)
        self.trainer.buffer.add(transition)
        self.trainer.agent.count_steps(len(action))
        self.rewards.append(step.reward.copy())
        self.obs = step.obs
        return {}

    def reset(self, seed: int | None) -> None:
        self.obs = self.stepper.reset(seed)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None:
        self.obs = None
        self.trainer.buffer.end_episodes()


class WithRecording(ppo.Trainer):
    def make_collector(self) -> Collector:
        return Recording(self)


class TestCollector:
    def test_one_of_ones_own_collects_the_same(self) -> None:
        own, usual = (
            kind(ppo.Config(**SMALL)) for kind in (WithRecording, ppo.Trainer)
        )
        pairs = list(zip(trained(own), trained(usual), strict=True))
        assert [float(a["loss"]) for a, _ in pairs] == [
            float(b["loss"]) for _, b in pairs
        ]
        assert isinstance(own.collector, Recording)
        assert len(own.collector.rewards) == 16

    def test_it_is_saved_and_loaded_with_the_trainer(self) -> None:
        first, second = (WithRecording(ppo.Config(**SMALL)) for _ in range(2))
        loop = first()
        for _ in range(5):
            next(loop)
        second.load_state_dict(first.state_dict())
        assert second.buffer.rollout()["truncated"][-1].all()
        assert len(trained(second)) == 8


class InParts(GradientStep):
    """Gradients of a batch, accumulated over parts of it."""

    def gradients(self, data: Any, trained: Any) -> dict[str, Any]:
        for part in data.split(2):
            loss, logs = self.loss(part)
            (loss * len(part) / len(data)).backward(inputs=trained)
        return logs


class Accumulating(ppo.Algorithm):
    def gradient_step(
        self, loss: Any, optimizer: Any, max_grad_norm: float | None = None
    ) -> GradientStep:
        return InParts(loss, optimizer, max_grad_norm)


def test_accumulated_gradients_are_those_of_the_whole_batch() -> None:
    # What a part would be normalized by is not what the whole would be.
    options = {**SMALL, "normalize_advantage": False}
    config = ppo.Config(**options)
    usual, own = ppo.Trainer(config), ppo.Trainer(config)
    algorithm = Accumulating(own.model, config)
    own = ppo.Trainer(config, algorithm=algorithm)
    assert len(trained(own)) == len(trained(usual)) == 8
    pairs = zip(own.model.parameters(), usual.model.parameters(), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


class Asymmetric(ppo.Model):
    """The actor sees `seen`, the critic `hidden` besides."""

    def __init__(self, observation_space: Any, action_space: Any, config: Any) -> None:
        seen = observation_space["seen"]
        super().__init__(seen, action_space, config)
        self.observation_space = observation_space
        self.critic = nn.Linear(seen.shape[0] + 1, 1)

    def features(self, obs: Any) -> Tensor:
        return super().features(obs["seen"])

    def critic_features(self, obs: Any, features: Tensor) -> Tensor:
        return torch.cat([features, obs["hidden"]], dim=1)


class Hidden(Counter):
    """The reward is what only the critic sees."""

    def __init__(self) -> None:
        super().__init__(4)
        box = Box(-99, 99, (1,))
        self.observation_space = Dict(seen=box, hidden=box)

    def _obs(self) -> Any:
        hidden = self.np_random.normal(size=1).astype(np.float32)
        self.reward = float(hidden[0])
        return {"seen": np.zeros(1, np.float32), "hidden": hidden}

    def step(self, action: int) -> Any:
        reward = self.reward
        obs, _, *rest = super().step(action)
        return (obs, reward, *rest)


def test_a_critic_may_see_more_than_the_actor() -> None:
    options = {"total_steps": 512, "learning_rate": 0.03, "gamma": 0.0}
    options |= {"num_epochs": 8, "normalize_reward": False, "max_grad_norm": 10.0}
    config = ppo.Config(**{**SMALL, **options})
    trainer = ppo.Trainer(
        config,
        envs=Hidden,
        model=Asymmetric(Hidden().observation_space, Discrete(2), config),
    )
    logs = [log for log in trained(trainer) if "explained_variance" in log]
    assert logs[-1]["explained_variance"] > 0.9
    one, other = (
        {"seen": torch.zeros(1, 1), "hidden": h} for h in torch.eye(2)[:, :1, None]
    )
    assert torch.equal(trainer.model.action(one), trainer.model.action(other))
    assert not torch.equal(trainer.model.get_value(one), trainer.model.get_value(other))


class TestRecordedPolicy:
    """The `log_prob` of a transition is that of the weights that acted."""

    @pytest.mark.parametrize("module", [ppo, ppo_lstm])
    def test_recording_and_recomputing_give_the_same_losses(self, module: Any) -> None:
        runs = []
        for records in (False, True):
            trainer = module.Trainer(module.Config(**SMALL))
            trainer.agent.records_log_prob = records
            runs.append([float(log["loss"]) for log in trained(trainer)])
        assert len(runs[0]) > 1
        np.testing.assert_allclose(*runs, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("module", [ppo, ppo_lstm])
    def test_weights_that_changed_in_between_are_noticed(self, module: Any) -> None:
        other, trainer = (module.Trainer(module.Config(**SMALL)) for _ in range(2))
        next(log for log in other() if log["log_type"] == "train")
        for _ in range(4):
            trainer.collector.step()
        # As a learner beside the collector would.
        trainer.agent.learn(other.buffer.passes.minibatch())
        for _ in range(4):
            trainer.collector.step()
        with pytest.raises(RuntimeError, match="records_log_prob = True"):
            trained(trainer)

    def test_what_was_recorded_stays_right(self) -> None:
        trainer = ppo.Trainer(ppo.Config(**SMALL))
        trainer.agent.records_log_prob = True
        for half in range(2):
            for _ in range(4):
                trainer.collector.step()
            if half == 0:
                rollout = trainer.buffer.rollout()
                acted = trainer.model.evaluate_actions(
                    rollout["obs"].flatten(0, 1), rollout["action"].flatten(0, 1)
                )[0].detach()
                with torch.no_grad():
                    for parameter in trainer.model.parameters():
                        parameter.add_(0.1)
                trainer.agent.policy_version += 1
        prepared = trainer.algorithm.prepare(trainer.buffer.rollout())
        torch.testing.assert_close(prepared["log_prob"][:4].flatten(), acted)
        assert (
            trainer.buffer.rollout()["policy_version"][:, 0].tolist()
            == [0] * 4 + [1] * 4
        )


class TestLogs:
    """What every gradient step says, whatever the algorithm."""

    @pytest.mark.parametrize(
        ("module", "env_id"),
        [(ppo, "Pendulum-v1"), (a2c, "CartPole-v1"), (reinforce, "Pendulum-v1")],
    )
    def test_of_policy_gradients(self, module: Any, env_id: str) -> None:
        config = module.Config(
            env_id=env_id, total_steps=8000, num_envs=4, eval_every=0
        )
        logs = next(
            x["logs"] for x in module.Trainer(config)() if x["log_type"] == "train"
        )
        assert logs["learning_rate"] == pytest.approx(config.learning_rate)
        assert ("policy_std" in logs) == (env_id == "Pendulum-v1")
        assert ("explained_variance" in logs) == (module is not reinforce)
        if env_id == "Pendulum-v1":
            assert float(logs["policy_std"]) == pytest.approx(1.0)
