"""MinAtar's games on tensors are those of the package, given the same chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest
import torch
from worlds import blind

from yieldrl.envs.minatar.base import NOTHING, UP, choices, palette
from yieldrl.envs.minatar.freeway import FreewayVectorEnv

minatar = pytest.importorskip("minatar", reason="MinAtar is not installed")


Supply = Callable[[torch.Tensor], list[float]]


class Chance:
    """Answers the package's questions with the numbers that our step was given."""

    def __init__(self):
        self.numbers = []

    def next(self, size):
        count = size or 1
        taken, self.numbers = self.numbers[:count], self.numbers[count:]
        assert len(taken) == count
        return taken[0] if size is None else np.array(taken)

    def rand(self, size=None):
        return self.next(size)

    def randint(self, low, high=None, size=None):
        low, high = (0, low) if high is None else (low, high)
        return low + np.floor(self.next(size) * (high - low)).astype(int)


class Cars(Chance):
    """A decimal of one of our two numbers is a speed and a direction."""

    def randint(self, low, high=None, size=None):
        shifted = np.outer([10, 100, 1_000, 10_000], self.numbers[:2])
        self.choice = np.floor(shifted).astype(int).flatten() % 10
        return 1 + self.choice // 2

    def rand(self, size=None):
        return np.where(self.choice % 2, 0.75, 0.25)


def after(row):
    """The numbers from a row on."""
    return lambda noise: noise[row:].tolist()


def parts(row, *counts, begin=0):
    """The parts of one number, so many choices in each, and what is left of it."""

    def split(noise):
        number, answers = noise[row], []
        for count in counts:
            number = number * count
            answers.append((float(number.floor()) + 0.5) / count)
            number = number - number.floor()
        return [*answers, float(number)][begin:]

    return split


@dataclass
class Game:
    package: str  # its name there
    answers: dict[str, Supply]  # method -> those to its questions, from the noise
    channels: int
    minimal: int
    chance: type[Chance] = Chance


GAMES = {
    "Breakout": Game("breakout", {"reset": after(1)}, 4, 3),
    "Freeway": Game("freeway", {"reset": after(1), "act": after(3)}, 7, 3, Cars),
    "Asterix": Game("asterix", {"_spawn_entity": parts(1, 2, 3)}, 4, 5),
    "SpaceInvaders": Game("space_invaders", {}, 6, 4),
    "Seaquest": Game(
        "seaquest",
        {
            "_spawn_enemy": parts(1, 2, 3, 8),
            "_spawn_diver": parts(1, 2, 3, 8, 2, 8, begin=3),
        },
        10,
        6,
    ),
}
each = pytest.mark.parametrize("name", GAMES)


def make(name, num_envs, **kwargs):
    return gymnasium.make_vec(f"yieldrl/MinAtar-{name}-v1", num_envs, **kwargs)


class Originals:
    """One game of the package per board, and the noise of the boards."""

    def __init__(self, name, envs, **kwargs):
        self.games = []
        self.noise = torch.zeros(envs.noise_size, envs.num_envs)
        blind(envs)  # so that a board's noise is in its column
        for method in ("initial_state", "random_dynamics"):
            self._record(envs, method)
        for i in range(envs.num_envs):
            game = minatar.Environment(GAMES[name].package, **kwargs)
            game.random, game.env.random = Chance(), GAMES[name].chance()
            for method, supply in GAMES[name].answers.items():
                self._supply(game.env, method, supply, i)
            self.games.append(game)

    def _record(self, envs, method):
        original = getattr(envs, method)

        def recorded(*args):
            if args[-1].any():  # with zeros, a first reset only tries the functions
                self.noise = args[-1]
            return original(*args)

        setattr(envs, method, recorded)

    def _supply(self, game, method, supply, i):
        original = getattr(game, method)

        def supplied(*args, **kwargs):
            game.random.numbers = supply(self.noise[:, i])
            return original(*args, **kwargs)

        setattr(game, method, supplied)

    def reset(self, i):
        self.games[i].reset()
        self.games[i].last_action = NOTHING  # the batch forgets it between episodes

    def boards(self):
        return torch.from_numpy(np.stack([game.state() for game in self.games]))

    def act(self, i, action):
        self.games[i].random.numbers = [float(self.noise[0, i])]
        reward, ended = self.games[i].act(action)
        return float(reward), bool(ended)


def play(name, envs, choose, steps, **kwargs):
    """Play both, compare all that can be seen; rewards and ends of all steps."""
    originals = Originals(name, envs, **kwargs)
    obs, _ = envs.reset(seed=0)
    for i in range(envs.num_envs):
        originals.reset(i)
    assert torch.equal(obs, originals.boards())
    rewards, ends = [], []
    minimal = envs.single_action_space.n < 6
    for _ in range(steps):
        action = choose(obs)
        meant = envs.meant(action).tolist() if minimal else action.tolist()
        obs, reward, terminated, truncated, info = envs.step(action)
        answers = [originals.act(i, a) for i, a in enumerate(meant)]
        assert reward.tolist() == [r for r, _ in answers]
        assert terminated.tolist() == [ended for _, ended in answers]
        assert not truncated.any()
        assert torch.equal(info["final_obs"], originals.boards())
        for i in terminated.nonzero().flatten().tolist():
            originals.reset(i)
        assert torch.equal(obs, originals.boards())
        rewards.append(reward)
        ends.append(terminated)
    return torch.stack(rewards), torch.stack(ends)


def at_random(envs):
    """At random, but up more often than not: no road is crossed otherwise."""
    n, count = envs.num_envs, int(envs.single_action_space.n)
    chooser = torch.Generator().manual_seed(0)
    meant = envs.meant(torch.arange(count)).tolist()
    up = meant.index(UP) if UP in meant else 0
    bias = 0.8 if isinstance(envs, FreewayVectorEnv) else 0.0

    def choose(_):
        any_one = torch.randint(count, (n,), generator=chooser)
        return torch.where(torch.rand(n, generator=chooser) < bias, up, any_one)

    return choose


@each
@pytest.mark.parametrize(("minimal", "sticky"), [(True, 0.1), (False, 0.5)])
def test_a_step_is_the_packages(name, minimal, sticky):
    options = {"sticky_action_prob": sticky, "difficulty_ramping": minimal}
    envs = make(name, 8, minimal_actions=minimal, **options)
    rewards, ends = play(name, envs, at_random(envs), 150, **options)
    assert rewards.sum() > 0
    assert ends.any() == (name != "Freeway")


@each
def test_spaces(name):
    game, envs = GAMES[name], make(name, 3)
    assert envs.single_observation_space.shape == (10, 10, game.channels)
    assert envs.single_observation_space.dtype == np.bool_
    assert envs.single_action_space.n == game.minimal
    original = minatar.Environment(game.package)
    assert original.minimal_action_set() == list(envs.actions)
    assert list(original.env.channels) == list(envs.channels)
    assert make(name, 3, minimal_actions=False).single_action_space.n == 6
    assert gymnasium.spec(f"yieldrl/MinAtar-{name}-v1").max_episode_steps is None


def test_breakout_to_the_second_wall():
    """A paddle that mostly follows the ball."""
    envs = make("Breakout", 8, sticky_action_prob=0.0)
    random = at_random(envs)

    def follow(obs):
        paddle, ball = (obs[..., c].any(1).int().argmax(1) for c in (0, 1))
        better = 1 * (ball < paddle) + 2 * (ball > paddle)
        return torch.where(torch.rand(8) < 0.02, random(obs), better)

    torch.manual_seed(0)
    rewards, ends = play("Breakout", envs, follow, 600, sticky_action_prob=0.0)
    best = 0.0
    for column, ended in zip(rewards.T, ends.T, strict=True):
        marks = torch.cat((torch.zeros(1), ended.cumsum(0)))[:-1]
        best = max(best, *(float(column[marks == k].sum()) for k in marks.unique()))
    assert best > 30


@pytest.mark.parametrize(
    "name",
    [
        "Asterix",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("Freeway", "SpaceInvaders", "Seaquest")
        ),
    ],
)
def test_what_no_random_player_gets_to_see(name):
    """Nothing ends an episode here: games become hard, and go on after defeats."""
    steps = {"Freeway": 2600, "SpaceInvaders": 2000}.get(name, 1200)
    n = 3 if name == "Freeway" else 8  # whose episodes take 2501 steps
    envs = make(name, n, minimal_actions=False)
    originals = Originals(name, envs)
    envs.reset(seed=1)
    for i in range(n):
        originals.reset(i)
    state, choose, total = envs.state, at_random(envs), 0.0
    for _ in range(steps):
        action, originals.noise = choose(None), envs.draw_noise()
        state, reward, terminated = envs.random_dynamics(state, action, originals.noise)
        meant = envs.meant(action).tolist()
        answers = [originals.act(i, a) for i, a in enumerate(meant)]
        assert reward.tolist() == [r for r, _ in answers]
        assert terminated.tolist() == [ended for _, ended in answers]
        assert torch.equal(envs.observe(state), originals.boards())
        for original in originals.games:
            original.env.terminal = False
        total += reward.clamp(min=0).sum()
    assert total > 8
    ramps = [original.env.difficulty_ramp() for original in originals.games]
    assert ramps == [None] * n or max(ramps) > 2


def test_choices_of_one_number_are_fair_and_independent():
    numbers = torch.rand(400_000, generator=torch.Generator().manual_seed(0))
    a, b, c = choices(numbers, 2, 3, torch.full((400_000,), 8))
    counts = torch.bincount((a * 3 + b) * 8 + c, minlength=48)
    expected = 400_000 / 48
    assert len(counts) == 48
    assert ((counts - expected) ** 2 / expected).sum() < 92  # 99.99 % of chi-square(47)


def test_pictures():
    envs = make("Asterix", 4, render_mode="rgb_array")
    obs, _ = envs.reset(seed=0)
    for _ in range(40):
        obs, *_ = envs.step(envs.action_space.sample())
    colours = palette(len(envs.channels))
    assert colours[0].tolist() == [0, 0, 0]
    for frame, board in zip(envs.render([3, 1]), obs[[3, 1]].numpy(), strict=True):
        last = (board * np.arange(1, board.shape[-1] + 1)).max(-1)
        tiles = colours[last].repeat(16, 0).repeat(16, 1)
        np.testing.assert_array_equal(frame, tiles)
    with pytest.raises(ValueError, match=r"sticky_action_prob = 1\.5"):
        make("Breakout", 1, sticky_action_prob=1.5)
