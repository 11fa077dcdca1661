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
# # A first loop
#
# At the end of this notebook you have watched an agent that knows nothing, trained it
# in a loop of your own while its curve grew, stopped in the middle, and watched it
# again. It belongs to [chapter 1](../docs/course/01-what-is-an-agent.md) of the course,
# which says what the words mean; here you look and touch.

# %%
# In Jupyter or VS Code, with a kernel that has yieldrl[notebook], leave this cell as it
# is. In Colab take the first sign off the last line, put the URL of the repository into
# it, run the cell, and restart the runtime once.
# # %pip install "yieldrl[notebook] @ git+URL"

# %%
from IPython.display import Video

from yieldrl import loggers
from yieldrl.algorithms import ppo

# %% [markdown]
# ## Before
#
# A pole stands on a cart, and the agent pushes the cart to the left or to the right,
# fifty times a second. Every step in which the pole stands earns 1; after 500 of them
# the episode is cut. What is made here is an agent with random weights:

# %%
config = ppo.Config(
    env_id="CartPole-v1", total_steps=40_000, eval_every=1_024, seed=1, device="cpu"
)
trainer = ppo.Trainer(config)
before = loggers.record_video(trainer, "before.mp4", episodes=3)
Video(str(before), embed=True, width=420)

# %% [markdown]
# Three episodes, and each is over before you have looked. How many steps does the pole
# stand, on average?

# %%
print(f"return before: {float(trainer.evaluate(20)['logs']['episode_return']):.0f}")

# %% [markdown]
# ## The loop
#
# This is all of training: `trainer()` gives one log after the other, and between two of
# them it waits for you. `live_plot` is put around the trainer, and draws what passes.
#
# Two curves grow. `collect/episode_return` is what episodes earn while the agent
# learns, with all that it tries; `evaluate/episode_return` is what it earns when it
# does what it thinks best. Both have environment steps to the right. The loop stops by
# itself at the first evaluation above 400.

# %% alt="Curves that grew in the loop: returns while learning, and of evaluations"
plotted = loggers.live_plot(["collect/episode_return", "evaluate/episode_return"])(
    trainer
)
for log in plotted():
    if log["log_type"] == "evaluate" and log["logs"]["episode_return"] > 400:
        break
print("stopped at step", trainer.agent.sample_step)

# %% [markdown]
# ## In between
#
# Nothing runs now. Look at the last log, watch the agent, run this cell as often as you
# like.

# %%
print({name: round(float(value), 1) for name, value in log["logs"].items()})
halfway = loggers.record_video(trainer, "halfway.mp4")
Video(str(halfway), embed=True, width=420)

# %% [markdown]
# ## Go on
#
# A new loop goes on where the last one stopped: the curves too.

# %% alt="The same curves, gone on with after the loop was left"
for _ in plotted():
    pass
print(f"return after: {float(trainer.evaluate(20)['logs']['episode_return']):.0f}")

# %% [markdown]
# ## Try
#
# - Another seed: 2, 3, 4 in the config above, and run all cells again. Does it stop at
#   the same step? [Chapter 5](../docs/course/05-the-four-classes-and-measuring.md) says
#   what to make of that.
# - Another world: `env_id="Acrobot-v1"`, whose returns are negative, so that the loop
#   needs another condition.
# - Another metric: everything that a log has may be plotted, `"train/entropy"` say.
