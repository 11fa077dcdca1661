"""The contract of the four classes, and parts of one's own in them."""

from functools import partial

import factories
import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import config_of, plain, train_logs
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Sequence
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from worlds import Counter

from yieldrl import abstractions
from yieldrl.abstractions import Policy
from yieldrl.algorithms import a2c, dqn, ppo, ppo_lstm, reinforce
from yieldrl.collectors import Collector
from yieldrl.collectors.stepping import Stepper
from yieldrl.core import derive_seed
from yieldrl.envs import SerialVectorEnv
from yieldrl.experiments import CheckpointError
from yieldrl.exports import JsonPolicy, describe
from yieldrl.networks import Categorical

trainer_of = partial(factories.trainer_of, total_steps=96)


@pytest.fixture(params=[ppo, dqn], ids=["ppo", "dqn"], scope="module")
def algorithm(request):
    return request.param


@pytest.fixture(scope="module")
def through(algorithm):
    """The logs of a run that nobody disturbs."""
    return [plain(log) for log in trainer_of(algorithm, eval_every=30)()]


class TestLoop:
    def test_every_step_yields_log_data_without_a_graph(self, algorithm):
        trainer = trainer_of(algorithm, eval_every=50, eval_episodes=2)
        logs = []
        for log in trainer():
            logs.append(log)
            assert torch.is_grad_enabled()  # the caller's
            assert not torch.is_inference_mode_enabled()
            for value in log["logs"].values():
                if isinstance(value, torch.Tensor):
                    assert not value.requires_grad
                    assert value.ndim == 0
        assert {log["log_type"] for log in logs} == {"collect", "train", "evaluate"}
        keys = set(abstractions.LogData.__annotations__)
        assert all(set(log) == keys for log in logs)
        steps = [log["sample_step"] for log in logs if log["log_type"] == "collect"]
        assert steps == list(range(2, 97, 2))
        assert logs[-1]["learn_step"] == trainer.agent.learn_step > 0

    def test_evaluations_come_when_due_and_once_at_the_end(self, algorithm):
        for every, expected in ((40, [40, 80, 96]), (48, [48, 96])):
            trainer = trainer_of(algorithm, eval_every=every, eval_episodes=2)
            steps = [x["sample_step"] for x in trainer() if x["log_type"] == "evaluate"]
            assert steps == expected

    def test_breaking_out_anywhere_changes_nothing(self, algorithm, through):
        trainer, pieces = trainer_of(algorithm, eval_every=30), []
        while len(pieces) < len(through):
            for log in trainer():
                pieces.append(plain(log))
                break
        assert pieces == through
        assert list(trainer()) == []

    def test_the_same_seed_gives_the_same_logs_whoever_looks(self, algorithm, through):
        """Evaluating, drawing random numbers and saving leave training as it was."""
        trainer, disturbed = trainer_of(algorithm, eval_every=30), []
        for log in trainer():
            disturbed.append(plain(log))
            if len(disturbed) % 20 == 0:
                trainer.evaluate(2)
                torch.rand(3)
                np.random.rand(3)
                trainer.state_dict()
        assert disturbed == through
        other = list(map(plain, trainer_of(algorithm, seed=2, eval_every=30)()))
        assert other != through

    def test_a_learning_rate_changed_in_the_loop_counts(self, algorithm):
        trainer = trainer_of(algorithm, anneal_learning_rate=True)
        rates = [log["logs"].get("learning_rate") for log in train_logs(trainer, 3)]
        assert rates[-1] == trainer.algorithm.learning_rate
        trainer.algorithm.learning_rate = 5e-4
        later = [log["logs"]["learning_rate"] for log in train_logs(trainer, 3)]
        assert set(later) == {trainer.algorithm.learning_rate} == {5e-4}
        for group in trainer.algorithm.optimizer.param_groups:
            group["lr"] = 0.0
        before = [p.clone() for p in trainer.model.parameters()]
        assert train_logs(trainer)
        after = list(trainer.model.parameters())
        assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


class TestParts:
    def test_what_makes_a_model_gets_spaces_and_config(self, algorithm):
        given = []

        def make(*args):
            given.append(args)
            return algorithm.Model(*args)

        trainer = trainer_of(algorithm, model=make)
        spaces = trainer.envs.single_observation_space, trainer.envs.single_action_space
        assert given == [(*spaces, trainer.config)]
        usual = trainer_of(algorithm).model.state_dict()
        made = trainer.model.state_dict()
        assert all(torch.equal(made[name], usual[name]) for name in usual)

    def test_algorithm_and_agent_are_used_when_passed(self, algorithm):
        made = trainer_of(algorithm)
        assert trainer_of(algorithm, model=made.model).model is made.model
        assert trainer_of(algorithm, algorithm=made.algorithm).model is made.model
        assert trainer_of(algorithm, agent=made.agent).agent is made.agent
        assert trainer_of(algorithm, buffer=made.buffer).buffer is made.buffer
        with pytest.raises(ValueError, match=r"\['model', 'agent'\]"):
            trainer_of(algorithm, model=made.model, agent=made.agent)

    def test_the_environments_say_how_many_they_are(self):
        trainer = trainer_of(ppo, envs=gym.make("CartPole-v1"))
        assert trainer.config.num_envs == 1
        assert [x["log_type"] for x in trainer()].count("collect") == 96

    def test_environments_of_ones_own(self):
        for envs in (Counter, lambda: Counter(4), Counter()):
            trainer = trainer_of(ppo, envs=envs)
            logs = list(trainer())
            returns = [x["logs"].get("episode_return") for x in logs]
            assert max(r for r in returns if r is not None) in {6.0, 10.0}
            if not isinstance(envs, gym.Env):
                assert trainer.evaluate(3)["logs"]["episodes"] == 3
        assert trainer_of(ppo, envs=Counter).config.env_id == "Counter"

    def test_without_a_second_environment_evaluation_says_what_to_do(self):
        trainer = trainer_of(ppo, envs=Counter())
        with pytest.raises(ValueError, match="eval_envs="):
            trainer.evaluate()
        with pytest.raises(ValueError, match="eval_every=0"):
            trainer_of(ppo, envs=Counter(), eval_every=10)

    def test_evaluation_environments_of_ones_own(self):
        batch = SerialVectorEnv([Counter, Counter])
        for eval_envs in (Counter, Counter(), batch):
            options = {"eval_envs": eval_envs, "eval_every": 10, "eval_episodes": 2}
            trainer = trainer_of(ppo, envs=Counter(), **options)
            evaluations = [log for log in trainer() if log["log_type"] == "evaluate"]
            assert evaluations[-1]["logs"]["episode_return"] == 6.0
        assert trainer.evaluator.envs is batch

    def test_what_does_not_fit_is_refused(self):
        class Talking(Counter):
            def __init__(self):
                super().__init__()
                self.observation_space = Sequence(Discrete(2))

        with pytest.raises(ValueError, match=r"CartPol-v1.*Did you mean: `CartPole`"):
            trainer_of(ppo, env_id="CartPol-v1")
        with pytest.raises(TypeError, match=r"Sequence.*not supported"):
            trainer_of(ppo, envs=Talking)
        with pytest.raises(TypeError, match=r"Discrete.*take PPO"):
            trainer_of(dqn, env_id="Pendulum-v1")
        with pytest.raises(TypeError, match=r"ppo takes a .*ppo.*Config"):
            ppo.Trainer(dqn.Config())


class Guesses(Policy):
    """Has no critic, and knows no generator: it draws from PyTorch's global one."""

    has_critic = False

    def __init__(self, *spaces):
        super().__init__(*spaces[:2])
        self.layer = nn.Linear(4, 2)

    def forward(self, obs, deterministic=False):
        policy = Categorical(self.layer(obs))
        action = policy.mode() if deterministic else policy.sample()
        return action, policy.log_prob(action), None

    def evaluate_actions(self, obs, action):
        policy = Categorical(self.layer(obs))
        return policy.log_prob(action), policy.entropy(), None


INTEGERS = [np.dtype(f"{u}int{bits}") for u in ("", "u") for bits in (8, 16, 32, 64)]


@st.composite
def action_spaces(draw):
    """Of any kind, dtype and first choice."""
    kind = draw(st.sampled_from([Discrete, MultiDiscrete, MultiBinary, Box]))
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))
    if kind is MultiBinary:
        return MultiBinary(shape)
    if kind is Box:
        dtype = draw(st.sampled_from([np.float64, np.float32, np.int32, np.int8]))
        high = draw(st.sampled_from([0.1, 5, np.inf]))
        high = high if np.dtype(dtype).kind == "f" else 3
        return Box(-high, high, shape, dtype)
    dtype = draw(st.sampled_from(INTEGERS))
    least = 0 if dtype.kind == "u" else -100
    start, count = draw(st.integers(least, 100)), draw(st.integers(1, 20))
    if kind is Discrete:
        return Discrete(count, start=start, dtype=dtype.type)
    nvec, start = np.full(shape, count), np.full(shape, start)
    return MultiDiscrete(nvec, start=start, dtype=dtype.type)


@settings(max_examples=60, deadline=None)
@given(action_spaces(), st.integers(0, 99))
def test_actions_are_elements_of_their_space_in_its_dtype(space, seed):
    config = ppo.Config(hidden_sizes=(4,), log_std_init=1.0)
    model = ppo.Model(Box(-1, 1, (3,)), space, config)
    agent = ppo.Agent(ppo.Algorithm(model, config), config)
    obs = np.random.default_rng(seed).normal(size=(5, 3)).astype(np.float32)
    answers = [agent.predict(obs), agent.sample(obs)[0]]
    answers += [agent.predict(torch.from_numpy(obs)).numpy()]
    if space.dtype.kind == "f" or not isinstance(space, Box):
        answers.append(JsonPolicy(describe(agent)).predict(obs))
    singles = [agent.predict(obs[0]), agent.sample(obs[0])[0]]
    for action in [*singles, *(row for answer in answers for row in answer)]:
        assert space.contains(action), action
        assert isinstance(space, Box) or action.dtype == space.dtype


class TestAgent:
    SPACE = Dict({"a": Box(-1, 1, (3,)), "b": Discrete(4)})

    def agent(self, action_space, observation_space=SPACE):
        config = ppo.Config()
        model = ppo.Model(observation_space, action_space, config)
        return ppo.Agent(ppo.Algorithm(model, config), config)

    def test_it_answers_in_kind(self):
        agent = self.agent(MultiDiscrete([2, 3]))
        arrays = {"a": np.zeros((5, 3)), "b": np.zeros(5, dtype=np.int64)}
        tensors = {k: torch.from_numpy(v) for k, v in arrays.items()}
        for act in (agent.predict, lambda obs: agent.sample(obs)[0]):
            assert isinstance(act(arrays), np.ndarray)
            assert isinstance(act(tensors), torch.Tensor)
            assert act(arrays).shape == act(tensors).shape == (5, 2)

    def test_one_observation_gets_one_action(self):
        agent = self.agent(Box(-1, 1, (2, 2)), Box(-1, 1, (3,)))
        assert agent.predict(np.zeros(3, dtype=np.float32)).shape == (2, 2)
        assert agent.predict(np.zeros((6, 3))).shape == (6, 2, 2)
        with pytest.raises(ValueError, match=r"\(4,\) fits neither"):
            agent.predict(np.zeros(4))

    def test_a_choice_alone_is_a_number_that_tables_take(self):
        agent = self.agent(Discrete(4), Box(-1, 1, (3,)))
        env = gym.make("FrozenLake-v1")  # whose transitions are in a dictionary
        env.reset(seed=0)
        env.step(agent.predict(np.zeros(3, dtype=np.float32)))
        env.step(agent.sample(np.zeros(3, dtype=np.float32))[0])

    def test_predict_repeats_itself_and_sample_does_not(self):
        agent = self.agent(Box(-1, 1, (2,)), Box(-1, 1, (3,)))
        obs = np.ones((4, 3), dtype=np.float32)
        assert np.array_equal(agent.predict(obs), agent.predict(obs))
        assert not np.array_equal(agent.sample(obs)[0], agent.sample(obs)[0])

    def test_the_environment_gets_a_valid_action_and_the_buffer_the_chosen_one(self):
        space = Box(-0.1, 0.1, (2,))
        agent = self.agent(space, Box(-1, 1, (3,)))
        action, extras = agent.sample(np.ones((64, 3), dtype=np.float32))
        assert all(space.contains(a) for a in action)
        assert (extras["action"].abs() > 0.1).any()
        assert np.array_equal(extras["action"].clamp(-0.1, 0.1).numpy(), action)

    def test_an_array_is_viewed_not_copied(self):
        seen = []
        agent = self.agent(Discrete(2), Box(-1, 1, (3,)))
        agent.algorithm.predict = lambda obs: seen.append(obs) or obs[:, 0].long()
        obs = np.zeros((2, 3), dtype=np.float32)
        agent.predict(obs)
        assert seen[0].data_ptr() == obs.ctypes.data


class TestCheckpoints:
    @pytest.mark.parametrize("stop", [1, 61])
    def test_a_resumed_run_is_the_run(self, algorithm, stop, tmp_path):
        """N + M steps equal N steps, a file, and M steps, bit by bit."""
        env = {"env_id": "yieldrl/CartPole-v1", "eval_every": 24, "eval_episodes": 2}
        whole = [plain(log) for log in trainer_of(algorithm, **env)()]
        trainer, logs = trainer_of(algorithm, **env), []
        for log in trainer():
            logs.append(plain(log))
            if len(logs) == stop:
                break
        trainer.save(tmp_path / "run.pt")
        torch.rand(5)
        resumed = algorithm.Trainer.load(tmp_path / "run.pt")
        logs += [plain(log) for log in resumed()]
        assert logs == whole

    def test_a_gymnasium_run_goes_on_with_new_episodes(self, algorithm, tmp_path):
        trainer = trainer_of(algorithm)
        for log in trainer():
            if log["sample_step"] == 50:
                break
        resumed = algorithm.Trainer.load(trainer.save(tmp_path / "run.pt"))
        obs = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
        assert np.array_equal(resumed.agent.predict(obs), trainer.agent.predict(obs))
        assert resumed.evaluate(4) == trainer.evaluate(4)
        assert [log["sample_step"] for log in resumed()][-1] == 96
        assert resumed.config == trainer.config

    def test_the_wrong_class_or_parts_are_named(self, tmp_path):
        path = trainer_of(ppo).save(tmp_path / "run.pt")
        with pytest.raises(CheckpointError, match=r"saved by yieldrl.*ppo.*dqn"):
            dqn.Trainer.load(path)
        with pytest.raises(CheckpointError, match="does not fit"):
            ppo.Trainer.load(path, config=ppo.Config(hidden_sizes=(3,)))

    def test_with_closes(self):
        with trainer_of(ppo) as trainer:
            trainer.evaluate(1)
        assert trainer.envs.closed
        trainer.close()


class TestWithoutACritic:
    def test_it_is_trained(self):
        trainer = trainer_of(ppo, model=Guesses, total_steps=32)
        before = [p.detach().clone() for p in trainer.model.parameters()]
        logs = train_logs(trainer)
        assert len(logs) == 8
        logged = [log["logs"] for log in logs]
        assert all(np.isfinite(x) for log in logged for x in log.values())
        assert not any("value" in name or "variance" in name for name in logged[0])
        assert not any(map(torch.equal, before, trainer.model.parameters()))
        assert trainer.evaluate(1)["logs"]["episodes"] == 1

    def test_its_advantages_are_the_returns_themselves(self):
        options = {"gamma": 1.0, "gae_lambda": 1.0, "normalize_reward": False}
        trainer = trainer_of(ppo, model=Guesses, **options)
        while not trainer.learning_due:
            trainer.collector.step()
        rollout = trainer.buffer.rollout()
        rollout["terminated"][:], rollout["truncated"][:] = False, False
        prepared = trainer.algorithm.prepare(rollout)
        ahead = torch.arange(8.0, 0, -1).unsqueeze(1).expand(8, 2)
        torch.testing.assert_close(prepared["advantage"], ahead)


class TestPolicy:
    METHODS = frozenset({"forward", "evaluate_actions", "get_value"})

    def test_one_that_misses_a_method_is_refused_when_made(self):
        for missing in self.METHODS:
            methods = dict.fromkeys(self.METHODS - {missing}, lambda self: None)
            with pytest.raises(TypeError, match=missing):
                type("Half", (Policy,), methods)(Box(-1, 1, (2,)), Discrete(2))

    def test_one_without_a_critic_says_so(self):
        spaces = Box(-9, 9, (4,)), Discrete(2)
        assert not Guesses(*spaces).has_critic
        assert ppo.Model(*spaces, ppo.Config()).has_critic
        with pytest.raises(NotImplementedError, match="Guesses has no critic"):
            Guesses(*spaces).get_value(torch.zeros(1, 4))


class Recording(Collector):
    """A collector of one's own: it keeps every reward that it saw."""

    def __init__(self, trainer):
        self.trainer, self.stepper = trainer, Stepper(trainer.envs)
        self.obs = None
        self.rewards = []

    def step(self):
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

    def reset(self, seed):
        self.obs = self.stepper.reset(seed)

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        self.obs = None
        self.trainer.buffer.end_episodes()


class WithRecording(ppo.Trainer):
    def make_collector(self):
        return Recording(self)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("agent.learn_step", "x", "learn_step is 'x'"),
        ("agent.sample_step", -5, "sample_step is -5"),
        ("agent.policy_version", np.nan, "policy_version is nan"),
        ("evaluated_at", None, "evaluated_at is None"),
        ("buffer.row", 1.5, "row is 1.5"),
        ("agent.algorithm.model.log_std", torch.nan, "model.log_std holds NaN"),
        ("agent.algorithm.optimizer.state", {}, "optimizer.state.0 holds NaN"),
        ("attached", 7, "'int' object is not iterable"),
    ],
)
def test_a_checkpoint_of_impossible_values_is_refused(tmp_path, place, value, said):
    with trainer_of(ppo, env_id="Pendulum-v1") as trainer:
        next(trainer())
        path = trainer.save(tmp_path / "run.pt")
    state = part = torch.load(path, weights_only=True)
    *folders, name = place.split(".")
    for folder in folders:
        part = part[folder]
    if isinstance(part[name], torch.Tensor):
        value = torch.full_like(part[name], value)
    elif name == "state":
        value = {0: torch.tensor(torch.nan)}
    part[name] = value
    torch.save(state, path)
    with pytest.raises(CheckpointError, match=f"run.pt: .*{said}"):
        ppo.Trainer.load(path)


def test_a_collector_of_ones_own_collects_the_same():
    config = config_of(ppo, total_steps=32, eval_every=0)
    own, usual = (kind(config) for kind in (WithRecording, ppo.Trainer))
    assert train_logs(own) == train_logs(usual)
    assert isinstance(own.collector, Recording)
    assert len(own.collector.rewards) == 16


class TestRecordedPolicy:
    """The `log_prob` of a transition is that of the weights that acted."""

    @pytest.mark.parametrize("module", [ppo, ppo_lstm])
    def test_recording_and_recomputing_give_the_same_losses(self, module):
        runs = []
        for records in (False, True):
            trainer = trainer_of(module, total_steps=32)
            trainer.agent.records_log_prob = records
            runs.append([log["logs"]["loss"] for log in train_logs(trainer)])
        assert len(runs[0]) > 1
        np.testing.assert_allclose(*runs, rtol=1e-4, atol=1e-5)

    def test_weights_that_changed_in_between_are_noticed(self):
        other, trainer = trainer_of(ppo), trainer_of(ppo)
        next(log for log in other() if log["log_type"] == "train")
        for _ in range(4):
            trainer.collector.step()
        # As a learner beside the collector would.
        trainer.agent.learn(other.buffer.minibatches.minibatch())
        for _ in range(4):
            trainer.collector.step()
        with pytest.raises(RuntimeError, match="records_log_prob = True"):
            list(trainer())


@pytest.mark.parametrize(
    ("module", "env_id"),
    [(ppo, "Pendulum-v1"), (a2c, "CartPole-v1"), (reinforce, "Pendulum-v1")],
)
def test_what_gradient_steps_of_policy_gradients_say(module, env_id):
    trainer = trainer_of(module, env_id=env_id, total_steps=8000)
    logs = next(x["logs"] for x in trainer() if x["log_type"] == "train")
    assert logs["learning_rate"] == pytest.approx(trainer.config.learning_rate)
    assert ("policy_std" in logs) == (env_id == "Pendulum-v1")
    assert ("explained_variance" in logs) == (module is not reinforce)
    if env_id == "Pendulum-v1":
        assert float(logs["policy_std"]) == pytest.approx(1.0)
