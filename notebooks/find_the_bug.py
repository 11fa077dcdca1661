# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     notebook_metadata_filter: kernelspec,jupytext
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Find the bug
#
# At the end of this notebook you have taken a folder that learns badly, seen in its
# readings where to look, put the question to it whose answer you know, and mended it.
# It belongs to [chapter 14](../docs/course/14-debugging.md) of the course, whose
# exercise has six such folders; this is one of them, so do it yourself first if you
# mean to.

# %%
# In Jupyter or VS Code, with a kernel that has yieldrl[notebook], leave this cell as it
# is. In Colab take the first sign off the last line, put the URL of the repository into
# it, run the cell, and restart the runtime once.
# # %pip install "yieldrl[notebook] @ git+URL"

# %%
import inspect

import torch

from yieldrl import loggers
from yieldrl.algorithms import ppo
from yieldrl.exercises.ch14_debugging import broken_02, diagnostics

# %% [markdown]
# ## The symptom
#
# Somebody has changed PPO. It raises no error. Here it trains, and below it PPO as it
# is, with the same seed and the same settings:

# %% alt="Curves of a PPO that has a bug: returns, and what its diagnostics say"
SETTINGS = {
    "total_steps": 30_000,
    "num_epochs": 8,
    "gae_lambda": 0.9,
    "entropy_coef": 0.05,
    "normalize_observation": True,
    "eval_every": 0,
    "seed": 2,
    "device": "cpu",
}
panels = ["collect/episode_return", "train/entropy", "train/approx_kl"]


def watched(trainer_class):
    """Train, with a picture."""
    trainer = trainer_class(ppo.Config(**SETTINGS))
    for _ in loggers.live_plot(panels)(trainer)():
        pass
    return trainer


Broken = diagnostics.trainer_of("broken_02")
broken = watched(Broken)

# %% alt="Curves of the same run without the bug"
right = watched(ppo.Trainer)

# %% [markdown]
# Do not look at the return first. It says *that* something is wrong, if it says
# anything: the broken one may even be ahead for a while. Compare the other panels, and
# mind the numbers on the axes. The entropy falls in both, so the actor does move. But
# `approx_kl`, which says how far it has moved from the policy that collected, is 0 from
# the first update to the last.
#
# It moves, and it has not moved. Both cannot be.
#
# ## A question with a known answer
#
# What should the ratio be? Probability now over probability when acting: 1 in the first
# minibatch of a rollout, when nothing has moved yet, and *not* 1 in those after it. Six
# small experiments, a second for all of them; behind each field stands what it should
# be:

# %%
for name, trainer_class in (("broken", Broken), ("PPO", ppo.Trainer)):
    seen = diagnostics.examine(trainer_class)
    print(f"{name:7}", {key: round(value, 4) for key, value in seen._asdict().items()})

# %% [markdown]
# All are well but one. Values are learned, and the action that pays is found; so it is
# not the world, nor the critic, nor the sign of the actor's loss. What is left is where
# the ratio is made. Read that method, and no other:

# %%
print(inspect.getsource(broken_02.Algorithm.loss))

# %% [markdown]
# It asks the policy *of now* what it would have said when it acted. So the ratio
# compares the policy with itself: it is 1, nothing is ever clipped, and the restraint
# for the sake of which PPO was invented is gone. The log-probability of the policy that
# acted has to be *stored* when it acts. It is, in `data["log_prob"]`, so there is
# nothing to compute:


# %%
class Mended(broken_02.Algorithm):
    """The ratio starts from what was stored."""

    def loss(self, data, evaluated=None):
        return ppo.Algorithm.loss(self, data, evaluated)


class MendedTrainer(Broken):
    algorithm_class = Mended


moved, approx_kl = diagnostics.one_rollout(MendedTrainer)
print("the actor moves:", moved > 0, "and approx_kl says so:", approx_kl > 0)

# %% [markdown]
# ## Is it mended?
#
# Not *does it learn better*, which takes seeds, but *is it the same as what is right*:
# with one seed, to the last digit. That is a question with a known answer too.

# %%
short = SETTINGS | {"total_steps": 1_024}
ends = []
for trainer_class in (MendedTrainer, ppo.Trainer):
    trainer = trainer_class(ppo.Config(**short))
    for _ in trainer():
        pass
    ends.append(torch.cat([p.flatten() for p in trainer.model.parameters()]))
print("the same weights:", torch.equal(*ends))

# %% [markdown]
# ## Try
#
# `broken_01` and `broken_03` to `broken_06` are waiting. Their readings are in the
# figure of [chapter 14](../docs/course/14-debugging.md), and `yieldrl check
# ch14` says whether you have mended them.
