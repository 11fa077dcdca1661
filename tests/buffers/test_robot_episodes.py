"""Recorded episodes as transitions: where they end, what is left out of them."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete

from yieldrl.buffers.robot_episodes import (
    Recorded,
    Recording,
    entries_of,
    without_no_ops,
)
from yieldrl.core import Utf8Text

NUMBERS = Box(-np.inf, np.inf, (1,), np.float32)
PICTURE = Box(0, 255, (8, 8, 3), np.uint8)

FOUND = {
    "rgb.agentview": PICTURE,
    "rgb.wrist": PICTURE,
    "proprio": NUMBERS,
    "language": Utf8Text(9),
}


def transitions(seen, terminated, actions=3):
    obs = {"x": np.arange(seen, dtype=np.float32)[:, None]}
    action = 10 + np.arange(actions, dtype=np.float64)[:, None]
    reward = np.array([0, 0, 1], np.uint8)[:actions]
    recording = Recording(obs, action, reward, terminated)
    return recording.transitions(Dict(x=NUMBERS), {("x",): "x"})


class TestTransitions:
    def test_what_ended_repeats_its_last_observation(self):
        data = transitions(3, terminated=True)
        assert data["obs", "x"].squeeze(1).tolist() == [0, 1, 2]
        assert data["next_obs", "x"].squeeze(1).tolist() == [1, 2, 2]
        assert data["action"].squeeze(1).tolist() == [10, 11, 12]
        assert data["reward"].tolist() == [0, 0, 1]
        assert data["terminated"].tolist() == [False, False, True]
        assert data["truncated"].tolist() == [False] * 3

    def test_of_what_was_cut_the_last_observation_is_no_transition(self):
        data = transitions(3, terminated=False)
        assert data["next_obs", "x"].squeeze(1).tolist() == [1, 2]
        assert data["truncated"].tolist() == [False, True]

    @pytest.mark.parametrize("terminated", [True, False])
    def test_one_observation_more_is_the_last_next_one(self, terminated):
        data = transitions(4, terminated)
        assert data["next_obs", "x"].squeeze(1).tolist() == [1, 2, 3]
        assert data["terminated"].tolist() == [False, False, terminated]
        assert data["truncated"].tolist() == [False, False, not terminated]


class TestEntries:
    def test_without_a_wanted_space_all_are_there(self):
        space, entries = entries_of("x", FOUND, None)
        assert space == Dict(
            rgb=Dict(agentview=PICTURE, wrist=PICTURE),
            proprio=NUMBERS,
            language=Utf8Text(9),
        )
        assert entries["rgb", "wrist"] == "rgb.wrist"

    def test_names_and_kinds(self):
        wanted = Dict(image=PICTURE, wrist_image=PICTURE, state=NUMBERS)
        assert entries_of("x", FOUND, wanted)[1] == {
            ("image",): "rgb.agentview",
            ("wrist_image",): "rgb.wrist",
            ("state",): "proprio",
        }
        assert entries_of("x", FOUND, NUMBERS)[1] == {(): "proprio"}

    def test_what_does_not_fit(self):
        for wanted in (
            Dict(other=PICTURE),  # which of two?
            Dict(wrist=Box(0, 255, (16, 16, 3), np.uint8)),
            Dict(wrist=Box(0, 1, (8, 8, 3), np.float32)),
            Dict(proprio=Box(-1, 1, (2,), np.float32)),
            Dict(proprio=Discrete(2)),
        ):
            with pytest.raises(ValueError, match="cameras and image size"):
                entries_of("the data", FOUND, wanted)

    def test_actions(self):
        found, bounded = Box(-9, 9, (2,)), Box(-1, 1, (2,))
        data = Recorded("x", FOUND, found, 0, lambda names: iter(()), grips=False)
        assert data.chosen(None, bounded).action_space is bounded
        assert data.chosen(None, None).action_space is found
        for wanted in (Discrete(2), Box(-1, 1, (3,))):
            with pytest.raises(ValueError, match="actions are 2 numbers"):
                data.chosen(None, wanted)


class TestNoOps:
    def episode(self, actions, terminated=True):
        count = len(actions)
        obs = {"x": np.arange(count + 1, dtype=np.float32)[:, None]}
        reward = 2.0 ** np.arange(count)
        recording = Recording(obs, np.array(actions, float), reward, terminated)
        return recording.transitions(Dict(x=NUMBERS), {("x",): "x"})

    def test_steps_at_rest_are_left_out(self):
        still, close, move = [0, 9e-5, -1], [0, 0, 1], [1e-4, 0, 1]
        rest = self.episode([still, [1, 0, -1], still, still, close, close, move])
        data = without_no_ops(rest)
        assert data["obs", "x"].squeeze(1).tolist() == [1, 4, 6]
        assert data["next_obs", "x"].squeeze(1).tolist() == [4, 6, 7]
        assert data["reward"].tolist() == [2 + 4 + 8, 16 + 32, 64]
        assert data["terminated"].tolist() == [False, False, True]
        assert data["terminated"].dtype == torch.bool

    @pytest.mark.parametrize("terminated", [True, False])
    def test_the_last_kept_step_gets_the_end(self, terminated):
        data = without_no_ops(self.episode([[1, 0, 1], [0, 0, 1]], terminated))
        assert data["next_obs", "x"].squeeze(1).tolist() == [2]
        assert data["terminated"].tolist() == [terminated]
        assert data["truncated"].tolist() == [not terminated]

    def test_nothing_may_be_left(self):
        assert len(without_no_ops(self.episode([[0, 0, 1], [0, 0, 1]]))) == 0
        assert len(transitions(1, terminated=False, actions=1)) == 0
