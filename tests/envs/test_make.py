"""From whatever a user may pass to environments, for training and for evaluation."""

import sys
import textwrap
import threading

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple
from gymnasium.spaces import Sequence as SequenceSpace
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from yieldrl.core import Config
from yieldrl.envs import SerialVectorEnv, make, make_eval
from yieldrl.envs.classic_control import CartPoleVectorEnv
from yieldrl.envs.names import find_suite

SAME_STEP = AutoresetMode.SAME_STEP


class Corridor(gym.Env[np.ndarray, int]):
    """Its reward is its length, so that one knows which one one has."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = Box(-1, 1, (2,))
    action_space: gym.Space = Discrete(2)

    def __init__(self, length=5, render_mode=None):
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


@pytest.mark.parametrize("function", [make, make_eval])
def test_a_module_and_an_id_or_a_class(module_on_disk, function):
    envs = function(module_on_disk, config_of())
    assert type(envs.envs[0].unwrapped).__name__ == "Mine"
    assert envs.envs[0].spec.max_episode_steps == 7
    envs = function("on_disk:Mine", config_of(env_kwargs={"sutton_barto_reward": True}))
    assert [type(env.unwrapped).__name__ for env in envs.envs][:2] == ["Mine"] * 2
    assert reward_of(envs)[:2] == [0, 0]
    with pytest.raises(ValueError, match="'on_disk:Min': no such environment"):
        function("on_disk:Min", config_of())


@pytest.mark.parametrize(
    ("source", "kwargs", "reward"),
    [
        (Corridor, {"length": 9}, 9),
        (lambda: Corridor(length=8), {}, 8),
        (lambda length: Corridor(length), {"length": 2}, 2),
    ],
)
def test_a_class_or_a_function_and_its_arguments(source, kwargs, reward):
    envs = make(source, config_of(env_kwargs=kwargs))
    assert reward_of(envs) == [reward] * 3
    assert len(games_of(envs)) == 3


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


class Sized(Corridor):
    def __init__(self, size):
        super().__init__()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_async():
    envs = make("CartPole-v1", config_of(num_envs=2, vectorization="async"))
    try:
        assert isinstance(envs, AsyncVectorEnv)
        assert envs.metadata["autoreset_mode"] == SAME_STEP
        obs, _ = envs.reset(seed=1)
        other = make("CartPole-v1", config_of(num_envs=2))
        np.testing.assert_array_equal(obs, other.reset(seed=1)[0])
        # Evaluation is apart, and in this process.
        evaluation = make_eval(envs, config_of())
        assert isinstance(evaluation, SerialVectorEnv)
        assert evaluation.num_envs == 2
    finally:
        envs.close()


@pytest.mark.parametrize(("package", "extra"), [("mujoco",) * 2, ("Box2D", "box2d")])
def test_a_missing_package_is_named_with_its_extra(package, extra, monkeypatch):
    def lacking():
        raise gym.error.DependencyNotInstalled(f"{package} is not installed")

    with pytest.raises(ImportError, match=rf"is not installed.*yieldrl\[{extra}\]"):
        make(lacking, config_of())
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(ImportError, match=r"needs ale-py.*yieldrl\[atari\]"):
        make("ALE/Pong-v5", config_of())
    monkeypatch.setitem(sys.modules, "gym_pusht", None)
    for module in ("", "gym_pusht:"):
        with pytest.raises(ImportError, match=r"needs gym-pusht.*yieldrl\[robots\]"):
            make(f"{module}gym_pusht/PushT-v0", config_of())


@pytest.mark.parametrize(
    "source",
    [
        "CartPole-v1",
        "yieldrl/CartPole-v1",
        lambda **kwargs: Corridor(**{"length": 8, **kwargs}),
        gym.make("CartPole-v1"),
        gym.make_vec("CartPole-v1", num_envs=2),
        CartPoleVectorEnv(2),
        SyncVectorEnv([Corridor] * 2, autoreset_mode=SAME_STEP),
    ],
)
def test_evaluation_has_environments_of_its_own_and_can_be_watched(source):
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
    if type(source) is SyncVectorEnv and source.spec is None:
        return  # of functions that may take no render_mode
    watched = make_eval(source, config, num_envs=1, render_mode="rgb_array")
    watched.reset(seed=1)
    (frame,) = watched.render()
    assert frame.dtype == np.uint8
    assert frame.shape[-1] == 3


class Large(Corridor):
    metadata = {**Corridor.metadata, "most_eval_envs": 2}  # noqa: RUF012


def test_an_environment_says_how_many_may_play_at_once(monkeypatch):
    assert make_eval(Corridor, config_of(eval_episodes=100)).num_envs == 16
    assert make_eval(Corridor, config_of(eval_episodes=100), num_envs=20).num_envs == 20
    monkeypatch.setitem(gym.registry, "Large-v0", EnvSpec("Large-v0", Large))
    batch = SyncVectorEnv([Large] * 3, autoreset_mode=SAME_STEP)
    for source in (Large, "Large-v0", batch):
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
    assert isinstance(one.env, gym.wrappers.FlattenObservation)
    watched = make_eval(env, config_of(), num_envs=1, render_mode="rgb_array")
    assert isinstance(watched.envs[0].env, gym.wrappers.FlattenObservation)


def test_the_first_wrapper_is_the_innermost():
    names = tuple(f"{__name__}:{name}" for name in ("doubled", "raised"))
    assert reward_of(make(Corridor, config_of(wrappers=names, num_envs=1))) == [11]


def doubled(env):
    return gym.wrappers.TransformReward(env, lambda reward: 2 * reward)


def raised(env):
    return gym.wrappers.TransformReward(env, lambda reward: reward + 1)


class Shifting(Corridor):
    """Writes into the argument that it is given."""

    def __init__(self, goal):
        super().__init__()
        goal["at"] += 1
        self.goal = goal


def test_environments_share_no_argument(monkeypatch):
    monkeypatch.setitem(gym.registry, "Shifting-v0", EnvSpec("Shifting-v0", Shifting))
    for source in ("Shifting-v0", Shifting):
        config = config_of(env_kwargs={"goal": {"at": 0}})
        envs = make(source, config)
        assert envs.get_attr("goal") == ({"at": 1},) * 3
        assert config.env_kwargs == {"goal": {"at": 0}}


def test_what_is_given_is_used_as_it_is():
    env = Corridor(length=4)
    envs = make(env, config_of())  # a batch of one
    assert [one.env for one in envs.envs] == [env]
    assert reward_of(envs) == [4]
    for mode in AutoresetMode:
        given = SyncVectorEnv([Corridor] * 2, autoreset_mode=mode)
        assert make(given, config_of()) is given


class Batched(CartPoleVectorEnv):
    """Remembers the device that it was made for."""

    def __init__(self, num_envs=1, *, device=None, **kwargs):
        super().__init__(num_envs, **kwargs)
        self.given = device


def test_a_batched_environment_lives_where_the_agent_does(monkeypatch):
    spec = EnvSpec("Batched-v0", vector_entry_point=Batched)
    monkeypatch.setitem(gym.registry, "Batched-v0", spec)
    config = config_of(env_kwargs={"max_episode_steps": 9})
    for source in ("Batched-v0", Batched):
        for function, count in ((make, 3), (make_eval, 2)):
            envs = function(source, config, device="cuda:3")
            assert isinstance(envs, Batched)
            assert (envs.num_envs, envs.max_episode_steps) == (count, 9)
            assert envs.given == "cuda:3"


class Strange(Corridor):
    observation_space = Dict(a=Dict(goal=Tuple([Text(4)])), b=Discrete(2))


class Unending(Corridor):
    action_space = SequenceSpace(Box(0, 1))


class Parted(Corridor):
    action_space = Dict(arm=Discrete(2), hand=Discrete(2))


class Mute(Corridor):
    observation_space = Text(5)

    def reset(self, **kwargs):
        return 0.5, {}


def batch_whose_mode_is(mode):
    given = SyncVectorEnv([lambda: Corridor()] * 2)
    given.metadata["autoreset_mode"] = mode
    return given


class Uncounted(VectorEnv):
    """A batch that does not say how many environments it has."""

    single_observation_space = Box(-1, 1, (2,))
    single_action_space = Discrete(2)


class Pair(SyncVectorEnv):
    """A batch of two, whose class takes no `num_envs`."""

    def __init__(self):
        mode = gym.vector.AutoresetMode.SAME_STEP
        super().__init__([Corridor] * 2, autoreset_mode=mode)


def test_a_class_of_batches_may_know_its_number_itself():
    for made in (make(Pair, config_of(num_envs=5)), make_eval(Pair, config_of())):
        assert made.num_envs == 2


ALIKE = [Corridor()] * 2


@pytest.mark.parametrize(
    ("source", "options", "error", "words"),
    [
        ("cartpole-v1", {}, ValueError, "Did you mean: `CartPole`"),
        ("nomodule:My-v0", {}, ValueError, "'nomodule'"),
        (3, {}, TypeError, "envs = 3"),
        (lambda: None, {}, TypeError, "None.*gymnasium.Env"),
        ("CartPole-v1", {"env_kwargs": {"view": 1}}, TypeError, "'view': 1"),
        ("yieldrl/CartPole-v1", {"env_kwargs": {"view": 1}}, TypeError, "'view'"),
        (Sized, {}, TypeError, "'size'; give"),
        (Corridor, {"wrappers": ("gymnasium:wrap",)}, ValueError, "no such function"),
        (Corridor, {"wrappers": ("torch:is_tensor",)}, TypeError, "made False"),
        (
            Corridor,
            {"wrappers": ("gymnasium.vector:VectorWrapper",)},
            ValueError,
            "goes around a whole batch",
        ),
        (Strange, {}, TypeError, "observation.*goal.* is not supported: use Box"),
        (Parted, {}, TypeError, "action space Dict.* is not supported: use Box"),
        (Unending, {}, TypeError, "action.* is not supported: use Box"),
        (Mute, {}, TypeError, r"Mute.* observation 0\.5"),
        (Uncounted, {}, TypeError, "Uncounted has no num_envs: set it"),
        (Uncounted(), {}, TypeError, "Uncounted has no num_envs: set it"),
        (batch_whose_mode_is("SameStep"), {}, ValueError, "autoreset_mode"),
        # Several places of a batch would step one and the same game.
        (lambda: ALIKE[0], {}, ValueError, "same environment.*new one at each call"),
        (
            SyncVectorEnv([lambda: gym.wrappers.TimeLimit(ALIKE[0], 5)] * 2),
            {},
            ValueError,
            "same environment",
        ),
    ],
)
def test_what_cannot_be_made_is_named(source, options, error, words):
    with pytest.raises(error, match=words):
        make(source, config_of(**options)).reset(seed=0)
    assert make(lambda: ALIKE[0], config_of(num_envs=1)).num_envs == 1


def test_evaluation_of_a_batch_keeps_its_arguments():
    config = config_of(env_kwargs={"length": 3})
    nines = SyncVectorEnv([lambda: Corridor(9)] * 2, autoreset_mode=SAME_STEP)
    assert reward_of(make_eval(nines, config)) == [9, 9]
    lake = gym.make_vec("FrozenLake-v1", num_envs=2, map_name="8x8")
    watched = make_eval(lake, config_of(), num_envs=1, render_mode="rgb_array")
    assert watched.single_observation_space == Discrete(64)
    assert watched.render_mode == "rgb_array"
    config = config_of(env_kwargs={"is_slippery": False, "map_name": "8x8"})
    for envs in (make("FrozenLake-v1", config), make_eval("FrozenLake-v1", config)):
        assert envs.envs[0].spec.kwargs["is_slippery"] is False
        assert envs.single_observation_space == Discrete(64)


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
    with pytest.raises(ValueError, match=r"render_mode.*eval_envs="):
        make_eval(batch_whose_mode_is(SAME_STEP), config_of(), render_mode="rgb_array")


class Suited(gym.Env):
    """An environment that has a suite of its own."""

    @staticmethod
    def tasks_of_suite(name):
        if name != "sizes":
            raise ValueError(f"there is no suite {name}")
        return {"small": {"size": 1}, "large": {"size": 2}}


def test_a_file_names_tasks_and_their_arguments(tmp_path):
    file = tmp_path / "crowds.yaml"
    file.write_text("few: {num_objects: 2}\n6: {num_objects: 6}\n")
    found = find_suite(str(file), "yieldrl/GoTo-v1")
    assert [*found.items()] == [("few", {"num_objects": 2}), ("6", {"num_objects": 6})]


def test_a_class_has_suites_of_its_own(monkeypatch):
    monkeypatch.setitem(gym.registry, "Suited-v0", EnvSpec("Suited-v0", Suited))
    expected = {"small": {"size": 1}, "large": {"size": 2}}
    for source in (f"{__name__}:Suited", "Suited-v0"):
        assert find_suite("sizes", source) == expected
    with pytest.raises(ValueError, match="no suite shapes"):
        find_suite("shapes", source)


def test_what_is_no_suite():
    with pytest.raises(ValueError, match="num_objects: 2"):
        find_suite("libero_spatial", "yieldrl/GoTo-v1")
    with pytest.raises(FileNotFoundError, match="no such config"):
        find_suite("none.yaml", "yieldrl/GoTo-v1")
