"""What `together.py` does at last, in two processes: they are not alike.

Each case is tried in both, one after the other; what was said is written to a file.
"""

import json

import gymnasium
import torch
from torch import nn

from yieldrl.algorithms import a2c, ppo
from yieldrl.core import ranks

SETTINGS = {"env_id": "yieldrl/CartPole-v1", "num_envs": 2, "num_steps": 8}
SETTINGS |= {"total_steps": 64, "eval_every": 0}


class Wide(ppo.Model):
    """A model with a layer more, in one of the processes."""

    def __init__(self, *args):
        super().__init__(*args)
        if not ranks().first:
            self.more = nn.Linear(2, 3)


class Frozen(ppo.Model):
    """A model with a frozen layer, in one of the processes."""

    def __init__(self, *args):
        super().__init__(*args)
        next(self.parameters()).requires_grad_(ranks().first)


def made(module=ppo, parts=None, **settings):
    return module.Trainer(module.Config(**SETTINGS | settings), **parts or {})


def algorithm(**settings):
    """An algorithm that was made with a config of its own."""
    env = gymnasium.make("CartPole-v1")
    config = ppo.Config(**SETTINGS, **settings)
    model = ppo.Model(env.observation_space, env.action_space, config)
    return ppo.Algorithm(model, config)


def cases(folder):
    """Name -> makes a trainer that is not that of the other process."""
    own = ranks().rank
    envs = "CartPole-v1" if ranks().first else "Acrobot-v1"
    return {
        "learning_rate": lambda: made(learning_rate=(1e-3, 2e-3)[own]),
        "seed": lambda: made(seed=own),
        "num_envs": lambda: made(num_envs=own + 2),
        "env_kwargs": lambda: made(env_kwargs={"velocities": own == 0}),
        "trainer": lambda: made((ppo, a2c)[own]),
        "space": lambda: made(parts={"envs": lambda: gymnasium.make(envs)}),
        "model": lambda: made(parts={"model": Wide}),
        "frozen": lambda: made(parts={"model": Frozen}),
        "algorithm": lambda: made(
            parts={"algorithm": algorithm(gamma=(0.9, 0.8)[own])}
        ),
        "checkpoint": lambda: ppo.Trainer.load(folder / f"{own}.pt"),
        "alike": lambda: made(device="cpu", threads=own + 1, run_name=f"run {own}"),
    }


def main(folder):
    found = {}
    folder.mkdir(exist_ok=True)
    with made() as trainer:
        if not ranks().first:
            with torch.no_grad():
                next(trainer.model.parameters()).add_(1e-3)
        trainer.save(folder / f"{ranks().rank}.pt")
    for name, make in cases(folder).items():
        try:
            make().close()
            found[name] = "nothing"
        except ValueError as error:
            found[name] = str(error)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    (folder / f"{ranks().rank}.json").write_text(json.dumps(found))
