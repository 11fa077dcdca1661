"""What stands behind `TorchVectorEnv` (always `envs`): trees, seeds, checks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import create_empty_array
from torch import Tensor


def tree_map(function: Callable[..., Any], *trees: Any) -> Any:
    """Apply a function to tensors, or to those in dicts that are built alike."""
    if isinstance(trees[0], Tensor):  # before asking for a Mapping, which takes longer
        return function(*trees)
    if isinstance(trees[0], Mapping):
        return {k: tree_map(function, *(tree[k] for tree in trees)) for k in trees[0]}
    return None if trees[0] is None else function(*trees)


def where(mask: Tensor, this: Any, other: Any) -> Any:
    """The state with the columns of `this` where the mask `[N]` is set."""
    return tree_map(lambda x, y: torch.where(mask, x, y), this, other)


def last_axes(tree: Any) -> set[int]:
    """The sizes of the last axes, 0 for a number."""
    sizes: set[int] = set()
    tree_map(lambda x: sizes.add(x.shape[-1] if x.ndim else 0), tree)
    return sizes


def layout(tree: Any) -> Any:
    """Dtype and shape in place of each tensor, to compare and to print."""
    return tree_map(lambda x: f"{str(x.dtype)[6:]}{list(x.shape)}", tree)


def renewed(envs: Any, ended_before: Tensor) -> Tensor | None:
    """Noise for the next step, if it takes any: at least new where this step used it.

    On a GPU all of it, so that nobody waits. On a CPU looking is free, and in large
    batches drawing for the few that reset saves a quarter of CartPole's step.
    """
    noise = envs._noise
    if noise is None:
        return None
    if not noise.is_cpu or noise.numel() < 4096 or envs._chance:
        return envs.draw_noise()
    at_once = envs.autoreset_mode is AutoresetMode.SAME_STEP
    columns = (envs._ended if at_once else ended_before).nonzero().view(-1)
    return noise.index_copy(1, columns, envs.draw_noise(len(columns)))


def seeded_noise(envs: Any, seed: Any) -> Tensor:
    """Seed the generator; the noise `[noise_size, N]` for the first states."""
    seeds = [int(s) for s in np.atleast_1d(seed)]
    several = np.ndim(seed) > 0
    if min(seeds, default=-1) < 0 or (several and len(seeds) != envs.num_envs):
        raise ValueError(f"seed = {seed}: must be an int >= 0 or {envs.num_envs} such")
    if not several:
        envs.generator.manual_seed(seeds[0])
        return envs.draw_noise()
    (together,) = np.random.SeedSequence(seeds).generate_state(1, np.uint64)
    envs.generator.manual_seed(int(together >> np.uint64(1)))
    own = torch.Generator()  # on the CPU, so that a seed means the same everywhere
    columns = [
        torch.rand(envs.noise_size, generator=own.manual_seed(s), dtype=envs.dtype)
        for s in seeds
    ]
    return torch.stack(columns, dim=-1).to(envs.device)


def parameter(envs: Any, name: str, value: Any) -> Tensor:
    """A constant as a tensor `[]` or `[N]`; it keeps its graph if it has one."""
    value = torch.as_tensor(value, dtype=envs.dtype, device=envs.device)
    if value.shape not in ((), (envs.num_envs,)):
        got, n = list(value.shape), envs.num_envs
        raise ValueError(f"{name} has the shape {got}: give one number, or {n} of them")
    return value


def save(envs: Any) -> dict[str, Any]:
    """The state dict: tensors alone, all of them copies."""
    parts = {
        "state": envs.state,
        "elapsed": envs.elapsed,
        "ended": envs._ended,
        "noise": envs._noise,
    }
    copies = tree_map(lambda x: x.detach().clone(), parts)
    return {**copies, "generator": envs.generator.get_state()}


def load(envs: Any, saved: Mapping[str, Any]) -> None:
    """Take over a state dict, after a look whether it fits."""
    mine, size = save(envs), (envs.noise_size, envs.num_envs)
    noise = torch.zeros(size, dtype=envs.dtype, device=envs.device)
    with torch.no_grad():
        mine["state"] = envs.fold(envs.initial_state(noise))
    if saved.get("state") is None:
        mine["state"] = None  # saved before the first reset
    # Whether steps take noise depends on the device, and on whether they are compiled.
    mine["noise"] = noise if saved.get("noise") is not None else None
    if layout(saved) != layout(mine):
        raise ValueError(
            f"saved was {layout(saved)}, these environments have {layout(mine)}: make"
            " them with the saved num_envs, dtype and kind of device"
        )
    envs.generator.set_state(saved["generator"].cpu())
    copies = tree_map(lambda x: x.to(envs.device, copy=True), saved)
    envs.state, envs.elapsed = copies["state"], copies["elapsed"]
    envs._ended, envs._noise = copies["ended"], None
    if envs._takes_noise and envs.state is not None:
        saved_noise = copies["noise"]
        envs._noise = envs.draw_noise() if saved_noise is None else saved_noise


def action_tensor(envs: Any, action: Any) -> Tensor:
    """The actions as a tensor `[N, ...]` of the dtype that `dynamics` takes."""
    if isinstance(action, np.ndarray):
        action = torch.tensor(action, device=envs.device)
    elif not isinstance(action, Tensor):
        raise TypeError(f"actions must be a tensor or an array, got {type(action)}")
    if (action.shape, action.dtype, action.device) == envs._action_kind:
        return action
    floats = envs.action_dtype.is_floating_point
    if (
        action.shape != envs.action_space.shape
        or action.is_floating_point() != floats
        or action.device != envs.device
    ):
        raise ValueError(
            f"actions must be {'floats' if floats else 'integers'} of shape"
            f" {envs.action_space.shape} on {envs.device}, got {action.dtype} of shape"
            f" {tuple(action.shape)} on {action.device}"
        )
    return action.to(envs.action_dtype)


def reset_mask(envs: Any, options: Any) -> Tensor | None:
    """The mask `[N]` of environments to reset; None for all of them."""
    options = dict(options or {})
    mask = options.pop("reset_mask", None)
    if options:
        raise ValueError(f"options {sorted(options)} are unknown: use reset_mask alone")
    if mask is None:
        return None
    if envs.state is None:
        raise ResetNeeded("reset_mask before the first reset: reset all of them first")
    mask = torch.as_tensor(mask, device=envs.device)
    if mask.dtype != torch.bool or mask.shape != (envs.num_envs,):
        raise ValueError(f"reset_mask is {layout(mask)}, not bool[{envs.num_envs}]")
    return mask


def to_render(envs: Any) -> Any:
    """The state as arrays."""
    if envs.render_mode is None:
        raise ValueError('to render, construct with render_mode="rgb_array"')
    if envs.state is None:
        raise ResetNeeded("nothing to render yet: call reset() first")
    return tree_map(lambda x: x.detach().cpu().numpy(), envs.state)


def painted(envs: Any, env_id: str, **attributes: Any) -> Any:
    """A picture by gymnasium's own renderer, of its environment in this state."""
    if envs._painter is None:
        painter = gymnasium.make(env_id, render_mode="rgb_array")
        envs._painter = painter.unwrapped
    for name, value in attributes.items():
        setattr(envs._painter, name, value)
    return envs._painter.render()


def check_running(envs: Any) -> None:
    """Raise ResetNeeded if there is no state, or an episode that is over."""
    if envs.state is None:
        raise ResetNeeded("nothing to step yet: call reset() first")
    by_hand = envs.autoreset_mode is AutoresetMode.DISABLED
    if by_hand and envs.device.type == "cpu" and envs._ended.any():  # free to look at
        raise ResetNeeded(
            f"the episodes of {envs._ended.nonzero().flatten().tolist()} are over:"
            ' call reset(options={"reset_mask": terminated | truncated})'
        )


def check_arguments(envs: Any) -> None:
    """Raise if what the constructor was given, or the subclass names, is wrong."""
    name = type(envs).__name__
    for word in ("single_observation_space", "single_action_space", "noise_size"):
        if not hasattr(envs, word):
            raise TypeError(f"{name} has no {word}: set it in the class body")
    if envs.single_action_space.shape is None:
        space = envs.single_action_space
        raise TypeError(f"{name}.single_action_space = {space}: must be of one array")
    for word in ("num_envs", "max_episode_steps"):
        number = getattr(envs, word)
        if number is not None and number < 1:
            raise ValueError(f"{word} = {number}: must be at least 1")
    if not envs.dtype.is_floating_point:
        raise ValueError(f"dtype = {envs.dtype}: use torch.float32 or torch.float64")
    modes = [None, *envs.metadata["render_modes"]]
    if envs.render_mode not in modes:
        raise ValueError(f"render_mode = {envs.render_mode!r}: {name} has {modes}")


def check_functions(envs: Any, state: Any) -> None:
    """Run `dynamics` and `observe` once; raise ValueError if a result does not fit."""

    def expect(what: str, got: Any, wanted: Any) -> None:
        if got != wanted:
            name = type(envs).__name__
            raise ValueError(f"{name}.{what} must be {wanted}, got {got}")

    n = envs.num_envs
    expect("initial_state: the last axis", last_axes(state), {n})
    space = copy.deepcopy(envs.action_space)  # its random generator is the caller's
    space.seed(0)
    with torch.no_grad():
        action = action_tensor(envs, np.asarray(space.sample()))
        noise = torch.zeros(envs.noise_size, n, dtype=envs.dtype, device=envs.device)
        moved, reward, terminated = envs.random_dynamics(state, action, noise)
        obs = envs.observe(state)
    expect("dynamics: the next state", layout(moved), layout(state))
    expect("dynamics: the reward's shape", list(reward.shape), [n])
    expect("dynamics: terminated", layout(terminated), f"bool[{n}]")
    wanted_obs = create_empty_array(envs.single_observation_space, n)
    wanted_obs = layout(tree_map(torch.from_numpy, wanted_obs))
    expect("observe: the observations", layout(obs), wanted_obs)
