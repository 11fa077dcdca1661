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
# # One transition, from the environment to the gradient
#
# At the end of this notebook you have followed a single step of CartPole through all
# that PPO does with it, and computed by hand what the library computes. Three calls do
# the whole work, without the loop: `collect`, `update`, `evaluate`.
#
# `collect` lets the policy act. What comes back is one TensorDict `[T, N]`: 128 steps
# of 4 environments.

# %%
# In Jupyter or VS Code, with a kernel that has yieldrl[notebook], leave this cell as it
# is. In Colab take the first sign off the last line, put the URL of the repository into
# it, run the cell, and restart the runtime once.
# # %pip install "yieldrl[notebook] @ git+URL"

# %%
from yieldrl.algorithms import ppo

# Rewards as they are: their scale would be one more thing to follow.
config = ppo.Config(total_steps=20_000, num_envs=4, normalize_reward=False)
trainer = ppo.Trainer(config)
model, algorithm = trainer.model, trainer.algorithm

rollout = trainer.collector.collect(config.num_steps)
print("batch size [T, N] =", list(rollout.batch_size))
for name, entry in rollout.items():
    print(f"{name:<11} {list(entry.shape)!s:<12} {entry.dtype}")

# %% [markdown]
# ## Acting
#
# Our transition `[t, n]` is of environment 0, two steps before the one in which the
# pole falls for the first time. The `log_prob` in it is that of the weights that acted.
# They are still the same, so the policy gives the same numbers when it is asked again.

# %%
n = 0
end = int(rollout["terminated"][:, n].nonzero()[0])
t = end - 2
obs, action = rollout["obs"][t, n], rollout["action"][t, n]
print("t =", t, " obs =", [round(x, 3) for x in obs.tolist()], " action =", int(action))

log_prob, entropy, value = model.evaluate_actions(obs[None], action[None])
for name, again in {"log_prob": log_prob, "value": value, "entropy": entropy}.items():
    recorded = rollout[name][t, n].item()
    print(f"{name:<8} recorded {recorded:8.5f}, asked again {again.item():8.5f}")
    assert abs(recorded - again.item()) < 1e-5

# %% [markdown]
# ## Was it better than expected?
#
# Generalized advantage estimation adds up what surprised the critic until the episode
# ends, each step `gamma * gae_lambda` times less important than the one before. After
# `terminated` there is no future value ([what else may end an
# episode](../docs/time-limits.md)).
#
# ```text
# delta_t = r_t + gamma V(s_t+1) (1 - terminated_t) - V(s_t)
# A_t     = delta_t + gamma gae_lambda delta_t+1 + (gamma gae_lambda)^2 delta_t+2
# ```

# %%
by_hand, weight = 0.0, 1.0
for k in range(t, end + 1):
    step = rollout[k, n]
    future = model.get_value(step["next_obs"][None]).item() * (k < end)
    delta = float(step["reward"] - step["value"]) + config.gamma * future
    by_hand += weight * delta
    print(f"t = {k:2}: delta = {delta:.5f}, weight = {weight:.5f}")
    weight *= config.gamma * config.gae_lambda
advantage = rollout["advantage"][t, n].item()
print(f"advantage by hand {by_hand:.5f}, in the rollout {advantage:.5f}")
assert abs(by_hand - advantage) < 1e-4

# %% [markdown]
# ## The gradient
#
# PPO asks how much more likely the action has become, `ratio = pi(a|s) / pi_old(a|s)`,
# and maximises `min(ratio * A, clip(ratio, 1 - eps, 1 + eps) * A)`. Advantages are
# centred and scaled first, in each minibatch; here we do it over the rollout. Our
# action did better than the critic expected, which has learned nothing yet; but most
# others did better still.
#
# Before the first step the ratio is 1, and the gradient in the two logits is
# `A (onehot(a) - pi)`: the logit of the action goes down, the other one up.

# %%
every = rollout["advantage"]
A = (advantage - every.mean()) / every.std()
logits = model.action(obs[None]).detach().requires_grad_()
again = model.distribution(logits).log_prob(action[None])
ratio = (again - rollout["log_prob"][t, n]).exp()
clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
surrogate = (ratio * A).minimum(clipped * A)
surrogate.backward()
print(f"ratio = {ratio.item():.5f}, surrogate = {surrogate.item():.5f}")

onehot = logits.new_tensor([action == 0, action == 1])
gradient = A * (onehot - logits.detach().softmax(-1)[0])
print("gradient by autograd", [round(x, 5) for x in logits.grad[0].tolist()])
print("A (onehot(a) - pi)  ", [round(x, 5) for x in gradient.tolist()])
assert logits.grad.allclose(gradient)

# %% [markdown]
# ## Learning
#
# `update` does all of this for every transition: 4 epochs of 4 minibatches, a gradient
# step on each. Its metrics are means over the 16. Our action has become less likely, as
# its gradient said. Then the two calls take turns up to `total_steps`, and `evaluate`
# plays five episodes. The loop `for log in trainer()` takes these very steps, one by
# one.

# %%
metrics = trainer.update(rollout)
for name in ("policy_loss", "value_loss", "approx_kl", "clip_fraction"):
    print(f"{name:<13} {metrics[name]:9.5f}")

moved = model.evaluate_actions(obs[None], action[None])[0]
print(f"log_prob {log_prob.item():.5f} -> {moved.item():.5f}", end=", ")
print(f"ratio {(moved - log_prob).exp().item():.5f}")

while trainer.agent.sample_step < config.total_steps:
    trainer.update(trainer.collector.collect(config.num_steps))
print("return of five episodes:", trainer.evaluate(5)["logs"]["episode_return"])
