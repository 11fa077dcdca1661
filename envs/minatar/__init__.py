"""The games of MinAtar (Young and Tian 2019, arXiv:1903.03176), on tensors."""

from yieldrl.envs.minatar.asterix import AsterixVectorEnv as AsterixVectorEnv
from yieldrl.envs.minatar.base import MinAtarVectorEnv as MinAtarVectorEnv
from yieldrl.envs.minatar.breakout import BreakoutVectorEnv as BreakoutVectorEnv
from yieldrl.envs.minatar.freeway import FreewayVectorEnv as FreewayVectorEnv
from yieldrl.envs.minatar.seaquest import SeaquestVectorEnv as SeaquestVectorEnv
from yieldrl.envs.minatar.space_invaders import (
    SpaceInvadersVectorEnv as SpaceInvadersVectorEnv,
)
