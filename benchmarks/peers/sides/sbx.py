"""SBX, Stable-Baselines3 in JAX."""

from functools import partial

from flax import linen as nn
from sbx import PPO, SAC

from .contract import Side, main
from .sb3 import ppo, sac

PACKAGES = ("sbx-rl", "jax", "flax", "stable-baselines3", "gymnasium", "numpy")

train_ppo = partial(ppo, kind=PPO, activation_fn=nn.tanh, packages=PACKAGES)
train_sac = partial(sac, kind=SAC, packages=PACKAGES)
SIDES: dict[str, Side] = {
    "W1": train_ppo,
    "W3": train_ppo,
    "W5": train_sac,
    "short": train_ppo,
}

if __name__ == "__main__":
    main(SIDES)
