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
# # PPO in your hands
#
# At the end of this notebook you have stopped PPO in the middle of its training, read
# off how large its steps are, changed its learning rate, and gone on, twice. It belongs
# to [chapter 9](../docs/course/09-actor-critic-and-gae.md) and [chapter
# 10](../docs/course/10-ppo.md) of the course.

# %%
# In Jupyter or VS Code, with a kernel that has yieldrl[notebook], leave this cell as it
# is. In Colab take the first sign off the last line, put the URL of the repository into
# it, run the cell, and restart the runtime once.
# # %pip install "yieldrl[notebook] @ git+URL"

# %%
from yieldrl import loggers
from yieldrl.algorithms import ppo

# %% [markdown]
# ## Four readings
#
# - `collect/episode_return`: what episodes earn. It is the aim, and says nothing of the
#   reason.
# - `train/entropy`: how undecided the policy is. With two actions it begins at
#   $\log 2 = 0.69$, and falls as the policy makes up its mind.
# - `train/approx_kl`: how far a policy has moved away from the one that collected. Some
#   thousandths are usual.
# - `clip_fraction`, which is printed below: of how many transitions the ratio has left
#   the interval within which PPO rewards a step.
#
# The learning rate is held, so that every change of it is yours.

# %%
config = ppo.Config(
    total_steps=60_000,
    anneal_learning_rate=False,
    learning_rate=3e-4,
    eval_every=0,
    seed=3,
    device="cpu",
)
trainer = ppo.Trainer(config)
panels = ["collect/episode_return", "train/entropy", "train/approx_kl"]
plotted = loggers.live_plot(panels)(trainer)


def train_until(step):
    """Loop on, and stop; what was said of the last ten updates, on average."""
    seen = []
    for log in plotted():
        if log["log_type"] == "train" and "approx_kl" in log["logs"]:
            seen.append({k: float(v) for k, v in log["logs"].items()})
        if log["sample_step"] >= step:
            break
    names = ("approx_kl", "clip_fraction", "entropy")
    return {n: round(sum(x[n] for x in seen[-10:]) / len(seen[-10:]), 4) for n in names}


# %% [markdown]
# ## A careful beginning

# %% alt="PPO's curves of the first 20 000 steps"
print(train_until(20_000))
print("learning rate", trainer.algorithm.learning_rate)

# %% [markdown]
# Hardly anything is clipped: these steps are small, and could be larger. The trainer
# waits. Change the learning rate where it is, and go on: the curves go on too.
#
# ## Ten times as fast

# %% alt="PPO's curves, gone on with at a larger learning rate"
trainer.algorithm.learning_rate = 3e-3
print(train_until(40_000))

# %% [markdown]
# `approx_kl` is higher from the moment at which you changed it, and more is clipped.
# Did the return rise faster? In the run that is saved here it fell back. A single run
# cannot tell whether that is the rule; what you *can* read off is that the policy moves
# further with each rollout, and how much of it the clip holds back.
#
# ## And to an end
#
# Large steps never come to rest. What is usually done is to let the learning rate fall
# towards 0, which the config does by itself if it may. By hand, in your loop:

# %% alt="PPO's curves to the end, with a learning rate that falls"
for _ in plotted():
    left = 1 - trainer.agent.sample_step / config.total_steps
    trainer.algorithm.learning_rate = max(3e-3 * left, 1e-5)
print(f"return: {float(trainer.evaluate(20)['logs']['episode_return']):.0f}")

# %% [markdown]
# ## Try
#
# - `clip_coef=10.0` in the config: then nothing is clipped. How far does `approx_kl` go
#   with the large learning rate?
# - Stop as soon as `approx_kl` is above 0.05, and halve the learning rate: a rule that
#   adapts, in four lines of your own loop.
# - `trainer.save("mine.pt")` before a daring change, and `ppo.Trainer.load("mine.pt")`
#   after it.
