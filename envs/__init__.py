"""Environments: device-batched tensor environments, and Gymnasium's as batches."""

from typing import Any

import gymnasium
import lazy_loader

from yieldrl.envs.make import make as make  # first, over the module of this name

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_WORLDS: dict[str, tuple[str, int | None, float | None]] = {
    "CartPole": ("classic_control:CartPole", 500, 475.0),
    "Pendulum": ("classic_control:Pendulum", 200, None),
    "Acrobot": ("classic_control:Acrobot", 500, -100.0),
    "MountainCar": ("classic_control:MountainCar", 200, -110.0),
    "MountainCarContinuous": ("classic_control:MountainCarContinuous", 999, 90.0),
    "FrozenLake": ("tabular:FrozenLake", 100, 0.7),
    "FrozenLake8x8": ("tabular:FrozenLake", 200, 0.85),
    "CliffWalking": ("tabular:CliffWalking", None, None),
    "CliffWalkingSlippery": ("tabular:CliffWalking", None, None),
    "Taxi": ("tabular:Taxi", 200, 8.0),
    "TMaze": ("t_maze:TMaze", 100, 0.95),
    "ProbeReward": ("probes:ProbeReward", None, None),
    "ProbeObservation": ("probes:ProbeObservation", None, None),
    "ProbeDelay": ("probes:ProbeDelay", None, None),
    "ProbeCut": ("probes:ProbeCut", 5, None),
    "ProbeAction": ("probes:ProbeAction", None, None),
    "ProbeChoice": ("probes:ProbeChoice", None, None),
    "GoTo": ("grid_world:GoTo", 50, 0.95),
    "GoToPixels": ("grid_world:GoTo", 50, 0.95),
    "Sums": ("writing:Sums", None, 0.95),
    "Steps": ("writing:Steps", None, 0.95),
    "MinAtar-Asterix": ("minatar.asterix:Asterix", None, None),
    "MinAtar-Breakout": ("minatar.breakout:Breakout", None, None),
    "MinAtar-Freeway": ("minatar.freeway:Freeway", None, None),
    "MinAtar-Seaquest": ("minatar.seaquest:Seaquest", None, None),
    "MinAtar-SpaceInvaders": ("minatar.space_invaders:SpaceInvaders", None, None),
    "HalfCheetah": ("physics.robots:HalfCheetah", 1000, 4800.0),
    "Hopper": ("physics.robots:Hopper", 1000, 3800.0),
    "Walker2d": ("physics.robots:Walker2d", 1000, None),
    "Ant": ("physics.robots:Ant", 1000, 6000.0),
    "Humanoid": ("physics.robots:Humanoid", 1000, None),
    "InvertedPendulum": ("physics.robots:InvertedPendulum", 1000, 950.0),
    "HiddenPendulum": ("hidden_worlds:HiddenPendulum", 200, None),
    "HiddenCartPole": ("hidden_worlds:HiddenCartPole", 500, None),
    "HiddenHopper": ("hidden_worlds:HiddenHopper", 1000, None),
    "HiddenHalfCheetah": ("hidden_worlds:HiddenHalfCheetah", 1000, None),
}
"""Name -> class name without its suffix, time limit, reward threshold."""

_KWARGS: dict[str, dict[str, Any]] = {
    "FrozenLake8x8": {"map_name": "8x8"},
    "CliffWalkingSlippery": {"is_slippery": True},
    "GoToPixels": {"view": "pixels", "height": 5, "width": 5},
}

for _name, (_place, _steps, _threshold) in _WORLDS.items():
    gymnasium.register(
        id=f"yieldrl/{_name}-v1",
        entry_point=f"yieldrl.envs.single:{_place.replace(':', '.')}",
        vector_entry_point=f"yieldrl.envs.{_place}VectorEnv",
        max_episode_steps=_steps,
        reward_threshold=_threshold,
        kwargs=_KWARGS.get(_name, {}),
    )
gymnasium.register(
    id="yieldrl/ReacherImages-v1",
    entry_point="yieldrl.envs.reacher:ReacherImagesEnv",
    max_episode_steps=50,
    reward_threshold=-3.75,
)
gymnasium.register(
    id="yieldrl/LIBERO-v1", entry_point="yieldrl.envs.libero:LiberoEnvWrapper"
)
