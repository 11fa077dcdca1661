"""Mistakes in the solution of chapter 1, and words of the hint that names each."""

PLANTED = [
    ("terminated or truncated", "terminated", "`truncated` does not end"),
    ("terminated or truncated", "truncated", "`terminated` does not end"),
    ("terminated or truncated", "terminated and truncated", "either flag"),
    (
        "        obs, reward, terminated, truncated, _",
        "        _, reward, terminated, truncated, _",
        "always the first observation",
    ),
    (
        "        obs, reward, terminated, truncated, _ = env.step(policy(obs))",
        "        before, action = locals().get('after', obs), policy(obs)\n"
        "        after, reward, terminated, truncated, _ = env.step(action)\n"
        "        obs = before",
        "",
    ),
    (
        "float(reward)",
        "0.0 if terminated or truncated else float(reward)",
        "the last reward is missing",
    ),
    ("float(reward)", "float(reward) if length else 0.0", "first reward is missing"),
    ("total += float(reward)", "total = float(reward)", "the last reward alone"),
    ("return total, length", "return total / length, length", "the mean"),
    ("return total, length", "return length, total", "exchanged"),
    ("return total, length", "return total", "in this order"),
    ("return total, length", "return", "return its result"),
    ("0.0, 0, False", "0.0, 1, False", "starts at 1"),
    (
        "float(reward)",
        "0.0 if truncated else float(reward)",
        "missing where an episode is truncated",
    ),
    ("length += 1", "length += not (terminated or truncated)", "step is not counted"),
    ("env.step(policy(obs))", "env.step((policy(obs), policy(obs))[1])", "once a step"),
    (
        "step(policy(obs))",
        "step(env.action_space.sample())",
        "let the policy, and nothing else",
    ),
    ("step(policy(obs))", "step(min(policy(obs), 3))", "as it is"),
    ("env.reset(seed=seed)", "env.reset()", "hand the seed on"),
    ("    return total, length", "    env.reset()\n    return total, length", "once"),
    ("def play(", "def plays(", "keep the names"),
]
"""Old text, new text, words of the hint."""
