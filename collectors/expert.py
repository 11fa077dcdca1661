"""Experts: rules that choose the actions of demonstrations."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl import envs as environments
from yieldrl.envs.names import find_function
from yieldrl.envs.wrappers import ActionChunks

Rule = Callable[[VectorEnv[Any, Any, Any], Any], Any]
"""From environments and their observations `[N, ...]` to actions `[N, ...]`."""


class OwnExpert:
    """The rule that environments have themselves; a copy asks those that it is given.

    ValueError if they have none.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        self.envs, self.ask = envs, environments.find_expert(envs)

    def __call__(self, envs: VectorEnv[Any, Any, Any], obs: Any) -> Any:
        if envs is not self.envs:
            self.envs, self.ask = envs, environments.find_expert(envs)
        return self.ask()

    def __getstate__(self) -> dict[str, Any]:
        return {"envs": None, "ask": None}


def find_rule(name: str, envs: VectorEnv[Any, Any, Any]) -> Rule | None:
    """The rule of `Config.demonstrations`, None if it is a data set; or ValueError."""
    if name == "expert":
        return OwnExpert(envs)
    if not re.fullmatch(r"[\w.]+:[\w.]*\w", name):
        return None
    return find_function("demonstrations", name, "(envs, obs)")


def expert_envs(envs: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
    """Those inside of `ActionChunks`; ValueError if there is a wrapper around it."""
    if isinstance(envs, ActionChunks):
        return envs.env
    inside = envs
    while isinstance(inside, VectorWrapper):
        if isinstance(inside := inside.env, ActionChunks):
            raise ValueError(
                f"{envs} is around ActionChunks: put the chunks around it, because the"
                " expert acts step by step, in the environments inside of them"
            )
    return envs


def no_expert(envs: VectorEnv[Any, Any, Any], obs: Any) -> Any:
    """Placeholder rule of trainers that only evaluate; raises RuntimeError."""
    raise RuntimeError(
        "this trainer was made to evaluate, without an expert: train again"
    )


class Expert:
    """Acts by a rule, or with probability `noise` at random, in place of an agent."""

    def __init__(
        self, rule: Rule, envs: VectorEnv[Any, Any, Any], agent: Any, noise: float
    ) -> None:
        self.rule, self.envs, self.agent, self.noise = rule, envs, agent, noise
        self.count_steps, self.device = agent.count_steps, agent.device
        space = envs.single_action_space
        if noise > 0 and isinstance(space, Box) and not space.is_bounded("both"):
            raise ValueError(
                f"expert_noise = {noise}: actions of {space} have no bounds to be drawn"
                " between; set it to 0, or give the actions bounds"
            )

    @property
    def sample_step(self) -> int:
        return self.agent.sample_step

    def sample(self, obs: Any) -> tuple[Any, dict[str, Any]]:
        """The actions to execute, `[N, ...]`; and those of the rule, to be kept."""
        action = self.rule(self.envs, obs)
        got, wanted = tuple(np.shape(action)), self.envs.action_space.shape
        if got != wanted:
            raise ValueError(
                f"the expert's actions are of shape {got}, and must be {wanted}: return"
                f" one for each of {self.envs.num_envs} environments"
            )
        if self.noise == 0:
            return action, {}
        generator, count = self.agent.generator, self.envs.num_envs
        random = random_actions(self.envs.single_action_space, count, generator)
        chance = torch.rand(count, generator=generator, device=generator.device)
        errs = (chance < self.noise).view(-1, *[1] * (random.ndim - 1))
        if isinstance(action, Tensor):
            drawn = torch.as_tensor(random).to(action)
            executed = torch.where(errs.to(action.device), drawn, action)
        else:
            action = np.asarray(action)
            executed = np.where(errs.cpu(), random, action).astype(action.dtype)
        return executed, {"action": action}


def random_actions(
    space: Space[Any], count: int, generator: torch.Generator
) -> np.ndarray:
    """Actions `[count, ...]`, uniform over a space, by a seed from a generator."""
    seed = torch.randint(2**31, (), generator=generator, device=generator.device)
    actions = batch_space(space, count)
    actions.seed(int(seed))
    return actions.sample()
