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
# # Quickstart
#
# At the end of this notebook you have trained an agent, stopped it half way, changed
# its learning rate and gone on, saved and loaded it, watched it play, and given it a
# network of your own. All of it takes less than a minute on a laptop.

# %%
# In Jupyter or VS Code, with a kernel that has yieldrl[notebook], leave this cell as it
# is. In Colab take the first sign off the last line, put the URL of the repository into
# it, run the cell, and restart the runtime once.
# # %pip install "yieldrl[notebook] @ git+URL"

# %%
import torch
from IPython.display import Video, display
from torch import nn

from yieldrl import loggers
from yieldrl.abstractions import Policy
from yieldrl.algorithms import ppo
from yieldrl.networks import Categorical

# %% [markdown]
# ## A loop that is yours
#
# A config says what to train. It is frozen and checked: a wrong name or value is an
# error here, not after an hour.

# %%
config = ppo.Config(env_id="CartPole-v1", total_steps=60_000, eval_every=10_000)
trainer = ppo.Trainer(config)

# %% [markdown]
# Calling the trainer starts a generator. It yields one log per step, and there are
# three types: `collect`, `train` and `evaluate`. We print the evaluations, and leave
# after the second.

# %%
for log in trainer():
    if log["log_type"] == "evaluate":
        print(log["sample_step"], log["logs"]["episode_return"])
        if log["sample_step"] >= 20_000:
            break

# %% [markdown]
# ## Look around
#
# Nothing runs now. A log is a small dictionary:

# %%
display(log)

# %% [markdown]
# And everything that the trainer knows is in plain sight:

# %%
print("environment steps:", trainer.agent.sample_step)
print("gradient steps:   ", trainer.agent.learn_step)
print("learning rate:    ", trainer.algorithm.learning_rate)
print("parameters:       ", sum(p.numel() for p in trainer.model.parameters()))

# %% [markdown]
# ## Change something, and go on
#
# A new loop continues where the last one stopped. Here it goes on with a learning rate
# that no longer falls, and with a plot around it: a [logger](../docs/loggers.md) takes
# a trainer and gives back one that yields the same logs.

# %% alt="Curves that grew in the loop: returns, and the policy's entropy"
trainer.algorithm.learning_rate = 5e-4

plotted = loggers.live_plot(
    ["collect/episode_return", "evaluate/episode_return", "train/entropy"]
)(trainer)
for _ in plotted():
    pass

# %% [markdown]
# The loop body may do anything: stop at a goal, lower the learning rate when progress
# stalls, call your own code. `log["logs"]` holds numbers, or tensors of one number that
# `float(...)` reads.

# %% [markdown]
# ## Evaluate
#
# Twenty whole episodes, in environments of their own, with deterministic actions. 500
# is the best that CartPole-v1 allows.

# %%
result = trainer.evaluate(episodes=20)["logs"]
print(f"{result['episode_return']:.1f} +- {result['episode_return_std']:.1f}")

# %% [markdown]
# ## Save and load
#
# A checkpoint holds all that training needs to go on: networks, optimizer, buffer,
# counters, random generators. What is bitwise the same afterwards, and what is not, has
# [a page of its own](../docs/runs.md).

# %%
trainer.save("runs/quickstart/cartpole.pt")
loaded = ppo.Trainer.load("runs/quickstart/cartpole.pt")
print(loaded.agent.sample_step, loaded.config.env_id)

# %% [markdown]
# ## Watch it

# %%
path = loggers.record_video(loaded, "runs/quickstart/cartpole.mp4")
Video(str(path), embed=True, width=420)

# %% [markdown]
# ## Swap the model
#
# Sometimes a change of the config is enough:

# %%
wider = ppo.Trainer(ppo.Config(total_steps=2_048, hidden_sizes=(128, 128)))
for _ in wider():
    pass
print(sum(p.numel() for p in wider.model.parameters()), "parameters")

# %% [markdown]
# And sometimes the network is the point. PPO trains any `Policy`: a model that can act,
# judge actions, and judge states. This one shares its first layer between the actor and
# the critic.


# %%
class Shared(Policy):
    def __init__(self, observation_space, action_space):
        super().__init__(observation_space, action_space)
        self.body = nn.Sequential(nn.Linear(observation_space.shape[0], 64), nn.Tanh())
        self.actor = nn.Linear(64, int(action_space.n))
        self.critic = nn.Linear(64, 1)

    def forward(self, obs, deterministic=False):
        policy = Categorical(self.actor(self.body(obs)))
        action = policy.mode() if deterministic else policy.sample()
        return action, policy.log_prob(action), self.get_value(obs)

    def evaluate_actions(self, obs, action):
        policy = Categorical(self.actor(self.body(obs)))
        return policy.log_prob(action), policy.entropy(), self.get_value(obs)

    def get_value(self, obs):
        return self.critic(self.body(obs)).squeeze(-1)


# %%
torch.manual_seed(0)  # you make this model, so you seed it
model = Shared(trainer.model.observation_space, trainer.model.action_space)
shared = ppo.Trainer(ppo.Config(total_steps=30_000, eval_every=10_000), model=model)
for log in shared():
    if log["log_type"] == "evaluate":
        print(log["sample_step"], log["logs"]["episode_return"])

# %% [markdown]
# Everything else, the loss, the schedule, the collector, was used as it is.
#
# ## Where to go next
#
# - [The four classes](../docs/four-classes.md): each of them in its own source.
# - [Your own environment](../docs/your-environment.md): a class, a function, an id.
# - [Copy an algorithm](../docs/copy.md): when you want to change more than a part.
