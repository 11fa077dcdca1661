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
# # What a network promises
#
# At the end of this notebook you have seen DQN's values rise from nothing, and compared
# them with what episodes really earned: a plot that no library draws by itself, because
# only you know what to compare with. It belongs to [chapter
# 6](../docs/course/06-dqn.md) of the course.

# %%
# In Jupyter or VS Code, with a kernel that has yieldrl[notebook], leave this cell as it
# is. In Colab take the first sign off the last line, put the URL of the repository into
# it, run the cell, and restart the runtime once.
# # %pip install "yieldrl[notebook] @ git+URL"

# %%
import torch

from yieldrl import loggers
from yieldrl.algorithms import dqn

# %% [markdown]
# ## Two numbers that should agree
#
# DQN's network says of every state what it is worth: the discounted sum of the rewards
# that will follow. Each step on CartPole earns 1, so an episode of $n$ steps has earned
# $1 + \gamma + \dots + \gamma^{n-1} = (1 - \gamma^n) / (1 - \gamma)$. With $\gamma =
# 0.99$ that is 100 at most, however long the pole stands.
#
# So take the upright pole at rest, which is where all episodes begin, nearly. What the
# network says of it is a *promise*; what the episodes that end have earned is *kept*.
#
# A [logger](../docs/loggers.md) is a generator around the trainer's generator. This one
# puts both numbers into the logs of collecting:


# %%
class Promise(loggers.Logger):
    """Adds to each episode's log what was promised of it, and what was kept."""

    def run(self, trainer, logs):
        gamma, upright = trainer.config.gamma, torch.zeros(1, 4)
        for log in logs:
            if log["log_type"] == "collect" and "episode_length" in log["logs"]:
                length = float(log["logs"]["episode_length"])
                log["logs"]["kept"] = (1 - gamma**length) / (1 - gamma)
                with torch.no_grad():
                    log["logs"]["promised"] = trainer.model.value(upright).max()
            yield log


# %% [markdown]
# ## Watch them
#
# The first panel is the promise, the second what was kept, the third the return that
# you know. Until step 1 000 nothing is learned, and the promise stays near 0.

# %% alt="What DQN promises for first states, and the returns that it earns"
config = dqn.Config(
    total_steps=20_000, learning_starts=1_000, eval_every=0, seed=1, device="cpu"
)
trainer = dqn.Trainer(config)
panels = ["collect/promised", "collect/kept", "collect/episode_return"]
plotted = loggers.live_plot(panels)(Promise()(trainer))
last = {}
for log in plotted():
    if "promised" in log["logs"]:
        last = {name: float(log["logs"][name]) for name in ("promised", "kept")}
print({name: round(value) for name, value in last.items()})

# %% [markdown]
# Three things to look for:
#
# - **Who is first?** Episodes get long when the promise has hardly begun to rise. To
#   act well a network need only know which of two actions is better; how much both are
#   worth it learns later.
# - **Who is higher in the end?** The promise has come half of the way. Values travel
#   back from where they were earned as fast as the target network follows, and DQN's
#   defaults are made for 150 000 steps. A promise that is too low is no mistake.
# - **Is anything above 100?** Nothing can earn that. A promise beyond what is possible
#   is the surest sign that something is wrong: with the code, or with DQN.
#
# ## Break it
#
# The same in a hurry: with `tau=1` the target network is copied at every step, so that
# it lags behind no more, and the learning rate is three times as high. What becomes of
# values without a target network is in [chapter 6](../docs/course/06-dqn.md), over five
# seeds; here is one.

# %% alt="What DQN without a slow target network promises, and what it earns"
config = dqn.Config(
    total_steps=10_000,
    learning_starts=1_000,
    eval_every=0,
    seed=1,
    device="cpu",
    tau=1.0,
    learning_rate=3e-3,
)
hasty = dqn.Trainer(config)
for _ in loggers.live_plot(panels)(Promise()(hasty))():
    pass

# %% [markdown]
# Look at the axis of the first panel. The promise goes to a multiple of what is
# possible, and does not come back below it by the end. And now at the last one: its
# episodes are none the worse for it. A network may be hopeless about *how much* and
# right about *which*; as long as it stays so, the return says nothing. That is why you
# watch both.
#
# Run it with another seed, and see what stays.
