"""PPO's mathematics with exact numbers, its schedule, and that it learns."""

from functools import partial
from itertools import islice
from types import SimpleNamespace

import factories
import numpy as np
import pytest
import torch
from factories import train_logs
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from rollouts import rollout_of
from tensordict import TensorDict
from worlds import Counter

from yieldrl.algorithms import a2c, ppo, ppo_lstm
from yieldrl.algorithms.rollouts import adapt_learning_rate
from yieldrl.functional import gae

VECTOR = Box(-1, 1, (3,), np.float32)
SMALL = {"num_envs": 2, "num_steps": 16, "num_epochs": 2, "num_minibatches": 2}


options = {"normalize_reward": False}
algorithm_of = partial(factories.algorithm_of, ppo, VECTOR, Discrete(3), **options)


def acted(algorithm, rollout):
    """The rollout, whose actions the weights of now chose."""
    algorithm.counters.acted_version = algorithm.counters.policy_version
    return rollout


class TestObjective:
    def test_equation_seven_by_hand(self):
        algorithm = algorithm_of(normalize_advantage=False, clip_coef=0.2)
        ratio = torch.tensor([1.5, 0.5, 1.5, 0.5, 1.1], requires_grad=True)
        advantage = torch.tensor([1.0, 1.0, -1.0, -1.0, 2.0])
        # min(r A, clip(r) A) = 1.2, 0.5, -1.5, -0.8, 2.2
        surrogate = algorithm.surrogate(ratio, advantage)
        assert surrogate.tolist() == pytest.approx([1.2, 0.5, -1.5, -0.8, 2.2])
        (gradient,) = torch.autograd.grad(surrogate.sum(), ratio)
        assert gradient.tolist() == [0, 1, -1, 0, 2], "none beyond the clip"

    def test_value_clipping_by_hand(self):
        algorithm = algorithm_of(clip_value=0.5)
        data = TensorDict({"value": torch.zeros(2), "returns": torch.ones(2)}, [2])
        # Values 2 and 0.25: errors 1 and .5625; clipped to .5 and .25: .25, .5625.
        loss = algorithm.value_loss(torch.tensor([2.0, 0.25]), data)
        assert loss.item() == pytest.approx(0.5 * (1 + 0.5625) / 2)

    def test_the_parts_of_the_loss(self):
        algorithm = algorithm_of(entropy_coef=0.1, value_coef=0.7)
        data = algorithm.prepare(acted(algorithm, rollout_of(envs=2))).flatten(0, 1)
        loss, logs = algorithm.loss(data)
        parts = logs["policy_loss"] + 0.7 * logs["value_loss"] - 0.1 * logs["entropy"]
        assert loss.item() == pytest.approx(parts.item(), rel=1e-6)
        assert logs["approx_kl"].item() == pytest.approx(0, abs=1e-6)
        assert logs["clip_fraction"].item() == 0
        assert logs["entropy"].item() == pytest.approx(np.log(3), rel=1e-2)


class TestPrepare:
    def test_advantages_use_the_value_of_the_last_observation(self):
        algorithm = algorithm_of(gamma=0.9, gae_lambda=0.8)
        rollout = rollout_of(envs=2)
        rollout["truncated"][2, 0] = rollout["terminated"][3, 1] = True
        rollout["next_obs"][2, 0] = torch.tensor([5.0, -5.0, 5.0])
        with torch.no_grad():
            value = algorithm.model.value(rollout["obs"].flatten(0, 1)).view(6, 2)
            every = algorithm.model.value(rollout["next_obs"].flatten(0, 1)).view(6, 2)
        ends = rollout["terminated"], rollout["truncated"]
        expected = gae(rollout["reward"], value, every, *ends, 0.9, 0.8)
        prepared = algorithm.prepare(acted(algorithm, rollout.clone()))
        torch.testing.assert_close(prepared["advantage"], expected)
        torch.testing.assert_close(prepared["returns"], expected + value)

    def test_log_prob_is_that_of_the_acting_policy(self):
        """The normalizer moves only after it, so the ratio accounts for the move."""
        algorithm = algorithm_of(normalize_observation=True)
        rollout = rollout_of(envs=2)
        flat = rollout["obs"].flatten(0, 1), rollout["action"].flatten()
        before, _, value = algorithm.model.evaluate_actions(*flat)
        prepared = algorithm.prepare(acted(algorithm, rollout.clone()))
        torch.testing.assert_close(prepared["log_prob"].flatten(), before)
        torch.testing.assert_close(prepared["value"].flatten(), value)
        algorithm.update_normalization(rollout)
        after = algorithm.model.evaluate_actions(*flat)[0]
        assert not torch.allclose(after, before)

    def test_scaled_rewards_reach_only_the_advantages(self):
        rollout = rollout_of(envs=2)
        rollout["reward"] *= 1000
        algorithm = algorithm_of(normalize_reward=True, num_envs=2)
        prepared = algorithm.prepare(acted(algorithm, rollout))
        assert rollout["reward"].abs().max() > 100
        assert prepared["advantage"].abs().max() < 20

    def test_what_acting_computed_is_kept(self):
        rollout = rollout_of(envs=2)
        rollout["log_prob"] = torch.full((6, 2), -7.0)
        rollout["value"] = torch.full((6, 2), 3.0)
        prepared = algorithm_of().prepare(rollout)
        assert prepared["log_prob"].eq(-7).all()
        assert prepared["value"].eq(3).all()

    def test_a_rollout_in_chunks_is_the_rollout(self, monkeypatch):
        def prepared():
            algorithm = algorithm_of()
            return algorithm.prepare(acted(algorithm, rollout_of(envs=2)))

        whole = prepared()
        monkeypatch.setattr("yieldrl.algorithms.rollouts.CHUNK", 5)
        parts = prepared()
        torch.testing.assert_close(whole["advantage"], parts["advantage"])


class TestSchedule:
    def test_a_far_move_ends_the_passes(self):
        config = ppo.Config(**SMALL, target_kl=1e-9, total_steps=64, eval_every=0)
        logs = train_logs(ppo.Trainer(config))
        # The first minibatch of a rollout has moved nowhere yet, the second ends it.
        assert len(logs) == 4

    def test_the_step_size_falls_linearly(self):
        config = ppo.Config(
            **SMALL, total_steps=96, eval_every=0, learning_rate=0.3, max_grad_norm=1e-9
        )
        trainer = ppo.Trainer(config)
        rates = [
            trainer.algorithm.optimizer.param_groups[0]["lr"]
            for log in trainer()
            if log["log_type"] == "train"
        ]
        assert rates[::4] == pytest.approx([0.3, 0.2, 0.1])

    def test_the_order_of_minibatches_follows_from_the_learning_step(self):
        algorithm, orders = algorithm_of(num_minibatches=2), []
        for algorithm.counters.learn_step in (0, 8, 0):
            passes, _ = algorithm.begin(acted(algorithm, rollout_of(envs=2)))
            orders.append(passes.minibatch()["obs"])
        assert torch.equal(orders[0], orders[2])
        assert not torch.equal(orders[0], orders[1])


class Spaces(Counter):
    """A Counter with the spaces of your choice."""

    def __init__(self, observation_space, action_space):
        super().__init__(length=4)
        self.observation_space = observation_space
        self.action_space = action_space

    def step(self, action):
        assert self.action_space.contains(action)
        return super().step(0)

    def _obs(self):
        return self.observation_space.sample()


IMAGE = Box(0, 255, (10, 10, 3), np.uint8)
NESTED = Dict({"camera": IMAGE, "joints": Dict({"angle": VECTOR, "mode": Discrete(3)})})


class TestSpaces:
    @pytest.mark.parametrize(
        ("observation", "action", "normalize"),
        [
            (NESTED, Box(-1, 1, (2, 2), np.float32), True),
            (Discrete(5), MultiBinary(3), False),
        ],
    )
    def test_they_train_and_resume(self, observation, action, normalize, tmp_path):
        options = {"total_steps": 64, "eval_every": 0, "hidden_sizes": (8,)}
        options |= {"normalize_observation": normalize, "normalize_reward": normalize}
        envs = partial(Spaces, observation, action)
        trainer = ppo.Trainer(ppo.Config(**SMALL, **options), envs=envs)
        before = [p.clone() for p in trainer.model.parameters()]
        for log in trainer():
            assert all(np.isfinite(float(v)) for v in log["logs"].values())
        after = list(trainer.model.parameters())
        assert all(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
        assert trainer.evaluate(2)["logs"]["episode_return"] == 10.0
        resumed = ppo.Trainer.load(trainer.save(tmp_path / "run.pt"), envs=envs)
        assert resumed.agent.learn_step == trainer.agent.learn_step

    def test_through_a_cnn_they_are_looked_at_once(self, monkeypatch):
        """Acting keeps what looking back would say, and nobody looks back; beside a
        collector the critic of now says the values."""
        envs = partial(Spaces, IMAGE, Discrete(2))
        made = partial(ppo.Trainer, ppo.Config(**SMALL), envs=envs)
        with made() as trainer:
            run = trainer()
            while not trainer.buffer.full:
                next(run)
            rollout, algorithm = trainer.buffer.rollout(), trainer.algorithm
            assert rollout["obs"].dtype == torch.uint8
            looked = rollout.clone().exclude("log_prob", "value")
            algorithm.prepare(looked)
            monkeypatch.setattr(algorithm, "evaluated", None)
            algorithm.prepare(rollout)
        for name in ("log_prob", "value", "advantage", "returns"):
            torch.testing.assert_close(rollout[name], looked[name])
        with made() as trainer:
            trainer.agent.records_log_prob = True
            next(iter(trainer()))
            assert "value" not in set(trainer.buffer.rollout().keys())


class Choice(Counter):
    """Reward 1 for action 1, nothing for action 0."""

    def step(self, action):
        obs, _, *rest = super().step(action)
        return obs, float(action), *rest


def test_it_learns_a_choice():
    small = {"num_envs": 2, "num_steps": 32, "total_steps": 1024, "eval_every": 0}
    config = ppo.Config(**small, learning_rate=0.02, hidden_sizes=(8,))
    trainer = ppo.Trainer(config, envs=lambda: Choice(4))
    *_, log = trainer()
    assert trainer.evaluate(2)["logs"]["episode_return"] == 4.0
    assert log["logs"]["entropy"] < 0.5


class TestAbandonedEpisodes:
    """Rewards count from 1 in every episode, so returns say where one began."""

    RETURNS = np.array([2 * (k - 1) + 0.5 ** (k - 1) for k in range(1, 10)])

    def trainer(self):
        """Of three rollouts."""
        options = {"num_envs": 1, "num_steps": 3, "num_minibatches": 1, "num_epochs": 2}
        options |= {"gamma": 0.5, "total_steps": 9, "eval_every": 0, "device": "cpu"}
        return ppo.Trainer(ppo.Config(**options), envs=lambda: Counter(1000))

    def check(self, trainer, steps):
        """The reward scaler followed an episode of so many steps, and another."""
        moments = trainer.algorithm.reward_scaler.moments
        returns = np.concatenate([self.RETURNS[:steps], self.RETURNS[: 9 - steps]])
        assert trainer.agent.sample_step == moments.count == 9
        assert moments.mean.item() == pytest.approx(returns.mean())
        assert moments.var.item() == pytest.approx(returns.var())

    @pytest.mark.parametrize("steps", [1, 5])
    def test_after_a_step_that_failed(self, steps):
        trainer = self.trainer()
        env = trainer.envs.envs[0].unwrapped
        factories.fails_once(env, "step", steps + 1, ConnectionError)
        with pytest.raises(ConnectionError):
            list(trainer())
        list(trainer())
        self.check(trainer, steps)

    @pytest.mark.parametrize("logs", [2, 5])
    def test_after_a_resume(self, logs):
        """Wherever it was saved: while collecting, and between minibatches."""
        first, trainer = self.trainer(), self.trainer()
        list(islice(first(), logs))
        trainer.load_state_dict(first.state_dict())
        list(trainer())
        self.check(trainer, first.agent.sample_step)


@pytest.mark.parametrize(("module", "num_steps"), [(a2c, 1), (ppo, 2), (ppo_lstm, 1)])
def test_rollouts_may_hold_few_steps_that_are_none_or_resets_alone(module, num_steps):
    """NEXT_STEP environments: every third step of both only resets."""
    options = {} if module is a2c else {"num_minibatches": 2}
    options |= {"num_steps": num_steps, "normalize_advantage": num_steps > 1}
    config = module.Config(hidden_sizes=(4,), total_steps=24, eval_every=0, **options)
    mode = AutoresetMode.NEXT_STEP
    envs = SyncVectorEnv([lambda: Counter(2)] * 2, autoreset_mode=mode)
    trainer = module.Trainer(config, envs=envs)
    logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
    assert trainer.agent.sample_step == 24
    assert all(np.isfinite(float(x)) for log in logs for x in log.values())
    assert all(p.isfinite().all() for p in trainer.model.parameters())


def test_advantages_count_how_long_a_transition_lasted():
    """Two decisions of 2 and 3 steps at gamma 0.5: `discount` 1/4 and 1/8."""
    algorithm = algorithm_of(
        num_envs=1, num_steps=2, num_minibatches=1, gamma=0.5, gae_lambda=1.0
    )
    no = torch.zeros(2, 1, dtype=torch.bool)
    rollout = TensorDict(
        {
            "value": torch.tensor([[1.0], [2.0]]),
            "reward": torch.tensor([[3.0], [5.0]]),
            "discount": torch.tensor([[1 / 4], [1 / 8]]),
            "terminated": no,
            "truncated": no,
            "next_obs": torch.zeros(2, 1, 3),
        },
        [2, 1],
    )
    last = algorithm.model.get_value(torch.zeros(1, 3)).item()
    second = 5 + last / 8 - 2
    first = 3 + 2 / 4 - 1 + second / 4
    advantage = algorithm.advantages(rollout)
    assert advantage.flatten().tolist() == pytest.approx([first, second])


def test_acting_rounds_as_learning_does():
    """A ratio begins at 1: the policy that acted is the one that is looked at later."""
    own = {"precision": "bfloat16", "num_envs": 4, "num_steps": 8, "eval_every": 0}
    with ppo.Trainer(ppo.Config(**own, seed=2)) as trainer:
        trainer.agent.records_log_prob = True
        obs = torch.randn(64, 4)
        action, extras = trainer.agent.explore(obs)
        seen = {"obs": obs, "action": action}
        look = trainer.algorithm.evaluated(seen)
        exact = trainer.algorithm.evaluate(seen)
    torch.testing.assert_close(extras["log_prob"], look["log_prob"], rtol=0, atol=1e-6)
    assert (exact["log_prob"] - look["log_prob"]).abs().max() > 1e-5


FOLLOWS = {**SMALL, "anneal_learning_rate": False, "desired_kl": 2e-4}
FOLLOWS |= {"learning_rate": 5e-3, "total_steps": 64, "hidden_sizes": (8,)}


@pytest.mark.parametrize(
    ("rate", "approx_kl", "expected"),
    [
        (3e-3, 0.021, 2e-3),  # over twice as far as desired
        (3e-3, 0.02, 3e-3),
        (3e-3, 0.005, 3e-3),
        (2e-3, 0.004, 3e-3),  # less than half
        (1.2e-5, 1.0, 1e-5),  # the limits
        (9e-3, 0.0, 1e-2),
        (3e-3, -1e-8, 4.5e-3),  # zero, to rounding
        (3e-3, float("inf"), 2e-3),
        (3e-3, float("nan"), 3e-3),
    ],
)
def test_a_rate_that_follows_the_divergence_by_rsl_rls_rule(rate, approx_kl, expected):
    algorithm = SimpleNamespace(learning_rate=rate)
    adapt_learning_rate(algorithm, approx_kl, desired_kl=0.01)
    assert algorithm.learning_rate == pytest.approx(expected)


def test_the_learning_rate_follows_how_far_the_last_step_moved_the_policy():
    trainer, rate, directions = ppo.Trainer(ppo.Config(**FOLLOWS)), 5e-3, set()
    for log in train_logs(trainer):
        assert log["logs"]["learning_rate"] == rate
        kl = log["logs"]["approx_kl"]
        directions.add((kl > 4e-4) - (kl < 1e-4))
        if kl > 4e-4:
            rate = max(1e-5, rate / 1.5)
        elif kl < 1e-4:
            rate = min(1e-2, rate * 1.5)
    assert {-1, 1} <= directions
    with pytest.raises(ValueError, match=r"Config\.desired_kl = "):
        ppo.Config(**{**FOLLOWS, "anneal_learning_rate": True})
