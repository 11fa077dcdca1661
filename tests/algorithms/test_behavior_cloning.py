"""Behaviour cloning: whom it learns from, what it learns, and that it needs to."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gymnasium as gym
import h5py
import minari
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from tensordict import TensorDict
from torch import Tensor, nn
from worlds import Counter, Follow

from yieldrl.abstractions import Policy
from yieldrl.algorithms import behavior_cloning, dqn, ppo, ppo_lstm
from yieldrl.cli import main
from yieldrl.collectors import AsyncCollector
from yieldrl.collectors.expert import random_actions
from yieldrl.envs import SerialVectorEnv
from yieldrl.envs.wrappers import ActionChunks, EpisodeStatistics
from yieldrl.foundations import CheckpointError
from yieldrl.loggers import latest_checkpoint

VECTOR = Box(-1, 1, (3,), np.float32)
SMALL = {
    "num_envs": 2,
    "demonstration_steps": 40,
    "num_epochs": 2,
    "batch_size": 8,
    "hidden_sizes": (8,),
    "eval_every": 0,
    "device": "cpu",
}


def config_of(**options: Any) -> behavior_cloning.Config:
    return behavior_cloning.Config(**{**SMALL, **options})


def plain(log: Any) -> dict[str, Any]:
    return {**log, "logs": {k: float(v) for k, v in log["logs"].items()}}


def trained(trainer: Any) -> list[dict[str, Any]]:
    """Train; what the gradient steps logged."""
    return [plain(log)["logs"] for log in trainer() if log["log_type"] == "train"]


def seven(envs: Any, obs: Any) -> Any:
    return np.zeros(7, np.int64)


def balance(envs: Any, obs: Any) -> Any:
    """A linear rule of four numbers that balances CartPole's pole for ever."""
    return (obs @ np.array([0.1, 0.2, 2.0, 1.0]) > 0).astype(np.int64)


def copy_number(envs: Any, obs: Any) -> Any:
    """What `Follow` asks for."""
    return obs


def alternate(envs: Any, obs: Any) -> Any:
    """The step's number, modulo 2: of Counter's observations."""
    return obs[:, 1].astype(np.int64) % 2


HERE = __name__


class Parts(Policy):
    """Says the log-probability of every part of a chunk `[B, L, D]` apart."""

    def __init__(self, length: int, size: int) -> None:
        super().__init__(VECTOR, Box(-9, 9, (length, size), np.float32))
        self.shape = length, size
        self.mean = nn.Parameter(torch.zeros(self.shape))

    def forward(self, obs: Any, deterministic: bool = False) -> Any:
        action = self.mean.expand(len(obs), *self.shape)
        return action, *self.evaluate_actions(obs, action)[::2]

    def evaluate_actions(self, obs: Any, action: Tensor) -> Any:
        log_prob = -(action - self.mean).square()
        return log_prob, torch.zeros(len(obs)), self.get_value(obs)

    def get_value(self, obs: Any) -> Tensor:
        return torch.zeros(len(obs))


class TestLoss:
    def algorithm(self, action_space: Any = None, **options: Any) -> Any:
        config = config_of(**options)
        space = Discrete(3) if action_space is None else action_space
        torch.manual_seed(0)
        model = behavior_cloning.Model(VECTOR, space, config)  # type: ignore[arg-type]
        return behavior_cloning.Algorithm(model, config)

    def batch(self, **entries: Tensor) -> TensorDict:
        generator = torch.Generator().manual_seed(1)
        obs = torch.randn(4, 3, generator=generator)
        action = torch.tensor([0, 2, 1, 2])
        returns = torch.tensor([1.0, 2.0, 3.0, 4.0])
        batch = {"obs": obs, "action": action, "returns": returns, **entries}
        return TensorDict(batch, [4])

    def test_by_hand(self) -> None:
        """`-log softmax(logits)[a]`, and half the squared error times its weight."""
        algorithm, data = self.algorithm(value_coef=0.25), self.batch()
        log_p = algorithm.model.action(data["obs"]).log_softmax(1)
        likelihood = log_p[range(4), data["action"]].mean()
        error = (algorithm.model.get_value(data["obs"]) - data["returns"]).square()
        loss, logs = algorithm.loss(data)
        torch.testing.assert_close(loss, -likelihood + 0.25 * 0.5 * error.mean())
        torch.testing.assert_close(logs["log_likelihood"], likelihood.detach())
        assert not any(value.requires_grad for value in logs.values())

    def test_returns_of_episodes_that_were_cut_are_bootstrapped(self) -> None:
        algorithm = self.algorithm()
        after = torch.randn(4, 3)
        discount = torch.tensor([0.0, 0.5, 0.25, 0.0])
        data = self.batch(next_obs=after, discount=discount)
        with torch.no_grad():
            expected = data["returns"] + discount * algorithm.model.get_value(after)
        assert torch.equal(algorithm.value_target(data), expected)
        assert torch.equal(algorithm.value_target(self.batch()), data["returns"])

    def test_a_rollout_is_learned_from_as_a_whole(self) -> None:
        trainer = behavior_cloning.Trainer(config_of())
        rollout = trainer.collector.collect(5)
        before = [p.clone() for p in trainer.model.parameters()]
        logs = trainer.algorithm.update(rollout)
        assert math.isfinite(logs["value_loss"])
        assert not any(map(torch.equal, before, trainer.model.parameters()))
        assert len(trainer.buffer) == 0

    def test_without_weight_the_critic_is_left_alone(self) -> None:
        algorithm = self.algorithm(value_coef=0.0)
        before = [p.clone() for p in algorithm.model.critic.parameters()]
        logs = algorithm.train_step(self.batch())
        assert "value_loss" not in logs
        after = list(algorithm.model.critic.parameters())
        assert all(map(torch.equal, before, after))

    def test_actions_that_do_not_exist_do_not_count(self) -> None:
        algorithm = self.algorithm()
        log_prob = torch.arange(12.0).view(2, 3, 2)
        chunks = {"action": torch.zeros(2, 3, 2), "num_steps": torch.tensor([3, 1])}
        data = TensorDict(chunks, [2])
        # (0 + 1) + (2 + 3) + (4 + 5) of one, 6 + 7 of the other: four actions.
        assert algorithm.log_likelihood(log_prob, data).item() == (15 + 13) / 4
        assert algorithm.log_likelihood(log_prob.sum(2), data).item() == 28 / 4
        endless = log_prob.clone()
        endless[1, 1:] = -math.inf
        assert algorithm.log_likelihood(endless, data).item() == 28 / 4

    def test_a_whole_chunk_counts_as_its_actions(self) -> None:
        chunks = {"action": torch.zeros(2, 4), "num_steps": torch.tensor([4, 4])}
        data = TensorDict(chunks, [2])
        value = self.algorithm().log_likelihood(torch.tensor([-4.0, -8.0]), data)
        assert value.item() == -1.5

    def test_parts_without_chunks_belong_to_one_action(self) -> None:
        data = TensorDict({"action": torch.zeros(2, 3)}, [2])
        log_prob = torch.ones(2, 1, 3)
        assert self.algorithm().log_likelihood(log_prob, data).item() == 3

    def test_a_policy_without_a_critic(self) -> None:
        class Actor(Policy):
            has_critic = False

            def __init__(self) -> None:
                super().__init__(VECTOR, Discrete(3))
                self.logits = nn.Linear(3, 3)

            def forward(self, obs: Any, deterministic: bool = False) -> Any:
                action = self.logits(obs).argmax(1)
                return action, *self.evaluate_actions(obs, action)[::2]

            def evaluate_actions(self, obs: Any, action: Tensor) -> Any:
                policy = torch.distributions.Categorical(logits=self.logits(obs))
                return policy.log_prob(action), policy.entropy(), None

        algorithm = behavior_cloning.Algorithm(Actor(), config_of())
        first, *_, last = [algorithm.train_step(self.batch()) for _ in range(50)]
        assert float(last["log_likelihood"]) > float(first["log_likelihood"])
        assert "value_loss" not in last


class TestDemonstrations:
    def test_they_are_what_the_expert_did(self) -> None:
        config = config_of(env_id="CartPole-v1", demonstrations=f"{HERE}:balance")
        trainer = behavior_cloning.Trainer(config)
        trained(trainer)
        rollout = trainer.buffer.rollout()
        assert rollout.batch_size == (20, 2)
        wanted = balance(None, rollout["obs"].flatten(0, 1).numpy())
        assert np.array_equal(rollout["action"].flatten().numpy(), wanted)

    def test_the_environments_own_expert_is_the_default(self) -> None:
        trainer = behavior_cloning.Trainer(config_of(demonstration_steps=1200))
        logs = [log for log in trainer() if log["log_type"] == "collect"]
        returns = [log["logs"]["episode_return"] for log in logs if log["logs"]]
        assert returns == [500.0]

    def test_answers_of_a_wrong_shape_are_named(self) -> None:
        trainer = behavior_cloning.Trainer(config_of(demonstrations=f"{HERE}:seven"))
        with pytest.raises(ValueError, match=r"of shape \(7,\).* must be \(2,\)"):
            next(trainer())

    def test_where_there_is_none_that_is_said(self) -> None:
        with pytest.raises(ValueError, match="has no expert"):
            behavior_cloning.Trainer(config_of(env_id="CartPole-v1"))

    @pytest.mark.parametrize("env_id", ["CartPole-v1", "yieldrl/CartPole-v1"])
    def test_noise_is_executed_and_not_recorded(self, env_id: str) -> None:
        """Nine of ten steps go the wrong way half the time; what is kept is right."""
        rule = f"{HERE}:{'balance' if env_id == 'CartPole-v1' else 'balance_tensors'}"
        config = config_of(
            env_id=env_id,
            demonstrations=rule,
            demonstration_steps=400,
            expert_noise=0.9,
        )
        trainer = behavior_cloning.Trainer(config)
        trained(trainer)
        rollout = trainer.buffer.rollout()
        wanted = balance(None, rollout["obs"].flatten(0, 1).numpy())
        assert np.array_equal(rollout["action"].flatten().numpy(), wanted)
        pushed = (rollout["next_obs"] - rollout["obs"])[..., 1] > 0
        executed = (pushed.long() == rollout["action"]).float().mean()
        assert 0.45 < executed < 0.65
        again = behavior_cloning.Trainer(config)
        trained(again)
        assert torch.equal(again.buffer.rollout()["obs"], rollout["obs"])

    @pytest.mark.parametrize(
        "space",
        [
            Discrete(3, start=-1),
            MultiDiscrete([2, 3], start=[5, 1]),
            MultiBinary(2),
            Box(np.array([-1.0, 5.0]), np.array([1.0, 6.0]), dtype=np.float64),
            Box(0, 3, (1,), np.uint8),
        ],
    )
    def test_random_actions_are_all_there_are(self, space: Any) -> None:
        generator = torch.Generator().manual_seed(0)
        drawn = random_actions(space, 200, generator).numpy().astype(space.dtype)
        assert all(space.contains(action) for action in drawn)
        values = [len(np.unique(column)) for column in drawn.reshape(200, -1).T]
        kinds = {2, 3, 4, 200}
        assert set(values) <= kinds

    def test_noise_without_bounds_is_refused(self) -> None:
        class Unbounded(Follow):
            def __init__(self) -> None:
                super().__init__()
                self.action_space = Box(-np.inf, np.inf, (1,), np.float32)

        config = config_of(demonstrations=f"{HERE}:copy_number", expert_noise=0.1)
        with pytest.raises(ValueError, match=r"expert_noise = 0.1: .* no bounds"):
            behavior_cloning.Trainer(config, envs=Unbounded)

    @pytest.mark.parametrize("mode", list(gym.vector.AutoresetMode))
    def test_every_autoreset_mode(self, mode: Any) -> None:
        envs = gym.vector.SyncVectorEnv([lambda: Counter(4)] * 2, autoreset_mode=mode)
        config = config_of(demonstrations=f"{HERE}:alternate", demonstration_steps=30)
        trainer = behavior_cloning.Trainer(config, envs=envs)
        logs = trained(trainer)
        assert all(math.isfinite(x) for log in logs for x in log.values())
        starts = trainer.buffer.windows.starts()
        steps = trainer.buffer.rollout()["obs"].flatten(0, 1)[starts, 1]
        assert steps.max() == 3  # an episode's last observation is acted on by nobody

    def test_they_are_never_collected_beside(self) -> None:
        with pytest.raises(ValueError, match="cannot be collected in the background"):
            behavior_cloning.Trainer(config_of(), collector=AsyncCollector)
        with pytest.raises(TypeError, match="collection"):
            config_of(collection="async")


def balance_tensors(envs: Any, obs: Any) -> Any:
    return torch.from_numpy(balance(envs, obs.numpy()))


class Arm(gym.Env[Any, Any]):
    """Shows the proprioception of `yieldrl/LIBERO-v1` alone."""

    observation_space = Box(-np.inf, np.inf, (8,), np.float32)
    action_space = Box(-1, 1, (7,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}


class TestDataSets:
    def test_what_an_expert_did_is_saved_and_learned_from(self, tmp_path: Path) -> None:
        folder = str(tmp_path / "cart-v0")
        first = behavior_cloning.Trainer(config_of(save_demonstrations=folder))
        trained(first)
        config = config_of(demonstrations=folder, demonstration_steps=7)
        second = behavior_cloning.Trainer(config)
        log, *rest = map(plain, second())
        assert (log["log_type"], log["sample_step"]) == ("collect", 40)
        assert len(rest) == 2 * 5
        pairs = zip(first.buffer.episodes(), second.buffer.episodes(), strict=True)
        assert all(torch.equal(a["obs"], b["obs"]) for a, b in pairs)

    def test_nothing_is_overwritten(self, tmp_path: Path) -> None:
        config = config_of(save_demonstrations=str(tmp_path))
        trainer = behavior_cloning.Trainer(config)
        with pytest.raises(FileExistsError, match=r"save_demonstrations = .* already"):
            next(trainer())

    def test_on_the_command_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        words = ["train", "behavior_cloning", "--batch-size", "8", "--num-epochs", "2"]
        words += ["--hidden-sizes", "8", "--eval-every", "4", "--run-name"]
        steps = ["--demonstration-steps", "40"]
        main([*words, "first", *steps, "--save-demonstrations", "demos/cart-v0"])
        main([*words, "second", "--demonstrations", "demos/cart-v0"])
        for name in ("first", "second"):
            trainer = behavior_cloning.Trainer.load(
                latest_checkpoint(tmp_path / "runs" / name)
            )
            assert (trainer.agent.sample_step, trainer.agent.learn_step) == (40, 10)
        minari_data = minari.MinariDataset(tmp_path / "demos/cart-v0/data")
        assert minari_data.env_spec.id == "yieldrl/CartPole-v1"

    def test_a_robot_that_rests_is_not_cloned(self, tmp_path: Path) -> None:
        """Of a file of LIBERO, whose two pictures the environment does not show."""
        file, length = tmp_path / "open_it_demo.hdf5", 12
        action = np.random.default_rng(0).uniform(-1, 1, (length, 7))
        action[3:6, :6], action[:, 6] = 0, -1
        with h5py.File(file, "w") as opened:
            demo = opened.create_group("data/demo_0")
            demo["actions"] = action
            for name in ("rewards", "dones"):
                demo[name] = np.arange(length) == length - 1
            for name, size in (("ee_pos", 3), ("ee_ori", 3), ("gripper_states", 2)):
                demo[f"obs/{name}"] = np.ones((length, size))
        options = {"demonstrations": str(file), "eval_every": 0}
        for skip, steps in ((False, 12), (True, 9)):
            config = config_of(skip_no_ops=skip, **options)
            trainer = behavior_cloning.Trainer(config, envs=Arm)
            log = next(trainer())
            assert (log["sample_step"], trainer.buffer.full) == (steps, True)

    def test_what_is_not_there_is_said_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="neither a folder"):
            behavior_cloning.Trainer(config_of(demonstrations=str(tmp_path)))
        with pytest.raises(ValueError, match="no such function"):
            behavior_cloning.Trainer(config_of(demonstrations=f"{HERE}:missing"))


class TestChunks:
    def trainer(self, model: Any = None, **options: Any) -> Any:
        envs = ActionChunks(SerialVectorEnv([Counter] * 2), 2)
        config = config_of(demonstrations=f"{HERE}:alternate", **options)
        return behavior_cloning.Trainer(config, envs=envs, model=model)

    def test_the_expert_acts_step_by_step(self) -> None:
        trainer = self.trainer()
        trained(trainer)
        rollout = trainer.buffer.rollout()
        assert rollout["action"].shape == (20, 2)
        assert rollout["obs"][:4, 0, 1].tolist() == [0, 1, 2, 0]
        assert trainer.agent.sample_step == 40
        assert trainer.evaluate(2)["logs"]["episode_return"] == 6.0

    def test_a_wrapper_around_chunks_is_refused(self) -> None:
        chunks = ActionChunks(SerialVectorEnv([Counter] * 2), 2)
        config = config_of(demonstrations=f"{HERE}:alternate")
        with pytest.raises(ValueError, match="put the chunks around it"):
            behavior_cloning.Trainer(config, envs=EpisodeStatistics(chunks))

    def test_one_number_for_a_chunk_learns_from_whole_ones(self) -> None:
        trainer = self.trainer()
        trained(trainer)
        batch = trainer.buffer.windows.minibatch(0, 99, whole=trainer.whole)
        assert trainer.whole
        assert set(batch["num_steps"].tolist()) == {2}

    def test_a_number_for_each_action_learns_from_all(self) -> None:
        class Envs(Counter):
            def __init__(self) -> None:
                super().__init__(3)
                self.observation_space, self.action_space = VECTOR, Box(-9, 9, (1,))

            def _obs(self) -> np.ndarray:
                return np.full(3, self.step_number, np.float32)

            def step(self, action: Any) -> Any:
                return super().step(0)

        envs = ActionChunks(SerialVectorEnv([Envs] * 2), 2)
        config = config_of(
            demonstrations=f"{HERE}:first_number",
            num_epochs=1,
            learn_steps=400,
            batch_size=40,
            learning_rate=0.1,
        )
        trainer = behavior_cloning.Trainer(config, envs=envs, model=Parts(2, 1))
        trained(trainer)
        assert not trainer.whole
        # Steps 0, 1, 2 of an episode have the actions 0, 1, 2: first ones 0, 1, 2, and
        # second ones 1, 2 where there is one. Seven episodes, the last one cut.
        found = trainer.model.mean.flatten().tolist()
        assert found == pytest.approx([19 / 20, 19 / 13], abs=1e-3)


def first_number(envs: Any, obs: Any) -> Any:
    return obs[:, :1]


@pytest.mark.parametrize(
    "space",
    [
        Discrete(3, start=1),
        MultiDiscrete([2, 3]),
        MultiBinary(3),
        Box(-1, 1, (2,), np.float32),
    ],
)
def test_actions_of_every_kind(space: Any) -> None:
    class World(Counter):
        def __init__(self) -> None:
            super().__init__(4)
            self.action_space = space

        def step(self, action: Any) -> Any:
            assert space.contains(action)
            return super().step(0)

        def expert(self) -> Any:
            return chosen

    chosen = space.sample()
    config = config_of(num_epochs=30, learning_rate=3e-2, expert_noise=0.3)
    trainer = behavior_cloning.Trainer(config, envs=World)
    trained(trainer)
    action = trainer.agent.predict(np.array([0, 2], np.float32))
    assert np.allclose(action, chosen, atol=0.1)
    assert trainer.evaluate(2)["logs"]["episode_return"] == 10.0


class TestGoingOn:
    CONFIG = config_of(expert_noise=0.2, eval_every=3, normalize_observation=True)

    def test_breaking_out_and_resuming_change_nothing(self, tmp_path: Path) -> None:
        through = list(map(plain, behavior_cloning.Trainer(self.CONFIG)()))
        kinds = [log["log_type"] for log in through]
        assert kinds == ["collect"] * 20 + (["train"] * 3 + ["evaluate"]) * 3 + [
            "train",
            "evaluate",
        ]
        for stop in (1, 7, 20, 21, 23, 24, 30):
            trainer, pieces = behavior_cloning.Trainer(self.CONFIG), []
            for log in trainer():
                pieces.append(plain(log))
                if len(pieces) == stop:
                    break
            saved = trainer.save(tmp_path / "run.pt")
            resumed = behavior_cloning.Trainer.load(saved)
            assert pieces + list(map(plain, resumed())) == through
            assert pieces + list(map(plain, trainer())) == through

    def test_seeds_differ(self) -> None:
        losses = [
            trained(behavior_cloning.Trainer(config_of(seed=seed)))[0]["loss"]
            for seed in (1, 1, 2)
        ]
        assert losses[0] == losses[1] != losses[2]

    def test_other_demonstrations_do_not_fit(self, tmp_path: Path) -> None:
        trainer = behavior_cloning.Trainer(config_of())
        trained(trainer)
        path = trainer.save(tmp_path / "run.pt")
        with pytest.raises(CheckpointError, match="does not fit"):
            behavior_cloning.Trainer.load(path, config=config_of(num_envs=4))

    def test_ppo_goes_on_with_the_clone(self) -> None:
        trainer = behavior_cloning.Trainer(config_of())
        trained(trainer)
        config = ppo.Config(env_id=trainer.config.env_id, total_steps=512, eval_every=0)
        further = ppo.Trainer(config, model=trainer.model)
        assert len(list(further())) > 0

    def test_counts(self) -> None:
        config = config_of(learn_steps=3, demonstration_steps=41)
        *_, log = behavior_cloning.Trainer(config)()
        assert (log["sample_step"], log["learn_step"]) == (42, 3)
        assert config.total_steps == 41

    @pytest.mark.parametrize(
        ("anneal", "rates"),
        [(True, [1 / 3, 0.5, 0.5, 0.25]), (False, [1 / 3, 2 / 3, 1, 1])],
    )
    def test_the_rate_warms_up_and_falls_if_it_is_to(self, anneal, rates) -> None:
        options = {"warmup_steps": 3, "anneal_learning_rate": anneal}
        trainer = behavior_cloning.Trainer(config_of(learn_steps=4, **options))
        own, learn = [], trainer.agent.learn
        trainer.agent.learn = lambda data: (
            own.append(trainer.algorithm.learning_rate) or learn(data)
        )
        trained(trainer)
        assert own == pytest.approx([trainer.config.learning_rate * x for x in rates])

    def test_accuracy_is_looked_at_now_and_then(self) -> None:
        logs = trained(behavior_cloning.Trainer(config_of(learn_steps=21)))
        where = [i for i, log in enumerate(logs) if "accuracy" in log]
        assert where == [0, 10, 20]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"demonstrations": ""}, "demonstrations = '': say 'expert'"),
        ({"demonstration_steps": 0}, "demonstration_steps = 0"),
        ({"expert_noise": 1.1}, r"expert_noise = 1.1"),
        ({"learn_steps": 0}, "learn_steps = 0"),
        ({"save_demonstrations": ""}, "save_demonstrations = ''"),
        ({"gamma": -0.1}, "gamma = -0.1"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config_of(**wrong)


@pytest.mark.parametrize("module", [dqn, ppo_lstm])
def test_what_cannot_be_cloned_into_is_refused(module: Any) -> None:
    model = module.Model(VECTOR, Discrete(2), module.Config())
    with pytest.raises(TypeError, match="Model cannot be cloned into: take a Policy"):
        behavior_cloning.Algorithm(model, config_of())


class TestLearning:
    """A linear rule of four numbers balances the pole for all of 500 steps."""

    OPTIONS = {  # noqa: RUF012
        "expert_noise": 0.1,
        "demonstration_steps": 2_000,
        "learning_rate": 1e-2,
        "eval_every": 0,
    }

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_the_clone_balances(self, seed: int) -> None:
        config = behavior_cloning.Config(
            env_id="CartPole-v1",
            demonstrations=f"{HERE}:balance",
            seed=seed,
            **self.OPTIONS,
        )
        trainer = behavior_cloning.Trainer(config)
        before = trainer.evaluate(5)["logs"]["episode_return"]
        logs = trained(trainer)
        assert before < 300
        assert trainer.evaluate(10)["logs"]["episode_return_min"] == 500
        accuracy = [log["accuracy"] for log in logs if "accuracy" in log]
        assert accuracy[-1] > 0.95

    @pytest.mark.parametrize("shifted", [False, True])
    @pytest.mark.parametrize("seed", [1, 2])
    def test_labels_of_the_step_before_do_not_do(
        self, seed: int, shifted: bool
    ) -> None:
        """Where three times as much time passes from step to step, it matters."""

        class Shifted(behavior_cloning.Trainer):
            def _prepare(self) -> None:
                super()._prepare()
                actions = self.buffer.rollout()["action"]
                actions.copy_(actions.roll(int(shifted), 0))

        slow = {"tau": 0.06}
        config = behavior_cloning.Config(env_kwargs=slow, seed=seed, **self.OPTIONS)
        trainer = Shifted(config)
        trained(trainer)
        reached = trainer.evaluate(10)["logs"]["episode_return"]
        assert reached < 50 if shifted else reached > 400

    def test_the_critic_knows_the_returns(self) -> None:
        """1 a step for ever, discounted by 0.9: every value is 10."""
        config = behavior_cloning.Config(
            gamma=0.9, demonstration_steps=2_000, learning_rate=1e-2, eval_every=0
        )
        trainer = behavior_cloning.Trainer(config)
        trained(trainer)
        with torch.no_grad():
            obs = trainer.buffer.rollout()["obs"].flatten(0, 1)
            error = (trainer.model.get_value(obs) - 10).abs()
        assert error.mean() < 0.5
