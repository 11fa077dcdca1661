"""The grid's rules one by one, its sentences, and that one must listen to them."""

import gymnasium
import pytest
import torch
from gymnasium.spaces import Box, Dict, MultiDiscrete
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.envs.grid_world import COLORS, KINDS, GoToVectorEnv, views
from yieldrl.envs.grid_world.objects import EAST, NORTH, SOUTH, WEST

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


class Grid:
    """The rules again, one grid at a time, on rows and columns."""

    def __init__(self, size, agent, goal, wrong):
        self.size, self.place, self.goal, self.wrong = size, agent, goal, wrong

    def step(self, action):
        row, column = self.place
        row += {NORTH: -1, SOUTH: 1}.get(action, 0)
        column += {WEST: -1, EAST: 1}.get(action, 0)
        if 0 <= row < self.size[0] and 0 <= column < self.size[1]:
            self.place = row, column
        return float(self.place == self.goal), self.place in (self.goal, *self.wrong)


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
    place = lambda cell: divmod(int(cell), width)  # noqa: E731
    goal = envs.state["goal"].tolist()
    grids = [
        Grid(
            size,
            place(envs.state["agent"][i]),
            place(envs.state["objects"][g, i]),
            [place(envs.state["objects"][1 - g, i])],
        )
        for i, g in enumerate(goal)
    ]
    for action in actions:
        obs, reward, terminated, *_ = envs.step(torch.full((3,), action))
        expected = [grid.step(action) for grid in grids]
        assert reward.tolist() == [r for r, _ in expected]
        assert terminated.tolist() == [ended for _, ended in expected]
        agents = obs["image"][..., 0].nonzero().tolist()
        assert agents == [[i, *grid.place] for i, grid in enumerate(grids)]
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
