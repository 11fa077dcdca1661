"""Environments: batches of tensors on a device, and Gymnasium's own as batches."""

from typing import Any

import gymnasium

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.check import check
from yieldrl.envs.evaluation import make_eval
from yieldrl.envs.experts import expert_actions, find_expert
from yieldrl.envs.make import make, name_of
from yieldrl.envs.masks import ActionMask
from yieldrl.envs.planning import policy_evaluation, value_iteration
from yieldrl.envs.serial import SerialVectorEnv
from yieldrl.envs.text import EncodeText
from yieldrl.envs.wrappers import HiddenParameters

__all__ = [
    "ActionMask",
    "EncodeText",
    "HiddenParameters",
    "SerialVectorEnv",
    "TorchVectorEnv",
    "check",
    "expert_actions",
    "find_expert",
    "make",
    "make_eval",
    "name_of",
    "policy_evaluation",
    "value_iteration",
]


def _register(name: str, place: str, steps: int | None, **spec: Any) -> None:
    gymnasium.register(
        id=f"yieldrl/{name}-v1",
        entry_point=f"yieldrl.envs.single:{place.replace(':', '.')}",
        vector_entry_point=f"yieldrl.envs.{place}VectorEnv",
        max_episode_steps=steps,
        **spec,
    )


_register("CartPole", "cartpole:CartPole", 500, reward_threshold=475.0)
_register("Pendulum", "pendulum:Pendulum", 200)
_register("Acrobot", "acrobot:Acrobot", 500, reward_threshold=-100.0)
_register("MountainCar", "mountain_car:MountainCar", 200, reward_threshold=-110.0)
_register(
    "MountainCarContinuous",
    "mountain_car_continuous:MountainCarContinuous",
    999,
    reward_threshold=90.0,
)
_register("FrozenLake", "tabular:FrozenLake", 100, reward_threshold=0.7)
_register(
    "FrozenLake8x8",
    "tabular:FrozenLake",
    200,
    kwargs={"map_name": "8x8"},
    reward_threshold=0.85,
)
_register("CliffWalking", "tabular:CliffWalking", None)
_register(
    "CliffWalkingSlippery", "tabular:CliffWalking", None, kwargs={"is_slippery": True}
)
_register("Taxi", "tabular:Taxi", 200, reward_threshold=8.0)
_register("TMaze", "t_maze:TMaze", 100, reward_threshold=0.95)
for _probe, _steps in (
    ("Reward", None),
    ("Observation", None),
    ("Delay", None),
    ("Cut", 5),
    ("Action", None),
    ("Choice", None),
):
    _register(f"Probe{_probe}", f"probes:Probe{_probe}", _steps)
_register("GoTo", "grid_world:GoTo", 50, reward_threshold=0.95)
_register(
    "GoToPixels",
    "grid_world:GoTo",
    50,
    kwargs={"view": "pixels", "height": 5, "width": 5},
    reward_threshold=0.95,
)
for _game in (
    "asterix:Asterix",
    "breakout:Breakout",
    "freeway:Freeway",
    "seaquest:Seaquest",
    "space_invaders:SpaceInvaders",
):
    _register(f"MinAtar-{_game.split(':')[1]}", f"minatar.{_game}", None)
_register(
    "HalfCheetah", "physics.half_cheetah:HalfCheetah", 1000, reward_threshold=4800.0
)
_register("Hopper", "physics.hopper:Hopper", 1000, reward_threshold=3800.0)
_register("Walker2d", "physics.walker2d:Walker2d", 1000)
_register("Ant", "physics.ant:Ant", 1000, reward_threshold=6000.0)
_register("Humanoid", "physics.humanoid:Humanoid", 1000)
_register(
    "InvertedPendulum",
    "physics.inverted_pendulum:InvertedPendulum",
    1000,
    reward_threshold=950.0,
)
for _world, _maker, _limit in (
    ("Pendulum", "pendulum", 200),
    ("CartPole", "cart_pole", 500),
    ("Hopper", "hopper", 1000),
    ("HalfCheetah", "half_cheetah", 1000),
):
    gymnasium.register(
        id=f"yieldrl/Hidden{_world}-v1",
        entry_point=f"yieldrl.envs.hidden_worlds:Hidden{_world}Env",
        vector_entry_point=f"yieldrl.envs.hidden_worlds:hidden_{_maker}",
        max_episode_steps=_limit,
    )
gymnasium.register(
    id="yieldrl/ReacherImages-v1",
    entry_point="yieldrl.envs.reacher:ReacherImagesEnv",
    max_episode_steps=50,
    reward_threshold=-3.75,
)
