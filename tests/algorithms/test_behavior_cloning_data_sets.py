"""Behaviour cloning from data sets: what is written, read, left out and refused."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import config_of
from gymnasium.spaces import Box
from token_policy import Tokens

from yieldrl.algorithms import behavior_cloning, vla_ppo

minari = pytest.importorskip("minari", reason="data sets are Minari's: install minari")
h5py = pytest.importorskip("h5py", reason="demonstrations of LIBERO need h5py")


class Arm(gym.Env):
    """Shows the proprioception of `yieldrl/LIBERO-v1` alone."""

    observation_space = Box(-np.inf, np.inf, (8,), np.float32)
    action_space = Box(-1, 1, (7,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}


SMALL = {"demonstration_steps": 40, "eval_every": 0}


def trainer_of(**options):
    return behavior_cloning.Trainer(config_of("behavior_cloning", **SMALL | options))


class TestDataSets:
    def test_what_an_expert_did_is_saved_and_learned_from(self, tmp_path):
        folder = str(tmp_path / "cart-v0")
        first = trainer_of(save_demonstrations=folder)
        list(first())
        second = trainer_of(demonstrations=folder, demonstration_steps=7)
        log, *rest = second()
        assert (log["log_type"], log["sample_step"]) == ("collect", 40)
        assert len(rest) == 2 * 5
        pairs = zip(first.buffer.episodes(), second.buffer.episodes(), strict=True)
        assert all(torch.equal(a["obs"], b["obs"]) for a, b in pairs)
        with pytest.raises(FileExistsError, match=r"save_demonstrations = .* already"):
            next(trainer_of(save_demonstrations=folder)())
        with pytest.raises(FileNotFoundError, match="neither a folder"):
            trainer_of(demonstrations=str(tmp_path))
        # All of it is read: PPO would begin late, or not at all.
        options = {"env_id": "yieldrl/CartPole-v1", "env_kwargs": {}, "eval_every": 0}
        options |= {"demonstrations": folder, "clone_epochs": 2, "total_steps": 80}
        whole, part = (
            config_of(vla_ppo, **options, demonstration_steps=steps)
            for steps in (40, 20)
        )
        *_, log = vla_ppo.Trainer(whole, model=Tokens)()
        assert log["sample_step"] >= 80
        with pytest.raises(ValueError, match=r"demonstration_steps = 20.*: say 40"):
            vla_ppo.Trainer(part, model=Tokens)

    def test_a_robot_that_rests_is_not_cloned(self, tmp_path):
        """Of a file of LIBERO, whose two pictures the environment does not show."""
        file, length = tmp_path / "open_it_demo.hdf5", 12
        action = np.random.default_rng(0).uniform(-1, 1, (length, 7))
        action[3:6, :6], action[:, 6] = 0, -1
        with h5py.File(file, "w") as opened:
            demo = opened.create_group("data/demo_0")
            demo["actions"] = action
            for name in ("rewards", "dones"):
                demo[name] = np.arange(length) == length - 1
            for name, size in (("ee_pos", 3), ("ee_ori", 3), ("gripper_states", 2)):
                demo[f"obs/{name}"] = np.ones((length, size))
        for skip, steps in ((False, 12), (True, 9)):
            options = {"demonstrations": str(file), "skip_no_ops": skip}
            config = config_of("behavior_cloning", **SMALL | options)
            trainer = behavior_cloning.Trainer(config, envs=Arm)
            log = next(trainer())
            assert (log["sample_step"], trainer.buffer.full) == (steps, True)
