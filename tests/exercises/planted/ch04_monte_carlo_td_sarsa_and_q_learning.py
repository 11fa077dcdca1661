"""Mistakes in the solution of chapter 4, and words of the hint that names each."""

PLANTED = [
    ("gamma * best * ~terminated", "gamma * best", "`terminated` is ignored"),
    ("taken * ~terminated", "taken", "`terminated` is ignored"),
    ("best * ~terminated", "best * ~(terminated | truncated)", "taken for an end"),
    ("taken * ~terminated", "taken * ~(terminated | truncated)", "taken for an end"),
    ("table[next_state, next_action]", "table[next_state].amax(1)", "maximum is taken"),
    ("gamma * best", "best", "gamma is left out"),
    ("gamma * future", "future", "gamma is left out"),
    ("table[next_state].amax(1)", "table[state].amax(1)", "from the old state"),
    ("table[next_state, next_action]", "table[state, next_action]", "the old state"),
    ("table[next_state, next_action]", "table[state, action]", "that is the old entry"),
    ("table[next_state, next_action]", "table[next_state, action]", "action before"),
    ("table[next_state].amax(1)", "table[next_state].mean(1)", "mean over actions"),
    ("table[next_state].amax(1)", "table[next_state].max()", "whole batch"),
    ("best * ~terminated", "best * terminated", "taken for `~terminated`"),
    (
        "reward + gamma * best * ~terminated",
        "(reward + gamma * best) * ~terminated",
        "not the reward",
    ),
    ("reward + gamma * future", "gamma * future", "the reward is missing"),
    (
        "reward + gamma * future",
        "reward + gamma * future - table[state, action]",
        "the TD error",
    ),
    (
        "    best = table",
        "    table[next_state[terminated]] = 0.0\n    best = table",
        "changed in place",
    ),
    ("    return reward + gamma * future", "    reward + gamma", "return its result"),
    ("def sarsa_target(", "def sarsas_target(", "keep the names"),
]
"""Old text, new text, words of the hint."""
