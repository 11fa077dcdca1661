"""Mistakes in the solution of chapter 6, and words of the hint that names each."""

PLANTED = [
    ("target(next_obs)", "online(next_obs)", "the online network is asked"),
    (
        "target(next_obs).amax(1)",
        "target(next_obs)[range(len(reward)), online(next_obs).argmax(1)]",
        "that is Double DQN",
    ),
    ("target(next_obs).amax(1)", "target(next_obs).amax(0)", "over the wrong axis"),
    ("target(next_obs).amax(1)", "target(next_obs).max()", "that of the whole batch"),
    ("target(next_obs).amax(1)", "target(next_obs).mean(1)", "the mean over actions"),
    ("amax(1)\n", "amax(1, keepdim=True)\n", "all pairs"),
    ("gamma * best * ~terminated", "gamma * best", "`terminated` is ignored"),
    ("best * ~terminated", "best * terminated", "taken for `~terminated`"),
    (
        "best * ~terminated",
        "best * ~(terminated | truncated)",
        "`truncated` is taken for an end",
    ),
    (
        "reward + gamma * best * ~terminated",
        "(reward + gamma * best) * ~terminated",
        "not the reward",
    ),
    ("reward + gamma * best", "reward + best", "gamma is left out"),
    ("reward + gamma * best", "gamma * best", "the reward is missing"),
    (
        "    with torch.no_grad():\n        best = target(",
        "    with torch.enable_grad():\n        best = target(",
        "under `torch.no_grad()`",
    ),
    (
        "    return reward + gamma * best * ~terminated",
        "    reward += gamma * best * ~terminated\n    return reward",
        "changed in place",
    ),
    ("    return reward + gamma", "    reward + gamma", "return its result"),
    ("gather(1, action.unsqueeze(1)).squeeze(1)", "amax(1)", "best action's value"),
    (".squeeze(1)", "", "all pairs"),
    (
        "gather(1, action.unsqueeze(1)).squeeze(1)",
        "gather(0, action.unsqueeze(0)).squeeze(0)",
        "along the wrong axis",
    ),
    ("squared * (error - squared / 2)", "error**2", "the half is missing"),
    ("squared * (error - squared / 2)", "error", "not squared"),
    ("squared * (error - squared / 2)", "error**2 / 2", "`clip` is ignored"),
    ("squared * (error - squared / 2)", "squared**2 / 2", "no gradient comes"),
    (
        "squared * (error - squared / 2)",
        "torch.where(error <= clip, error**2 / 2, clip * error)",
        "does not meet the parabola",
    ),
    ("clamp(max=clip)", "clamp(max=1.0)", "taken to be 1"),
    (
        "return squared * (error - squared / 2)",
        "return (squared * (error - squared / 2)).mean()",
        "one by one",
    ),
    ("online(obs).gather", "online(obs).detach().gather", "the network must learn"),
    ("def td_target(\n    online", "def target(\n    online", "keep the names"),
]
"""Old text, new text, words of the hint."""
