"""The grid's rules one by one, its sentences, and its expert, who avoids others."""

import gymnasium
import pytest
import torch
from gymnasium.spaces import Box, Dict, MultiDiscrete
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.envs.conformance import _NoWaiting
from yieldrl.envs.grid_world import COLORS, KINDS, GoToVectorEnv, views
from yieldrl.envs.grid_world.objects import (
    EAST,
    cells_ahead,
    first_moves,
)

RED_SQUARE, BLUE_CIRCLE = map(KINDS.index, (("red", "square"), ("blue", "circle")))


def grid_of(goal=0, **kwargs):
    """2 x 3 cells: the agent on the left above, a red square below it, a blue circle
    two cells to its right.

        agent  .  circle
        square .  .
    """
    envs = GoToVectorEnv(height=2, width=3, num_objects=2, **kwargs)
    envs.reset(seed=0)
    envs.state = {
        "agent": torch.tensor([0]),
        "objects": torch.tensor([[3], [2]]),
        "kinds": torch.tensor([[RED_SQUARE], [BLUE_CIRCLE]]),
        "goal": torch.tensor([goal]),
        "template": torch.tensor([0]),
    }
    return envs


def test_what_is_seen():
    envs = grid_of(goal=1)
    obs = envs.observe(envs.state)
    agent, colors, shapes = obs["image"][0].split((1, 4, 3), dim=-1)
    assert agent.squeeze(-1).tolist() == [[1, 0, 0], [0, 0, 0]]
    assert colors.nonzero().tolist() == [[0, 2, 2], [1, 0, 0]]  # blue, red
    assert shapes.nonzero().tolist() == [[0, 2, 1], [1, 0, 0]]  # circle, square
    assert envs.vocabulary.decode(obs["instruction"]) == ["go to the blue circle"]
    envs.state["template"] += 1
    obs = envs.observe(envs.state)
    assert envs.vocabulary.decode(obs["instruction"][0]) == "find the blue circle"
    assert obs["instruction"][0, -1] == 0  # one word less


def neighbours(cell, height, width):
    """Where the four moves lead, walls hold."""
    row, column = divmod(cell, width)
    return [
        max(row - 1, 0) * width + column,
        row * width + min(column + 1, width - 1),
        min(row + 1, height - 1) * width + column,
        row * width + max(column - 1, 0),
    ]


@settings(max_examples=30)
@given(
    seed=st.integers(0, 1000),
    size=st.tuples(st.integers(2, 4), st.integers(2, 4)),
    actions=st.lists(st.integers(0, 3), min_size=1, max_size=15),
)
def test_it_equals_the_rules(seed, size, actions):
    height, width = size
    envs = GoToVectorEnv(
        3, height=height, width=width, num_objects=2, autoreset_mode="Disabled"
    )
    envs.reset(seed=seed)
    cells, objects = envs.state["agent"].tolist(), envs.state["objects"].T.tolist()
    goals = [row[g] for row, g in zip(objects, envs.state["goal"], strict=True)]
    for action in actions:
        obs, reward, terminated, *_ = envs.step(torch.full((3,), action))
        cells = [neighbours(cell, height, width)[action] for cell in cells]
        assert reward.tolist() == [cells[i] == goals[i] for i in range(3)]
        assert terminated.tolist() == [cells[i] in objects[i] for i in range(3)]
        agents = obs["image"][..., 0].nonzero().tolist()
        assert agents == [[i, *divmod(cells[i], width)] for i in range(3)]
        if terminated.any():
            return


def test_first_states_are_fair():
    """Cells, kinds, goals and sentences: each as likely as the next, none twice."""
    n = 20_000
    envs = GoToVectorEnv(n, height=2, width=3)
    envs.reset(seed=0)
    state = envs.state
    cells = torch.cat((state["agent"].unsqueeze(0), state["objects"]))
    for drawn, options in ((cells, 6), (state["kinds"], 12)):
        ordered = drawn.sort(0).values
        assert (ordered.diff(dim=0) > 0).all()
        assert ordered.min() == 0
        assert ordered.max() == options - 1
    draws = [(row, 6) for row in cells] + [(row, 12) for row in state["kinds"]]
    for row, options in [*draws, (state["goal"], 3), (state["template"], 2)]:
        share = torch.bincount(row, minlength=options) / n
        std = (1 / options * (1 - 1 / options) / n) ** 0.5
        assert ((share - 1 / options).abs() < 4.5 * std).all()
    # The goal is independent of where things lie and what they are.
    for row in (cells[0], cells[1], state["kinds"][0]):
        pairs = torch.bincount(row * 3 + state["goal"]) / n
        expected = 1 / len(pairs)
        assert ((pairs - expected).abs() < 4.5 * (expected / n) ** 0.5).all()


def test_words():
    envs = gymnasium.make_vec("yieldrl/GoTo-v1", num_envs=3, num_objects=2)
    assert envs.single_observation_space == Dict(
        image=Box(0, 1, (6, 6, 8)), instruction=MultiDiscrete([12] * 5)
    )
    vocabulary = GoToVectorEnv(templates=["seek {shape} of {color}"]).vocabulary
    assert vocabulary.words[:5] == ["<pad>", "seek", "square", "of", "red"]
    text = "seek circle of red"
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert vocabulary.encode("seek").tolist() == [1, 0, 0, 0]
    with pytest.raises(ValueError, match=r"unknown: \['purple'\]"):
        vocabulary.encode("seek purple")
    with pytest.raises(ValueError, match="at most 4 of the words"):
        vocabulary.encode("seek seek seek seek seek")


def test_its_picture():
    envs = grid_of(render_mode="rgb_array")
    (picture,) = envs.render()
    assert picture.shape == (64, 96, 3)
    middle = picture[16::32, 16::32].tolist()
    red, blue = (list(COLORS[name]) for name in ("red", "blue"))
    floor = list(views.FLOOR)
    assert middle == [[floor, floor, blue], [red, floor, floor]]
    dark = (picture == views.AGENT).all(-1)
    assert dark[:32, :32].any()  # the agent
    assert dark[32:, :32].any()  # the frame around the goal
    assert not dark[:, 32:].any()


CPU = torch.device("cpu")


def distances(goal, barred, height, width):
    """Steps to the goal by breadth-first search, for each cell that has a way."""
    found, front = {goal: 0}, [goal]
    for cell in front:
        for there in neighbours(cell, height, width):
            if there not in found and there not in barred:
                found[there] = found[cell] + 1
                front.append(there)
    return found


@given(
    size=st.tuples(st.integers(1, 5), st.integers(2, 5)),
    chooser=st.randoms(use_true_random=False),
)
@settings(max_examples=150)
def test_it_is_the_first_of_the_best_moves(size, chooser):
    height, width = size
    cells = list(range(height * width))
    count = chooser.randint(1, len(cells) - 1)
    start, goal, *others = chooser.sample(cells, count + 1)
    barred = torch.tensor([goal, *others]).unsqueeze(1)
    one = torch.tensor([start]), torch.tensor([goal])
    (move,) = first_moves(*one, barred, cells_ahead(height, width, CPU)).tolist()
    steps = distances(goal, others, height, width)
    there = neighbours(start, height, width)
    if start in steps:
        assert move == min(range(4), key=lambda m: steps.get(there[m], 1000))
    elif any(cell not in others for cell in there):
        assert there[move] not in others


def test_a_way_through_all_cells():
    """A snake: the only way leads along every second row, back and forth."""
    height, width = 7, 5
    barred = [cell for row in (1, 5) for cell in range(row * width, row * width + 4)]
    barred += range(3 * width + 1, 4 * width)
    place, goal, steps = 0, 6 * width, 0
    walls = torch.tensor(barred).unsqueeze(1)
    while place != goal:
        one = torch.tensor([place]), torch.tensor([goal])
        (move,) = first_moves(*one, walls, cells_ahead(height, width, CPU)).tolist()
        place = neighbours(place, height, width)[move]
        steps += 1
        assert place not in barred
        assert steps <= height * width
    assert steps == 6 + 4 * 4


def test_it_never_waits_and_changes_nothing():
    envs = GoToVectorEnv(8)
    envs.reset(seed=0)
    before = envs.state_dict()
    with _NoWaiting():
        first = envs.expert()
    assert first.dtype == torch.int64
    assert torch.equal(first, envs.expert())
    for key, value in envs.state_dict()["state"].items():
        assert torch.equal(before["state"][key], value)


def test_where_no_way_is_left_it_keeps_away():
    """The goal is in the corner on the right, with others on both sides of it.

    .  agent  other  goal
    .  .      .      other
    """
    envs = GoToVectorEnv(1, height=2, width=4, wrong_reward=-1.0)
    envs.reset(seed=0)
    envs.state["agent"][:], envs.state["goal"][:] = 1, 0
    envs.state["objects"] = torch.tensor([[3], [2], [7]])
    for t in range(50):
        assert envs.expert().item() != EAST or envs.state["agent"].item() != 1
        _, reward, terminated, truncated, _ = envs.step(envs.expert())
        assert (reward.item(), terminated.item()) == (0, False)
        assert truncated.item() == (t == 49)


def test_it_always_arrives_where_there_is_a_way():
    envs = GoToVectorEnv(256, height=5, width=5, autoreset_mode="Disabled")
    envs.reset(seed=0)
    expected = []
    goals, state = envs.state["goal"].tolist(), envs.state
    for start, goal, row in zip(state["agent"], goals, state["objects"].T, strict=True):
        others = {*row.tolist()} - {int(row[goal])}
        expected.append(distances(int(row[goal]), others, 5, 5).get(int(start), 99))
    ways = torch.tensor(expected)
    for step in range(1, 25):
        *_, info = envs.step(envs.expert())
        assert torch.equal(info["success"] & (ways >= step), ways == step)
        envs._ended.zero_()  # what comes after an end does not count
    assert (ways == 99).sum() <= 3
