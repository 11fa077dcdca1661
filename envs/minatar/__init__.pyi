from .asterix import AsterixVectorEnv as AsterixVectorEnv
from .base import MinAtarVectorEnv as MinAtarVectorEnv
from .breakout import BreakoutVectorEnv as BreakoutVectorEnv
from .freeway import FreewayVectorEnv as FreewayVectorEnv
from .seaquest import SeaquestVectorEnv as SeaquestVectorEnv
from .space_invaders import SpaceInvadersVectorEnv as SpaceInvadersVectorEnv
