"""The expert's way is a shortest one, and never over another object."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.envs.conformance import _NoWaiting
from yieldrl.envs.grid_world import GoToVectorEnv
from yieldrl.envs.grid_world.objects import EAST, cells_ahead, first_moves

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


def neighbours(cell, height, width):
    """Where the four moves lead, walls hold."""
    row, column = divmod(cell, width)
    return [
        max(row - 1, 0) * width + column,
        row * width + min(column + 1, width - 1),
        min(row + 1, height - 1) * width + column,
        row * width + max(column - 1, 0),
    ]


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
