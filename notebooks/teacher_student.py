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
# # Teacher, student and a blind policy, side by side
#
# At the end of this notebook you have trained three policies for a cart whose motor is
# wired the wrong way round in every second episode, watched them in one and the same
# world, and seen how long it takes to find out. It takes about two minutes.
#
# The ideas, the code and the other options are on [the page about teacher and
# student](../docs/algorithms/ppo_roa.md).

# %%
# In Jupyter or VS Code, with a kernel that has yieldrl[notebook], leave this cell as it
# is. In Colab take the first sign off the last line, put the URL of the repository into
# it, run the cell, and restart the runtime once.
# # %pip install "yieldrl[notebook] @ git+URL"

# %%
from pathlib import Path

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import Video

from yieldrl.algorithms import ppo, ppo_roa
from yieldrl.collectors import evaluate
from yieldrl.loggers.videos import mp4

ENV_ID = "yieldrl/HiddenCartPole-v1"

# %% [markdown]
# ## What is hidden
#
# In each episode the pole has another mass and length, and the motor another force,
# which may be negative. `obs` is what CartPole always shows. `privileged` says what was
# drawn, scaled so that the training range is [-1, 1].

# %%
envs = gymnasium.make_vec(ENV_ID, num_envs=3)
obs, _ = envs.reset(seed=4)
for n in range(3):
    drawn = ", ".join(f"{name} {envs.get_attr(name)[n]:.2f}" for name in envs.names)
    told = [round(x, 2) for x in obs["privileged"][n].tolist()]
    print(f"world {n}: {drawn}  ->  privileged {told}")

# %% [markdown]
# ## Two of them in one run
#
# The teacher is told, and learns by PPO. A GRU learns to infer from the episode what
# the teacher's encoder makes of what it is told. Then the student takes over, which
# goes by what is inferred.

# %%
config = ppo_roa.Config(
    env_id=ENV_ID, adaptation="gru", total_steps=300_000, eval_every=0
)
trainer = ppo_roa.Trainer(config)
curve = []
for log in trainer():
    if log["log_type"] == "collect" and "episode_return" in log["logs"]:
        step, logs = log["sample_step"], log["logs"]
        curve.append((step, float(logs["episode_return"]), int(logs["phase"])))
teacher, student = trainer.agent.as_teacher(), trainer.agent.as_student()

# %% [markdown]
# ## And a blind one
#
# It is PPO with as many steps. Its critic is told everything, which helps to learn; its
# actor sees `obs` and remembers nothing.

# %%
blind_config = ppo.Config(
    env_id=ENV_ID,
    actor_obs=("obs",),
    num_envs=config.num_envs,
    num_steps=config.num_steps,
    total_steps=300_000,
    eval_every=0,
)
blind_trainer, blind_curve = ppo.Trainer(blind_config), []
for log in blind_trainer():
    if log["log_type"] == "collect" and "episode_return" in log["logs"]:
        returned = float(log["logs"]["episode_return"])
        blind_curve.append((log["sample_step"], returned))
blind = blind_trainer.agent

# %% [markdown]
# These are returns while exploring. Where the line changes colour a phase begins: the
# teacher acts at first, the student after that.

# %% alt="Returns of teacher, student and blind policy in training"
fig, ax = plt.subplots(figsize=(7, 3))
for number, name in enumerate(["train", "adapt", "finetune"]):
    points = [point[:2] for point in curve if point[2] == number]
    ax.plot(*np.reshape(points, (-1, 2)).T, ".-", label=name)
ax.plot(*np.transpose(blind_curve), color="grey", label="blind")
ax.set(xlabel="environment steps", ylabel="return")
ax.legend()
plt.show()

# %% [markdown]
# ## The same worlds for all of them
#
# 64 worlds as in training, and 64 that are held out, with heavier poles, longer and
# shorter ones, and stronger motors. The seed draws the same ones for every player, and
# each acts as well as it can. A dot is an episode, the line their mean.

# %% alt="Returns of each, in worlds of training and held out"
players = {"teacher": teacher, "student": student, "blind": blind}
fig, axes = plt.subplots(1, 2, figsize=(7, 3), sharey=True)
for ax, side in zip(axes, ("training", "held_out"), strict=True):
    worlds = gymnasium.make_vec(ENV_ID, num_envs=64, side=side)
    for x, (name, player) in enumerate(players.items()):
        returns = evaluate(player, worlds, 64, seed=1).returns
        print(f"{side:<8}  {name:<7}  mean return {returns.mean():5.1f}")
        ax.scatter(x + np.linspace(-0.3, 0.3, 64), returns, s=6)
        ax.hlines(returns.mean(), x - 0.35, x + 0.35, color="black")
    ax.set(title=side, xticks=range(3), xticklabels=players)
axes[0].set_ylabel("return")
plt.show()

# %% [markdown]
# The blind policy has settled for one kind of motor, and drops the pole at once where
# it is the other kind. The student may be ahead of its teacher: it went on learning
# after the teacher had stopped.
#
# ## Watch them
#
# The teacher is on the left, the student in the middle, the blind policy on the right.
# All three are in the same world: above in one where action 1 pushes to the right,
# below in one where it pushes to the left. Where an episode has ended the picture turns
# grey. Only the teacher is given what is privileged.


# %%
def film(player, seed, steps=250):
    """Every second picture of an episode, at half the size; grey from its end on."""
    env = gymnasium.make(ENV_ID, render_mode="rgb_array")
    obs, _ = env.reset(seed=seed)
    player.begin_episode()
    pictures, ended, length = [], False, 0
    for t in range(steps):
        if t % 2 == 0:
            pictures.append(env.render()[80:360:2, ::2] // (2 if ended else 1))
        if not ended:
            seen = obs if player is teacher else {"obs": obs["obs"]}
            obs, _, terminated, truncated, _ = env.step(player.predict(seen))
            ended, length = terminated or truncated, t + 1
    env.close()
    return np.stack(pictures), length


env = gymnasium.make(ENV_ID)
forces = [env.reset(seed=seed)[0]["privileged"][2] for seed in range(20)]
rows = []
for side, reversed_force in (("right", False), ("left", True)):
    seed = [force < 0 for force in forces].index(reversed_force)
    films = {name: film(player, seed) for name, player in players.items()}
    for name, (_, length) in films.items():
        print(f"action 1 pushes to the {side:<5}  {name:<7} {length} of 250 steps")
    rows.append(np.concatenate([pictures for pictures, _ in films.values()], axis=2))
whole = np.concatenate(rows, axis=1)  # [pictures, height, width, 3]
whole[:, 138:142] = whole[:, :, 298:302] = whole[:, :, 598:602] = 190  # frames

path = Path("runs/teacher_student/side_by_side.mp4")
mp4(path, whole, fps=25)
Video(str(path), embed=True, width=720)

# %% [markdown]
# ## What the student knows, and when
#
# Here is the student without its agent: infer, act, remember. In each step we compare
# what it infers with what the encoder says of the privileged observations, over 256
# worlds. An error of 1 is that of somebody who always says the mean.


# %% alt="Error of what the student infers, step by step"
@torch.inference_mode()
def errors(side, steps=100, count=256):
    model = student.algorithm.model
    worlds = gymnasium.make_vec(ENV_ID, num_envs=count, side=side)
    obs, _ = worlds.reset(seed=2)
    memory = torch.zeros(count, model.memory_size)
    going, found = torch.ones(count, dtype=torch.bool), []
    for t in range(steps):
        first = torch.full((count,), t == 0)
        seen = {"obs": obs, "memory": memory, "first": first}
        inferred, watched = model.infer(seen)
        encoded = model.encoded(obs)
        error, spread = (inferred - encoded)[going], encoded[going].std(0)
        found.append(float((error**2).sum(-1).mean() / (spread**2).sum()))
        action = model.predict({**seen, "latent": inferred})
        memory = model.remember(watched, action)
        obs, _, terminated, truncated, _ = worlds.step(action)
        going &= ~(terminated | truncated)
        if going.sum() < 2:
            break
    return found


fig, ax = plt.subplots(figsize=(7, 3))
for side in ("training", "held_out"):
    found = errors(side)
    print(f"{side:<8} ", *(f"step {t + 1}: {found[t]:.2f} " for t in (0, 1, 2, 7)))
    ax.plot(range(1, len(found) + 1), found, label=side)
ax.set(xlabel="step of the episode", ylabel="error of what is inferred", xscale="log")
ax.legend()
plt.show()

# %% [markdown]
# The first observation says nothing of the world, and the student is no better than
# somebody who says the mean. Then every push says something, and after ten of them
# little is left to find out, in worlds that it was never trained in, too.
#
# ## Where to go next
#
# - [Teacher and student](../docs/algorithms/ppo_roa.md): the phases, the losses, and
#   how to take the student along as a file.
# - [Hidden parameters](../docs/worlds.md) in a world of your own.
# - [Recurrent PPO](../docs/algorithms/ppo_lstm.md), which nobody tells anything.
