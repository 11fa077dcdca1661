"""Mistakes in the solution of chapter 9, and words of the hint that names each."""

PLANTED = [
    ("next_value * ~terminated - value", "next_value - value", "ignores `terminated`"),
    ("next_value * ~terminated - value", "next_value * ~terminated", "not subtracted"),
    ("gamma * next_value", "next_value", "next value is not discounted"),
    ("~terminated - value", "~(terminated | truncated) - value", "taken for an end"),
    ("~(terminated | truncated)", "~truncated", "through `terminated`"),
    ("~(terminated | truncated)", "~terminated", "through `truncated`"),
    ("gamma * gae_lambda", "gae_lambda", "gamma is missing"),
    ("gamma * gae_lambda", "gamma", "lambda is missing"),
    ("reversed(range(len(reward)))", "range(len(reward))", "forwards in time"),
    (
        "carry[t] * following",
        "carry[t] * (delta[t + 1] if t < 4 else 0)",
        "only two TD errors",
    ),
    ("advantage.detach()", "advantage", "detach it"),
    ("return advantage.detach()", "return", "return its result"),
    (
        "    delta = reward",
        "    next_value *= ~terminated\n    delta = reward",
        "work on a copy",
    ),
    ("        following = delta", "        following = 1 / 0 * delta", "1 / 0"),
    ("def gae(", "def gea(", "keep the names"),
]
"""Old text, new text, words of the hint."""
