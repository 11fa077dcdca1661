"""The former name of `yieldrl.envs.tabular` and `yieldrl.envs.taxi`."""

from yieldrl.envs.tabular import CliffWalkingVectorEnv as CliffWalkingVectorEnv
from yieldrl.envs.tabular import FrozenLakeVectorEnv as FrozenLakeVectorEnv
from yieldrl.envs.tabular import TableVectorEnv as TableVectorEnv
from yieldrl.envs.taxi import TaxiVectorEnv as TaxiVectorEnv
