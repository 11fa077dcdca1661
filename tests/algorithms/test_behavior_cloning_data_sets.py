"""Behaviour cloning from data sets: what is written, read, left out and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import config_of
from gymnasium.spaces import Box
from token_policy import Tokens

from yieldrl.algorithms import behavior_cloning, vla_ppo
from yieldrl.cli import main
from yieldrl.loggers import latest_checkpoint

minari = pytest.importorskip("minari", reason="data sets are Minari's: install minari")
h5py = pytest.importorskip("h5py", reason="demonstrations of LIBERO need h5py")


class Arm(gym.Env[Any, Any]):
    """Shows the proprioception of `yieldrl/LIBERO-v1` alone."""

    observation_space = Box(-np.inf, np.inf, (8,), np.float32)
    action_space = Box(-1, 1, (7,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}


SMALL = {"demonstration_steps": 40, "eval_every": 0}


def trainer_of(**options: Any) -> Any:
    return behavior_cloning.Trainer(config_of("behavior_cloning", **SMALL | options))


class TestDataSets:
    def test_what_an_expert_did_is_saved_and_learned_from(self, tmp_path: Path) -> None:
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

    def test_on_the_command_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        words = ["train", "behavior_cloning", "--batch-size", "8", "--num-epochs", "2"]
        words += ["--hidden-sizes", "8", "--eval-every", "4", "--run-name"]
        steps = ["--demonstration-steps", "40"]
        main([*words, "first", *steps, "--save-demonstrations", "demos/cart-v0"])
        main([*words, "second", "--demonstrations", "demos/cart-v0"])
        for name in ("first", "second"):
            trainer = behavior_cloning.Trainer.load(
                latest_checkpoint(tmp_path / "runs" / name)
            )
            assert (trainer.agent.sample_step, trainer.agent.learn_step) == (40, 10)
        minari_data = minari.MinariDataset(tmp_path / "demos/cart-v0/data")
        assert minari_data.env_spec.id == "yieldrl/CartPole-v1"

    def test_a_robot_that_rests_is_not_cloned(self, tmp_path: Path) -> None:
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

    def test_what_is_not_there_is_said_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="neither a folder"):
            trainer_of(demonstrations=str(tmp_path))

    def test_a_data_set_of_another_size_is_refused(self, tmp_path: Any) -> None:
        """All of it is read: PPO would begin late, or not at all."""
        folder = str(tmp_path / "cart-v0")
        list(trainer_of(save_demonstrations=folder)())
        options = {"env_id": "yieldrl/CartPole-v1", "env_kwargs": {}, "eval_every": 0}
        options |= {"demonstrations": folder, "clone_epochs": 2, "total_steps": 80}
        for steps in (40, 20):
            config = config_of(vla_ppo, **options, demonstration_steps=steps)
            if steps == 40:
                run = vla_ppo.Trainer(config, model=Tokens)
                assert [log["sample_step"] for log in run()][-1] >= 80
                continue
            with pytest.raises(ValueError, match=r"demonstration_steps = 20.*: say 40"):
                vla_ppo.Trainer(config, model=Tokens)
