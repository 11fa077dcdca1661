"""The games of MinAtar (Young and Tian 2019, arXiv:1903.03176), on tensors."""

from yieldrl.envs.minatar.asterix import AsterixVectorEnv
from yieldrl.envs.minatar.base import MinAtarVectorEnv
from yieldrl.envs.minatar.breakout import BreakoutVectorEnv
from yieldrl.envs.minatar.freeway import FreewayVectorEnv
from yieldrl.envs.minatar.seaquest import SeaquestVectorEnv
from yieldrl.envs.minatar.space_invaders import SpaceInvadersVectorEnv

__all__ = [
    "AsterixVectorEnv",
    "BreakoutVectorEnv",
    "FreewayVectorEnv",
    "MinAtarVectorEnv",
    "SeaquestVectorEnv",
    "SpaceInvadersVectorEnv",
]
