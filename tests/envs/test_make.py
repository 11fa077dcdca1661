"""From whatever a user may pass to environments, for training and for evaluation."""

import dataclasses
import os
import sys
import textwrap
import threading
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple
from gymnasium.spaces import Sequence as SequenceSpace
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from yieldrl.algorithms import ppo
from yieldrl.envs import SerialVectorEnv, TorchVectorEnv, make, make_eval
from yieldrl.envs.cartpole import CartPoleVectorEnv
from yieldrl.foundations import Config

SAME_STEP = AutoresetMode.SAME_STEP


class Corridor(gym.Env[np.ndarray, int]):
    """Its reward is its length, so that one knows which one one has."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = Box(-1, 1, (2,))
    action_space: gym.Space = Discrete(2)

    def __init__(self, length: float = 5, render_mode: str | None = None) -> None:
        self.length, self.render_mode = length, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.ones(2, np.float32), float(self.length), False, False, {}

    def render(self):
        return np.zeros((4, 4, 3), np.uint8)


def config_of(**kwargs):
    return Config(**{"num_envs": 3, "eval_episodes": 2, **kwargs})


def reward_of(envs):
    """What the environments' step gives: which Corridor they are."""
    envs.reset(seed=0)
    return envs.step(envs.action_space.sample())[1].tolist()


def games_of(envs):
    return {id(env.unwrapped) for env in envs.envs}


# -------------------------------------------------------------------------- every kind


def test_an_id():
    envs = make("CartPole-v1", config_of())
    assert isinstance(envs, SerialVectorEnv)
    assert envs.num_envs == 3
    assert envs.metadata["autoreset_mode"] == SAME_STEP
    assert len(games_of(envs)) == 3
    obs, _ = envs.reset(seed=1)
    assert obs.shape == (3, 4)
    envs.close()


def test_a_time_limit_comes_with_the_id():
    envs = make("CartPole-v1", config_of(num_envs=1))
    assert envs.envs[0].spec.max_episode_steps == 500
    envs.close()


def test_num_envs_instead_of_the_configs():
    assert make("CartPole-v1", config_of(), num_envs=5).num_envs == 5


@pytest.fixture
def module_on_disk(tmp_path, monkeypatch):
    """A module that registers an environment when it is imported."""
    source = """
        import gymnasium as gym
        from gymnasium.envs.classic_control import CartPoleEnv

        class Mine(CartPoleEnv):
            pass

        gym.register("OnDisk-v0", entry_point=__name__ + ":Mine", max_episode_steps=7)
    """
    (tmp_path / "on_disk.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    yield "on_disk:OnDisk-v0"
    gym.registry.pop("OnDisk-v0", None)
    sys.modules.pop("on_disk", None)


@pytest.mark.parametrize("function", [make, make_eval])
def test_a_module_and_an_id(module_on_disk, function):
    envs = function(module_on_disk, config_of())
    assert type(envs.envs[0].unwrapped).__name__ == "Mine"
    assert envs.envs[0].spec.max_episode_steps == 7
    envs.close()


@pytest.mark.parametrize("function", [make, make_eval])
def test_a_class_in_a_module(module_on_disk, function):
    envs = function("on_disk:Mine", config_of(env_kwargs={"sutton_barto_reward": True}))
    assert [type(env.unwrapped).__name__ for env in envs.envs][:2] == ["Mine"] * 2
    assert reward_of(envs)[:2] == [0, 0]
    envs.close()
    with pytest.raises(ValueError, match="'on_disk:Min': no such environment"):
        function("on_disk:Min", config_of())


def test_a_class():
    envs = make(Corridor, config_of(env_kwargs={"length": 9}))
    assert reward_of(envs) == [9, 9, 9]
    assert len(games_of(envs)) == 3


def test_a_function():
    envs = make(lambda: Corridor(length=8), config_of())
    assert reward_of(envs) == [8, 8, 8]
    assert len(games_of(envs)) == 3


def test_a_functions_arguments():
    envs = make(lambda length: Corridor(length), config_of(env_kwargs={"length": 2}))
    assert reward_of(envs) == [2, 2, 2]


def test_one_environment_becomes_a_batch_of_one():
    env = Corridor(length=4)
    envs = make(env, config_of())
    assert envs.num_envs == 1
    assert envs.envs == [env]
    assert reward_of(envs) == [4]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_vector_environment_is_used_as_it_is(mode):
    given = SyncVectorEnv([Corridor] * 2, autoreset_mode=mode)
    assert make(given, config_of()) is given


def test_a_device_batched_environment():
    envs = make("yieldrl/CartPole-v1", config_of(num_envs=6), device="cpu")
    assert isinstance(envs, TorchVectorEnv)
    assert isinstance(envs.reset(seed=1)[0], torch.Tensor)
    assert envs.num_envs == 6


def test_the_class_of_a_device_batched_environment():
    config = config_of(env_kwargs={"max_episode_steps": 9})
    envs = make(CartPoleVectorEnv, config, device="cpu")
    assert isinstance(envs, CartPoleVectorEnv)
    assert (envs.num_envs, envs.max_episode_steps) == (3, 9)
    evaluation = make_eval(CartPoleVectorEnv, config, device="cpu")
    assert isinstance(evaluation, CartPoleVectorEnv)
    assert (evaluation.num_envs, evaluation.max_episode_steps) == (2, 9)


class Batched(CartPoleVectorEnv):
    """Remembers the device that it was made for."""

    def __init__(self, num_envs: int = 1, *, device: Any = None, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        self.given = device


def test_ones_own_batched_environment_lives_where_the_agent_does():
    gym.register("Batched-v0", vector_entry_point=Batched)
    try:
        for source in ("Batched-v0", Batched):
            assert make(source, config_of(), device="cuda:3").given == "cuda:3"
            assert make_eval(source, config_of(), device="cuda:3").given == "cuda:3"
    finally:
        gym.registry.pop("Batched-v0")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_async():
    envs = make("CartPole-v1", config_of(num_envs=2, vectorization="async"))
    try:
        assert isinstance(envs, AsyncVectorEnv)
        assert envs.metadata["autoreset_mode"] == SAME_STEP
        obs, _ = envs.reset(seed=1)
        other = make("CartPole-v1", config_of(num_envs=2))
        np.testing.assert_array_equal(obs, other.reset(seed=1)[0])
        for _ in range(30):
            step, wanted = envs.step(np.ones(2, int)), other.step(np.ones(2, int))
            for actual, expected in zip(step[:4], wanted[:4], strict=True):
                np.testing.assert_array_equal(actual, expected)
            assert ("final_obs" in step[4]) == ("final_obs" in wanted[4])
        # Evaluation is apart, and in this process.
        evaluation = make_eval(envs, config_of())
        assert isinstance(evaluation, SerialVectorEnv)
        assert evaluation.num_envs == 2
    finally:
        envs.close()


@pytest.mark.parametrize("vectorization", ["auto", "sync"])
def test_one_after_the_other(vectorization):
    envs = make("CartPole-v1", config_of(vectorization=vectorization))
    assert type(envs) is SerialVectorEnv


def test_env_kwargs():
    config = config_of(env_kwargs={"is_slippery": False, "map_name": "8x8"})
    for envs in (make("FrozenLake-v1", config), make_eval("FrozenLake-v1", config)):
        kwargs = envs.envs[0].spec.kwargs
        assert (kwargs["is_slippery"], kwargs["map_name"]) == (False, "8x8")
        assert envs.single_observation_space == Discrete(64)


@pytest.mark.parametrize("source", ["CartPole-v1", "yieldrl/CartPole-v1", Corridor])
def test_arguments_that_an_environment_does_not_take_are_named(source):
    message = r"^env_kwargs = \{'view': 'pixels'\} of .*--env-kwargs"
    with pytest.raises(TypeError, match=message):
        make(source, config_of(env_kwargs={"view": "pixels"}))


class Sized(Corridor):
    def __init__(self, size):
        super().__init__()


@pytest.mark.parametrize("source", ["CartPole-v1", "yieldrl/CartPole-v1", Corridor])
def test_arguments_that_no_environment_can_take_are_named(source):
    name = getattr(source, "__name__", source)
    message = rf"^env_kwargs = {{'self': 1}} of {name}: .*multiple values for .*'self'"
    with pytest.raises(TypeError, match=message):
        make(source, config_of(env_kwargs={"self": 1}))


def test_an_argument_that_an_environment_needs_is_named():
    with pytest.raises(TypeError, match=r"^env_kwargs = {} of Sized: .*'size'; give"):
        make(Sized, config_of())


@pytest.mark.parametrize("source", [Corridor, lambda **kwargs: Corridor(**kwargs)])
def test_render_mode(source):
    envs = make(source, config_of(num_envs=1), render_mode="rgb_array")
    envs.reset(seed=0)
    assert envs.render()[0].shape == (4, 4, 3)


# ------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("env_id", "near"),
    [
        ("CartPole", "CartPole-v1"),
        ("cartpole-v1", "CartPole-v1"),
        ("CartPole-v7", "CartPole-v1"),
        ("Pendulm-v1", "Pendulum-v1"),
        ("yieldrl/CartPol-v1", "yieldrl/CartPole-v1"),
        ("ALE/Pnog-v5", "ALE/Pong-v5"),
    ],
)
def test_near_names_are_proposed(env_id, near):
    with pytest.raises(ValueError, match=f"env_id = '{env_id}': no such.*{near}"):
        make(env_id, config_of())


@pytest.mark.parametrize("env_id", ["qqq-v0", "a b c", "nobody/Nothing-v0"])
def test_unknown_ids(env_id):
    with pytest.raises(ValueError, match=f"env_id = '{env_id}': no such environment"):
        make(env_id, config_of())


def test_an_unknown_module():
    with pytest.raises(ValueError, match=r"nomodule:My-v0.*No module named 'nomodule'"):
        make("nomodule:My-v0", config_of())


def test_unknown_kwargs_are_named():
    with pytest.raises(TypeError, match=r"'wind'.*CartPole-v1"):
        make("CartPole-v1", config_of(env_kwargs={"wind": 1}))


@pytest.mark.parametrize("source", [3, None, ["CartPole-v1"]])
def test_other_things(source):
    with pytest.raises(TypeError, match=r"envs = .*: give an environment id"):
        make(source, config_of())


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (None, "None"),
        (Corridor, "class"),
        (SyncVectorEnv([Corridor]), "SyncVectorEnv"),
    ],
)
def test_functions_that_make_something_else(made, message):
    with pytest.raises(TypeError, match=f"{message}.*must return a gymnasium.Env"):
        make(lambda: made, config_of())


def test_a_function_that_gives_the_same_environment_again():
    """Several places of a batch would step one and the same game."""
    env = Corridor()
    with pytest.raises(ValueError, match=r"same environment.*new one at each call"):
        make(lambda: env, config_of())
    wrapped = [gym.wrappers.TimeLimit(env, 5), gym.wrappers.TimeLimit(env, 5)]
    with pytest.raises(ValueError, match="same environment"):
        make(SyncVectorEnv([lambda: wrapped[0], lambda: wrapped[1]]), config_of())
    assert make(lambda: env, config_of(num_envs=1)).num_envs == 1


@pytest.mark.parametrize(
    ("which", "space"),
    [
        ("action", Text(5)),  # observations may be text
        *(
            (which, space)
            for which in ("observation", "action")
            for space in (Tuple([Discrete(2)]), SequenceSpace(Box(0, 1)))
        ),
    ],
)
def test_unsupported_spaces_are_named(which, space):
    class Strange(Corridor):
        pass

    kind = type(space).__name__
    setattr(Strange, f"{which}_space", space)
    with pytest.raises(
        TypeError, match=rf"{which}.*{kind}.* is not supported: use Box"
    ):
        make(Strange, config_of())


def test_the_place_of_an_unsupported_space():
    class Strange(Corridor):
        observation_space = Dict(a=Dict(goal=Tuple([Text(4)])), b=Discrete(2))

    with pytest.raises(TypeError, match=r"Tuple.* at a\.goal is not supported"):
        make(Strange, config_of())


def test_nested_actions_are_refused():
    class Strange(Corridor):
        action_space = Dict(arm=Discrete(2))

    with pytest.raises(TypeError, match=r"action.*Dict.* is not supported: use Box"):
        make(Strange, config_of())


@pytest.mark.parametrize("mode", [None, "SameStep", True])
def test_a_vector_environment_must_say_how_it_resets(mode):
    given = SyncVectorEnv([Corridor])
    given.metadata["autoreset_mode"] = mode
    with pytest.raises(ValueError, match=r"autoreset_mode'\] = .*AutoresetMode"):
        make(given, config_of())


def test_a_missing_package_is_named(monkeypatch):
    def lacking():
        raise gym.error.DependencyNotInstalled("mujoco is not installed")

    with pytest.raises(
        ImportError, match=r"mujoco is not installed.*yieldrl\[mujoco\]"
    ):
        make(lacking, config_of())
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(
        ImportError, match=r"ALE/Pong-v5 needs ale-py.*yieldrl\[atari\]"
    ):
        make("ALE/Pong-v5", config_of())


# -------------------------------------------------------------------------- evaluation


EVALUATION_SOURCES: dict[str, Any] = {
    "id": lambda: "CartPole-v1",
    "class": lambda: Corridor,
    "function": lambda: lambda: Corridor(length=8),
    "environment": lambda: gym.make("CartPole-v1"),
    "sync": lambda: SyncVectorEnv([Corridor] * 2, autoreset_mode=SAME_STEP),
    "serial": lambda: SerialVectorEnv([Corridor] * 2),
    "gymnasium's": lambda: gym.make_vec("CartPole-v1", num_envs=2),
    "device-batched": lambda: CartPoleVectorEnv(2),
    "device-batched id": lambda: "yieldrl/CartPole-v1",
}


@pytest.mark.parametrize("name", EVALUATION_SOURCES)
def test_evaluation_has_environments_of_its_own(name):
    source = EVALUATION_SOURCES[name]()
    config = config_of()
    training, evaluation = make(source, config), make_eval(source, config)
    assert evaluation is not training
    assert evaluation.num_envs == config.eval_episodes
    assert evaluation.single_observation_space == training.single_observation_space
    assert evaluation.single_action_space == training.single_action_space
    if hasattr(training, "envs") and hasattr(evaluation, "envs"):
        assert not games_of(training) & games_of(evaluation)
    for envs in (training, evaluation):
        envs.reset(seed=3)
    evaluation.step(evaluation.action_space.sample())
    training.close()
    evaluation.reset(seed=3)
    evaluation.close()


@pytest.mark.parametrize("name", sorted(EVALUATION_SOURCES.keys() - {"sync", "serial"}))
def test_evaluation_can_be_watched(name):
    source = EVALUATION_SOURCES[name]()
    if name == "function":
        source = lambda **kwargs: Corridor(**kwargs)  # noqa: E731
    envs = make_eval(source, config_of(), num_envs=1, render_mode="rgb_array")
    envs.reset(seed=1)
    (frame,) = envs.render()
    assert frame.dtype == np.uint8
    assert frame.shape[-1] == 3
    envs.close()


def test_at_most_sixteen():
    assert make_eval(Corridor, config_of(eval_episodes=100)).num_envs == 16
    assert make_eval(Corridor, config_of(eval_episodes=100), num_envs=20).num_envs == 20


class Large(Corridor):
    metadata = {**Corridor.metadata, "most_eval_envs": 2}  # noqa: RUF012


@pytest.mark.parametrize("kind", ["class", "id", "batch"])
def test_an_environment_says_how_many_may_play_at_once(kind, monkeypatch):
    monkeypatch.setitem(gym.registry, "Large-v0", EnvSpec("Large-v0", Large))
    sources: Any = {"class": Large, "id": "Large-v0"}
    sources["batch"] = SyncVectorEnv([Large] * 3, autoreset_mode=SAME_STEP)
    source = sources[kind]
    assert make_eval(source, config_of(eval_episodes=100)).num_envs == 2
    assert make_eval(source, config_of(eval_episodes=1)).num_envs == 1
    assert make_eval(source, config_of(), num_envs=3).num_envs == 3


def test_evaluation_of_an_environment_keeps_its_arguments_and_wrappers():
    """An easier or harder task, or other observations, would be no evaluation."""
    env = gym.make("FrozenLake-v1", is_slippery=False, max_episode_steps=9)
    env = gym.wrappers.FlattenObservation(env)
    evaluation = make_eval(env, config_of(env_kwargs={"map_name": "8x8"}))
    (one, *_) = evaluation.envs
    assert evaluation.single_observation_space == env.observation_space
    assert one.spec.kwargs["is_slippery"] is False
    assert one.spec.kwargs["map_name"] == "4x4", "env_kwargs had no part in it"
    assert one.spec.max_episode_steps == 9
    assert isinstance(one, gym.wrappers.FlattenObservation)
    watched = make_eval(env, config_of(), num_envs=1, render_mode="rgb_array")
    assert isinstance(watched.envs[0], gym.wrappers.FlattenObservation)


def test_evaluation_opens_no_window_because_training_has_one():
    env = gym.make("CartPole-v1", render_mode="rgb_array")
    assert make_eval(env, config_of()).render_mode is None


def test_evaluation_of_a_batch_keeps_its_arguments():
    def count_to(number):
        return SyncVectorEnv([lambda: Corridor(number)] * 2, autoreset_mode=SAME_STEP)

    config = config_of(env_kwargs={"length": 3})
    assert reward_of(make_eval(count_to(9), config)) == [9, 9]
    lake = gym.make_vec("FrozenLake-v1", num_envs=2, map_name="8x8")
    assert make_eval(lake, config_of()).single_observation_space == Discrete(64)
    watched = make_eval(lake, config_of(), num_envs=1, render_mode="rgb_array")
    assert watched.single_observation_space == Discrete(64)
    assert watched.render_mode == "rgb_array"


def test_a_batch_of_functions_cannot_be_watched_without_a_spec():
    given = SyncVectorEnv([lambda: Corridor()] * 2, autoreset_mode=SAME_STEP)
    with pytest.raises(ValueError, match=r"render_mode.*eval_envs="):
        make_eval(given, config_of(), render_mode="rgb_array")


class Doubled(gym.RewardWrapper):
    def reward(self, reward):
        return 2 * reward


class OtherLibrarys(VectorEnv):
    """Describes itself in an object of its own, as EnvPool does."""

    num_envs = 1
    spec = threading.Lock()  # can be copied as little as EnvPool's
    __str__ = object.__repr__


def test_what_cannot_be_made_again_is_said():
    env = Corridor()
    sources = [
        env,
        SyncVectorEnv([lambda: env], autoreset_mode=SAME_STEP),
        gym.wrappers.vector.RecordEpisodeStatistics(SyncVectorEnv([Corridor])),
        Doubled(gym.make("CartPole-v1")),
        OtherLibrarys(),
    ]
    for source in sources:
        with pytest.raises(ValueError, match=r"no second environment.*eval_envs="):
            make_eval(source, config_of())


@pytest.mark.filterwarnings("ignore::UserWarning")  # its own, about seeds and bounds
def test_envpools_batch_goes_through_the_collector():
    envpool = pytest.importorskip("envpool", reason="pip install envpool")
    envs = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=4, seed=1)
    config = ppo.Config(total_steps=40_000, eval_episodes=4)
    with ppo.Trainer(config, envs=envs, eval_envs="CartPole-v1") as trainer:
        for _log in trainer():
            pass
        assert trainer.evaluate()["logs"]["episode_return"] > 300


# --------------------------------------------------------------------- Atari and MuJoCo


@pytest.fixture
def pong():
    pytest.importorskip("ale_py")
    config = config_of(num_envs=2, env_kwargs={"max_num_frames_per_episode": 60})
    return "ALE/Pong-v5", config


def test_atari(pong):
    envs = make(*pong)
    assert envs.metadata["autoreset_mode"] == SAME_STEP
    assert envs.single_observation_space == Box(0, 255, (4, 84, 84), np.uint8)
    obs, _ = envs.reset(seed=1)
    assert obs.shape == (2, 4, 84, 84)
    assert obs.dtype == np.uint8
    ended = 0
    for _ in range(40):
        obs, reward, terminated, truncated, info = envs.step(np.array([2, 3]))
        ends = terminated | truncated
        if ends.any():
            ended += ends.sum()
            final_obs = np.stack(list(info["final_obs"][ends]))
            assert final_obs.shape[1:] == (4, 84, 84)
            assert (final_obs != obs[ends]).any(), "the end, not the new beginning"
    assert ended >= 2
    assert reward.shape == (2,)
    envs.close()


def test_atari_scores_are_clipped_in_training_and_counted_in_evaluation():
    pytest.importorskip("ale_py")
    config = config_of(num_envs=2)
    source = "ALE/MsPacman-v5"  # ten points a pellet
    training, evaluation = make(source, config), make_eval(source, config)
    trained_on = make(source, dataclasses.replace(config, env_kwargs={"noop_max": 1}))
    again = make_eval(trained_on, config)
    best = []
    for envs in (training, evaluation, again):
        envs.reset(seed=1)
        rewards = [envs.step(np.full(2, 3))[1].max() for _ in range(100)]
        best.append(max(rewards))
        envs.close()
    assert best[0] == 1
    assert best[1] >= 10
    assert best[2] >= 10
    assert again.spec.kwargs["noop_max"] == 1
    trained_on.close()


def test_atari_can_be_watched_as_it_was_played(pong):
    env_id, config = pong
    kwargs = {"repeat_action_probability": 0.5, "full_action_space": True}
    config = dataclasses.replace(config, env_kwargs=kwargs)
    training = make(env_id, config)
    brown = [144, 72, 17]  # Pong's table
    for source in (env_id, training):
        envs = make_eval(source, config, num_envs=1, render_mode="rgb_array")
        assert envs.single_observation_space == training.single_observation_space
        assert envs.single_action_space == training.single_action_space
        assert envs.metadata["render_fps"] == 15
        plain = make_eval(source, config, num_envs=1)
        for one in (envs, plain):
            one.reset(seed=1)
        for _ in range(50):
            (frame,) = envs.render()
            assert frame.shape == (210, 160, 3)
            assert frame[150, 80].tolist() == brown
            action = envs.action_space.sample()
            watched, played = envs.step(action), plain.step(action)
            for actual, expected in zip(watched[:4], played[:4], strict=True):
                np.testing.assert_array_equal(actual, expected)
            # The picture is that of the game which the agent sees.
            rows, columns = (np.linspace(0, n - 1, 84).astype(int) for n in (210, 160))
            grey = envs.render()[0].mean(-1)[rows][:, columns]
            seen = watched[0][0, -1]
            assert np.corrcoef(grey.ravel(), seen.ravel())[0, 1] > 0.9
        envs.close()
        plain.close()
    training.close()


def test_the_picture_is_of_the_same_game_without_a_seed_too(pong, monkeypatch):
    """A game begins with up to 30 idle frames, by chance."""
    envs = make_eval(*pong, num_envs=2, render_mode="rgb_array")
    frames = []
    reset = type(envs.pictures.unwrapped).reset

    def watched(self, **kwargs):
        obs, info = reset(self, **kwargs)
        frames.append(tuple(info["episode_frame_number"]))
        return obs, info

    monkeypatch.setattr(type(envs.pictures.unwrapped), "reset", watched)
    for _ in range(6):
        envs.reset()
    assert frames[::2] == frames[1::2]
    assert len(set(frames)) > 1
    envs.close()


def test_mujoco(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)  # it writes a log where it stands
    envs = make("HalfCheetah-v5", config_of(num_envs=2))
    obs, _ = envs.reset(seed=1)
    assert obs.shape == (2, 17)
    assert envs.single_action_space.shape == (6,)
    obs, reward, terminated, truncated, _ = envs.step(np.zeros((2, 6), np.float32))
    assert obs.shape == (2, 17)
    assert np.isfinite(reward).all()
    assert not (terminated | truncated).any()
    envs.close()


@pytest.mark.parametrize(("mode", "most"), [("sync", 16384), ("async", 1024)])
def test_environments_made_one_by_one_have_a_largest_number(mode, most):
    config = Config(vectorization=mode, num_envs=most + 1)
    for source in ("CartPole-v1", lambda: pytest.fail("made one")):
        with pytest.raises(ValueError, match=rf"num_envs = {most + 1}: .*most {most};"):
            make(source, config)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("math:pi", r"'math:pi' is 3\.14.*, no wrapper: name module:Class"),
        ("gymnasium.wrappers:", r"names no wrapper"),
        ("collections:OrderedDict", r"names no wrapper \(it is Python's own"),
        ("gymnasium.envs.classic_control:CartPoleEnv", r"no gymnasium\.Wrapper"),
        ("gymnasium.wrappers.vector:ClipReward", r"around a whole batch.* as envs="),
        ("yieldrl.envs.wrappers:NormalizeReward", r"around a whole batch.* as envs="),
        (
            "torch:is_tensor",
            r"torch:is_tensor made False of <.*>: it must return an env",
        ),
        ("gymnasium.wrappers:TimeLimit", r":TimeLimit cannot be put around <.*steps'"),
    ],
)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_wrappers_that_are_none_are_named(name, message, mode, capsys):
    config = config_of(wrappers=(name,), vectorization=mode)
    with pytest.raises((TypeError, ValueError), match=rf"^wrappers: .*{message}"):
        make("CartPole-v1", config)


def test_a_function_may_be_a_wrapper():
    config = config_of(wrappers=(f"{__name__}:limited",), num_envs=1)
    assert make("CartPole-v1", config).envs[0].spec.max_episode_steps == 3


def limited(env):
    return gym.wrappers.TimeLimit(env, 3)


def test_the_first_wrapper_is_the_innermost():
    names = tuple(f"{__name__}:{name}" for name in ("doubled", "raised"))
    assert reward_of(make(Corridor, config_of(wrappers=names, num_envs=1))) == [11]


def doubled(env):
    return gym.wrappers.TransformReward(env, lambda reward: 2 * reward)


def raised(env):
    return gym.wrappers.TransformReward(env, lambda reward: reward + 1)


@pytest.mark.parametrize("said", [None, 3, 0.5])
def test_what_is_no_sentence_is_refused_by_name(said):
    class Mute(Corridor):
        observation_space = Text(5)

        def reset(self, **kwargs):
            return said, {}

    envs = make(Mute, config_of(num_envs=1))
    with pytest.raises(TypeError, match=rf"Mute.* observation {said}: .* a string"):
        envs.reset(seed=0)


class Shifting(Corridor):
    """Writes into the argument that it is given."""

    def __init__(self, goal):
        super().__init__()
        goal["at"] += 1
        self.goal = goal


@pytest.mark.parametrize("named", [False, True])
def test_environments_share_no_argument(named):
    gym.register("Shifting-v0", entry_point=Shifting)
    config = config_of(env_kwargs={"goal": {"at": 0}})
    envs = make("Shifting-v0" if named else Shifting, config)
    assert envs.get_attr("goal") == ({"at": 1},) * 3
    assert config.env_kwargs == {"goal": {"at": 0}}
    gym.registry.pop("Shifting-v0")


@pytest.mark.parametrize(
    ("screens", "expected"), [({}, "dummy"), ({"DISPLAY": ":0"}, None)]
)
def test_pygame_looks_for_no_screen_where_there_is_none(monkeypatch, screens, expected):
    """It prints `error: XDG_RUNTIME_DIR is invalid` if it looks in vain."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in screens.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", "linux")
    make("CartPole-v1", Config(num_envs=1), render_mode="rgb_array").close()
    assert os.environ.pop("SDL_VIDEODRIVER", None) == expected
