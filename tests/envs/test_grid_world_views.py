"""Grids as pixels, goals that are held out, and what tells success."""

from itertools import combinations

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.core.text import Utf8Text, decode
from yieldrl.envs.grid_world import COLORS, KINDS, GoToVectorEnv
from yieldrl.envs.grid_world.objects import HELD_OUT, SHAPES
from yieldrl.envs.grid_world.views import FLOOR, SMALLEST, sprites


def seen(num_envs=1, **kwargs):
    envs = GoToVectorEnv(num_envs, view="pixels", **kwargs)
    obs, _ = envs.reset(seed=0)
    return envs, obs


@given(
    seed=st.integers(0, 1000),
    size=st.tuples(st.integers(1, 5), st.integers(4, 5)),
    cell=st.integers(SMALLEST, 9),
)
@settings(max_examples=20)
def test_every_cell_is_its_sprite(seed, size, cell):
    height, width = size
    envs = GoToVectorEnv(
        3, height=height, width=width, view="pixels", cell_pixels=cell, num_objects=2
    )
    obs, _ = envs.reset(seed=seed)
    envs.state["agent"][0] = envs.state["objects"][0, 0]  # as at an episode's end
    obs, pictures = envs.observe(envs.state), torch.from_numpy(sprites(cell))
    for i in range(3):
        for place in range(height * width):
            kinds = envs.state["kinds"][:, i][envs.state["objects"][:, i] == place]
            number = int(kinds[0]) + 1 if len(kinds) else 0
            number += 13 * int(envs.state["agent"][i] == place)
            row, column = divmod(place, width)
            part = obs["rgb"][i, row * cell :, column * cell :][:cell, :cell]
            assert torch.equal(part, pictures[number])


def test_no_two_cells_look_alike():
    for size in (SMALLEST, 8):
        pictures = sprites(size).astype(float)
        assert pictures.shape == (26, size, size, 3)
        assert (pictures[0] == FLOOR).all()
        for one, other in combinations(pictures, 2):
            assert abs(one - other).mean() > 4  # of 255, and of all pixels


def test_both_views_are_of_the_same_grid():
    symbols = GoToVectorEnv(64)
    symbols.reset(seed=4)
    pixels, _ = seen(64)
    pixels.reset(seed=4)
    for key, value in symbols.state.items():
        assert torch.equal(pixels.state[key], value)
    for action in torch.randint(0, 4, (20, 64)):
        read, *facts = symbols.step(action)
        shown, *same_facts = pixels.step(action)
        sentences = symbols.vocabulary.decode(read["instruction"])
        assert decode(shown["language"]) == sentences
        for fact, same in zip(facts[:3], same_facts[:3], strict=True):
            assert torch.equal(fact, same)


@pytest.mark.parametrize(
    ("goals", "num_objects"), [("seen", 3), ("seen", 12), ("unseen", 1), ("unseen", 3)]
)
def test_goals_are_those_and_things_are_all(goals, num_objects):
    n = 12_000
    envs = GoToVectorEnv(n, goals=goals, num_objects=num_objects)
    envs.reset(seed=0)
    kinds, goal = envs.state["kinds"], envs.state["goal"]
    assert (kinds.sort(0).values.diff(dim=0) > 0).all()  # none twice
    named = kinds.gather(0, goal.unsqueeze(0))[0]
    allowed = [i for i, k in enumerate(KINDS) if (k in HELD_OUT) == (goals == "unseen")]
    expected = torch.zeros(12)
    expected[allowed] = 1 / len(allowed)
    assert _far(named, expected) < 4.5
    for place in range(num_objects if num_objects > 1 else 0):
        # A place has what is named, or one of the other eleven.
        share = (1 - expected) / 11 * (1 - 1 / num_objects) + expected / num_objects
        assert _far(kinds[place], share) < 4.5
        assert _far(kinds[place][goal != place], (1 - expected) / 11) < 4.5
    assert _far(goal, torch.full((num_objects,), 1 / num_objects)) < 4.5


def _far(numbers, expected):
    """The largest difference of a share from the expected one, in its deviations."""
    share = torch.bincount(numbers, minlength=len(expected)) / len(numbers)
    std = (expected * (1 - expected) / len(numbers)).sqrt().clamp(min=1e-9)
    return ((share - expected).abs() / std).max()


def test_success_is_a_step_to_the_right_one():
    for mode in ("SameStep", "NextStep", "Disabled"):
        envs = GoToVectorEnv(2, autoreset_mode=mode, wrong_reward=-1.0)
        envs.reset(seed=0)
        envs.state["agent"][:], envs.state["goal"][:] = 0, 0
        envs.state["objects"][:] = torch.tensor([[1, 7], [7, 1], [8, 8]])
        _, reward, terminated, truncated, info = envs.step(torch.tensor([1, 1]))
        assert reward.tolist() == [1, -1]
        assert terminated.all()
        assert not truncated.any()
        assert info["success"].tolist() == [True, False]


def test_spaces():
    envs, obs = seen(2, height=3, width=5, cell_pixels=8)
    space = envs.single_observation_space
    assert space["rgb"] == Box(0, 255, (24, 40, 3), np.uint8)
    assert space["language"] == Utf8Text(len("go to the yellow triangle"))
    assert obs["rgb"].dtype == obs["language"].dtype == torch.uint8
    assert space.contains({key: value[0].numpy() for key, value in obs.items()})


def test_the_picture_does_not_know_the_goal():
    envs, _ = seen(3)
    envs.state = {key: x[..., :1].expand_as(x) for key, x in envs.state.items()}
    envs.state["goal"] = torch.arange(3)
    obs = envs.observe(envs.state)
    assert torch.equal(obs["rgb"], obs["rgb"][:1].expand(3, -1, -1, -1))
    assert len(set(decode(obs["language"]))) == 3


def test_held_out_kinds_leave_every_word_in_use():
    colors, shapes = zip(*(kind for kind in KINDS if kind not in HELD_OUT), strict=True)
    assert (len(colors), {*colors}, {*shapes}) == (9, set(COLORS), set(SHAPES))
    colors, shapes = zip(*HELD_OUT, strict=True)
    assert len({*colors}) == len({*shapes}) == 3


@pytest.mark.parametrize(
    ("goals", "wrong_reward"), [("all", -2.0), ("seen", -0.5), ("unseen", 0.0)]
)
def test_the_best_without_listening(goals, wrong_reward):
    """It counts the objects that could be meant, and goes to one of them or to none."""
    envs = GoToVectorEnv(20_000, goals=goals, wrong_reward=wrong_reward)
    envs.reset(seed=1)
    chance = 1 / torch.isin(envs.state["kinds"], envs._nameable).sum(0)
    best = (chance + (1 - chance) * wrong_reward).clamp(min=0).mean().item()
    assert best == pytest.approx(envs.deaf_return, abs=0.015)


@pytest.mark.parametrize(
    ("kwargs", "word"),
    [
        ({"view": "text"}, "view"),
        ({"goals": "some"}, "goals"),
        ({"view": "pixels", "cell_pixels": 3}, "cell_pixels"),
        ({"num_objects": 13}, "num_objects = 13"),
        ({"height": 2, "width": 2, "num_objects": 4}, "no room for 4 objects"),
        ({"templates": ["the {color} one"]}, "must name"),
    ],
)
def test_what_cannot_be_is_refused(kwargs, word):
    with pytest.raises(ValueError, match=word):
        GoToVectorEnv(**kwargs)
