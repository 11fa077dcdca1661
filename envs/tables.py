"""The former name of `yieldrl.envs.tabular`."""

from yieldrl.envs.tabular import (
    CliffWalkingVectorEnv,
    FrozenLakeVectorEnv,
    TableVectorEnv,
    TaxiVectorEnv,
)

__all__ = [
    "CliffWalkingVectorEnv",
    "FrozenLakeVectorEnv",
    "TableVectorEnv",
    "TaxiVectorEnv",
]
