"""How often a policy gets where it is told to go, and where it is told wrong."""

from typing import Any

import gymnasium
from torch import Tensor

from yieldrl.collectors.evaluation import evaluate
from yieldrl.envs.grid_world import GoToVectorEnv

EPISODES = 512
SIDE_BY_SIDE = 128
SEED = 20_000  # of evaluations: the same grids for every policy

# pairs of colour and shape that were named in training, those that were held out, and
# sentences that name any of the objects, whichever is rewarded
TOLD = ("seen", "unseen", "misled")


class Misled(GoToVectorEnv):
    """GoTo whose sentence names an object drawn by itself: it says nothing.

    Obeying it leads to the rewarded object in one of `num_objects` episodes.
    """

    def initial_state(self, noise: Tensor) -> dict[str, Tensor]:
        """As ever, and `named [N]`, the object that the sentence is about."""
        state, k = super().initial_state(noise), self.num_objects
        rest = (noise[2 * k + 1] * k) % 1  # independent of what it was rounded to
        return {**state, "named": (rest * k).long().clamp(max=k - 1)}

    def observe(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """As ever, but for the object that is named."""
        return super().observe({**state, "goal": state["named"]})


def obedience(trainer: Any) -> dict[str, float]:
    """Success rates of a trainer's policy on GoTo, of each of `TOLD`."""
    return {told: _success(trainer, told) for told in TOLD}


def _success(trainer: Any, told: str) -> float:
    config = trainer.config
    world = {**gymnasium.spec(config.env_id).kwargs, **config.env_kwargs}
    kind, goals = (Misled, "seen") if told == "misled" else (GoToVectorEnv, told)
    envs = kind(SIDE_BY_SIDE, **{**world, "goals": goals})
    envs = trainer.wrap_envs(envs)
    rate = evaluate(trainer.agent, envs, EPISODES, SEED).logs()["success_rate"]
    return round(rate, 4)
