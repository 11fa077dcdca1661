"""What `test_engines.py` lets `torchrun` start twice: says in files what happened."""

import copy
import gc
import importlib.util
import sys
from pathlib import Path

import numpy as np
import torch
from factories import update
from gymnasium.spaces import Box
from tensordict import TensorDict
from torch.distributed.fsdp import FSDPModule
from two_losses import SIZES, Adapted, Missing, Two, adapted_curve, batches, curve

from yieldrl.algorithms import ppo, sac
from yieldrl.core import ranks
from yieldrl.distributed.engines import make_engine

ENGINES = {
    "ddp": ("ddp", 0),
    "fsdp2": ("fsdp2", 0),
    **{f"zero{stage}": ("deepspeed", stage) for stage in range(4)},
}
THERE = [
    name
    for name, (kind, _) in ENGINES.items()
    if kind != "deepspeed" or importlib.util.find_spec("deepspeed")
]


class Wants:
    """What engines read of a config."""

    def __init__(self, name):
        self.engine, self.zero_stage = ENGINES[name]


def bias(name):
    """The shape of a number in the model, which ZeRO-3 takes with a dimension only."""
    return (1,) if name == "zero3" else ()


def own(data):
    """This process's rows."""
    return data.split(SIZES)[ranks().rank].clone()


def made(what, name, **options):
    """An algorithm and its engine; other weights than the first one's are nothing."""
    algorithm = what(**options)
    if not ranks().first:
        with torch.no_grad():
            next(p for p in algorithm.model.parameters() if p.requires_grad).add_(1)
    return algorithm, make_engine(Wants(name), algorithm)


def whole(algorithm):
    """The weights, as who sends them finds them."""
    with algorithm.runtime.gathered(), algorithm.runtime.gathered():
        return copy.deepcopy(algorithm.model.state_dict())


def of_two_losses(name):
    """By SGD, one step is the gradient; by Adam, a few steps, saved and gone on."""
    plain, engine = made(Two, name, kind=torch.optim.SGD, bias=bias(name))
    data = own(next(batches()))
    plain.learn(data, 3)
    found = {"types": types(engine), "gradients": whole(plain), "error": data["error"]}
    algorithm, engine = made(Two, name, bias=bias(name))
    found["curve"] = curve(algorithm, own, 3)
    found["state"] = copy.deepcopy(engine.state_dict())
    found["whole"] = whole(algorithm)
    other, its = made(Two, name, bias=bias(name))
    its.load_state_dict(copy.deepcopy(found["state"]))
    found["loaded"] = copy.deepcopy(its.state_dict())
    for key, one in {"on": algorithm, "other": other}.items():
        found[key] = curve(one, own)
    found["freezing"] = freezing(algorithm)
    found["missing"] = missing(name)
    return found


def missing(name):
    """What comes of losses that do not depend on all that their optimizer trains."""
    algorithm, _ = made(Missing, name, bias=bias(name))
    try:
        return curve(algorithm, own, 3), whole(algorithm)
    except RuntimeError as error:
        return str(error)


def freezing(algorithm):
    """What comes of less to train than before: which weights move, or an error."""
    critic, before = algorithm.model.critic, whole(algorithm)
    next(critic.parameters()).requires_grad_(False)
    parts = algorithm.critic_loss, own(next(batches())), algorithm.critic_optimizer
    try:
        algorithm.take(*parts, None, None)
    except RuntimeError as error:
        return str(error)
    after = whole(algorithm)
    return [name for name in before if not torch.equal(before[name], after[name])]


def of_adapters(name):
    """Adapters and value head of a tiny VLA, and what a process has of its weights."""
    algorithm, engine = made(Adapted, name)
    found = {"curve": adapted_curve(algorithm, own), "state": engine.state_dict()}
    if name == "fsdp2":
        modules = engine.root.modules()
        found["blocks"] = sum(isinstance(one, FSDPModule) for one in modules) - 1
        shares = [p.to_local().numel() for p in engine.parameters]
        found["share"] = sum(shares) / sum(p.numel() for p in engine.parameters)
    return found


class PPO(ppo.Algorithm):
    """With all that moves between two rollouts."""

    def __init__(self):
        torch.manual_seed(0)
        box = Box(-np.ones(3, np.float32), np.ones(3, np.float32))
        config = ppo.Config(
            device="cpu", num_envs=4, normalize_observation=True, normalize_reward=True
        )
        super().__init__(ppo.Model(box, box, config), config)


def of_ppo(name):
    """Two whole rollouts; without an engine as `torchrun` has it."""
    algorithm = PPO() if name == "none" else made(PPO, name)[0]
    logs = []
    for number in range(2):
        torch.manual_seed(2 * number + ranks().rank)
        entries = {key: torch.rand(8, 4, 3) for key in ("obs", "next_obs", "action")}
        entries |= {key: torch.rand(8, 4) for key in ("reward", "log_prob")}
        ends = {key: torch.rand(8, 4) < 0.1 for key in ("terminated", "truncated")}
        rollout = TensorDict(entries | ends, [8, 4])
        logs.append({k: float(x) for k, x in update(algorithm, rollout).items()})
    return {"logs": logs, "whole": whole(algorithm)}


class SAC(sac.Algorithm):
    """With three optimizers, one of a single number, and targets that follow."""

    def __init__(self):
        torch.manual_seed(0)
        box = Box(-np.ones(3, np.float32), np.ones(3, np.float32))
        config = sac.Config(device="cpu", hidden_sizes=(9,))
        super().__init__(sac.Model(box, box, config), config)


def of_sac(name):
    """A few gradient steps; without an engine as `torchrun` has it."""
    algorithm = SAC() if name == "none" else made(SAC, name)[0]
    logs = []
    for number in range(3):
        torch.manual_seed(2 * number + ranks().rank)
        entries = {key: torch.rand(8, 3) for key in ("obs", "next_obs", "action")}
        entries |= {"reward": torch.rand(8), "discount": torch.full((8,), 0.9)}
        batch = TensorDict({**entries, "terminated": torch.rand(8) < 0.1}, [8])
        with algorithm.learning():
            found = algorithm.learn(batch)
        logs.append({k: float(x) for k, x in found.items()})
        with algorithm.runtime.gathered():
            algorithm.sync_target()
    target = algorithm.target_critic.state_dict()
    return {"logs": logs, "whole": whole(algorithm), "target": target}


def types(engine):
    """Which classes of which libraries do the work."""
    kind = type(engine).__name__
    if kind == "DDPEngine":
        return [kind, *{type(module).__name__ for _, module in engine.wrapped.values()}]
    if kind == "FSDP2Engine":
        return [kind, type(engine.root).__name__]
    engines = [part.engine for part in engine.parts.values()][:2]
    return [
        kind,
        *{type(one).__name__ for one in engines},
        *{type(one.optimizer).__name__ for one in engines},
        *{one.zero_optimization_stage() for one in engines},
    ]


def main(folder):
    end = f"{ranks().rank}.pt"
    none = {"ppo": of_ppo("none"), "sac": of_sac("none")}
    torch.save(none, folder / f"none_{end}")
    for name in THERE:
        found = {
            "two": of_two_losses(name),
            "adapted": of_adapters(name),
            "ppo": of_ppo(name),
            "sac": of_sac(name),
        }
        torch.save(found, folder / f"{name}_{end}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    gc.freeze()  # DeepSpeed collects garbage for every engine of ZeRO-3
    main(Path(sys.argv[1]))
    gc.unfreeze()  # so that processes end as ever
