"""Prompts, answers and rewards of the worlds that are written in."""

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from yieldrl.core.text import decode
from yieldrl.envs.writing import (
    StepsVectorEnv,
    SumsVectorEnv,
    digits,
    joined,
    letters,
    packed,
)

CPU = torch.device("cpu")
MANY = st.lists(st.integers(0, 10**6 - 1), min_size=1, max_size=8)


def asked(kind, *operands, **kwargs):
    """Environments that ask for these sums."""
    envs = kind(len(operands), **{"max_operand": 99, **kwargs})
    envs.reset(seed=0)
    envs.state = {"operands": torch.tensor(operands).T.contiguous()}
    return envs


@given(MANY, st.integers(6, 9))
def test_numbers_are_written_as_python_writes_them(numbers, width):
    written = digits(torch.tensor(numbers), width)
    assert written.dtype == torch.uint8
    assert [bytes(row) for row in written.tolist()] == [
        str(number).encode().rjust(width, b"\0") for number in numbers
    ]


@given(arrays.arrays(np.uint8, (3, 7), elements=st.integers(0, 3)))
def test_zeros_go_to_the_end_and_letters_keep_their_order(rows):
    expected = [bytes(row).replace(b"\0", b"").ljust(7, b"\0") for row in rows]
    found = packed(torch.from_numpy(rows))
    assert [bytes(row) for row in found.tolist()] == expected


def test_parts_are_joined_without_gaps():
    parts = [digits(torch.tensor([7, 42]), 3), letters("+", CPU)]
    assert decode(joined(parts, 6)) == ["7+", "42+"]
    assert joined(parts, 6).shape == (2, 6)
    assert decode(joined(parts, 2)) == ["7+", "42"]


def by_columns(left, right):
    """The expert's answer by Python."""
    ones = left % 10 + right % 10
    tens = left // 10 + right // 10 + ones // 10
    return f"<t>{ones} {tens}</t>{left + right}"


@pytest.mark.parametrize(
    ("kind", "answer"),
    [(SumsVectorEnv, lambda a, b: str(a + b)), (StepsVectorEnv, by_columns)],
)
def test_every_sum_is_asked_for_and_the_expert_knows_it(kind, answer):
    number = torch.arange(100)
    envs = asked(kind, *torch.cartesian_prod(number, number).tolist())
    prompt = envs.observe(envs.state)["prompt"]
    assert decode(prompt) == [f"{a}+{b}=" for a in range(100) for b in range(100)]
    assert prompt.shape == (10_000, 6)
    expected = [answer(a, b) for a in range(100) for b in range(100)]
    assert decode(envs.expert()) == expected
    _, reward, terminated, truncated, info = envs.step(envs.expert())
    assert (reward == 1).all()
    assert terminated.all()
    assert not truncated.any()
    assert info["success"].all()
    assert info.get("formatted", terminated).all()


def test_an_answer_is_right_or_wrong():
    answers = ["42", "24", "", "042", "42 ", " 42", "4"]
    envs = asked(SumsVectorEnv, *[(17, 25)] * len(answers))
    _, rewards, *_, info = envs.step(answers)
    assert rewards.tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert info["success"].tolist() == [True] + [False] * 6


def test_bytes_are_taken_in_every_form():
    right = SumsVectorEnv(max_operand=99).single_action_space.encode(["42", "3"])
    for answer in (right, right.astype(np.int64), right.tolist(), torch.tensor(right)):
        envs = asked(SumsVectorEnv, (40, 2), (1, 2))
        assert envs.step(answer)[1].tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"actions must be of shape .* 5 bytes"):
        envs.step(["12345", "1"])
    with pytest.raises(ValueError, match="actions must be integers of shape"):
        envs.step(["42"])


def test_operands_are_what_the_noise_says():
    envs = SumsVectorEnv(max_operand=9)
    noise = torch.tensor([[0.0, 0.1, 0.5, 0.99, 1.0 - 2**-24], [0.95] * 5])
    operands = envs.initial_state(noise)["operands"]
    assert operands.tolist() == [[0, 1, 5, 9, 9], [9] * 5]
    largest = SumsVectorEnv(max_operand=999_999).initial_state(noise)["operands"]
    assert largest.max() == 999_999


def test_there_is_room_for_the_longest():
    for largest, prompt, answer in ((4, 4, 2), (9, 4, 3), (49, 6, 3), (999, 8, 5)):
        envs = SumsVectorEnv(max_operand=largest)
        assert envs.single_observation_space["prompt"].max_bytes == prompt
        assert envs.single_action_space.max_bytes == answer
    envs = asked(StepsVectorEnv, (999, 999), max_operand=999)
    assert decode(envs.expert()) == ["<t>18 19 19</t>1998"]
    assert envs.single_action_space.max_bytes == len("<t>18 19 19</t>1998") + 1
    for largest in (0, 1_000_000):
        with pytest.raises(ValueError, match=f"max_operand = {largest}: must be"):
            SumsVectorEnv(max_operand=largest)


REWARDS = {
    "<t>12 4</t>42": 1,
    "<t></t>42": 1,
    "<t>nope</t>42": 1,
    "<t>12 4</t>43": 0.1,
    "<t></t>042": 0.1,
    "42": 0,
    "<t>12 4</t>": 0,
    "<t>12 4</t>4 2": 0,
    "<t>12 442": 0,
    "12 4</t>42": 0,
    " <t></t>42": 0,
    "<t></t></t>42": 0,
    "<t></t>42\0\0": 1,
    "<t></t>4\0\x002": 0,
    "<t>1\0</t>42": 0,
    "": 0,
}


def test_the_format_pays_less_than_the_answer():
    envs = asked(StepsVectorEnv, *[(17, 25)] * len(REWARDS))
    rows = np.stack([envs.single_action_space.encode(answer) for answer in REWARDS])
    _, rewards, *_, info = envs.step(rows)
    expected = list(REWARDS.values())
    assert rewards.tolist() == pytest.approx(expected)
    assert info["success"].tolist() == [reward == 1 for reward in expected]
    assert info["formatted"].tolist() == [reward > 0 for reward in expected]


@pytest.mark.parametrize("name", ["Sums", "Steps"])
def test_one_alone_is_answered_in_words(name):
    env = gymnasium.make(f"yieldrl/{name}-v1", max_operand=9)
    obs, _ = env.reset(seed=4)
    left, right = decode(obs["prompt"])[0].rstrip("=").split("+")
    expert = env.unwrapped.expert()
    right_answer = decode(expert)[0]
    assert right_answer.endswith(str(int(left) + int(right)))
    _, reward, terminated, _, info = env.step(right_answer)
    assert (reward, terminated, info["success"]) == (1.0, True, True)
