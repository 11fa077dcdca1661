"""yieldrl: reinforcement learning that you read, loop over, and copy.

>>> from yieldrl.algorithms import ppo
>>> config = ppo.Config(env_id="CartPole-v1", total_steps=512, eval_every=0)
>>> with ppo.Trainer(config) as trainer:
...     kinds = {log["log_type"] for log in trainer()}
>>> sorted(kinds)
['collect', 'train']
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yieldrl.experiments import check_algorithm

__all__ = ["__version__", "check_algorithm"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`yieldrl.check_algorithm`, which imports PyTorch only when it is asked for."""
    if name == "check_algorithm":
        from yieldrl.experiments import check_algorithm

        return check_algorithm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
