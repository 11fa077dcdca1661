"""Mistakes in the solution of chapter 3, and words of the hint that names each."""

BACKUP = "q_value += probability * (reward + gamma * future)"
FUTURE = "future = 0.0 if terminated else value[next_state]"

PLANTED = [
    ("(reward + gamma * future)", "gamma * future", "reward is left out"),
    ("(reward + gamma * future)", "(reward + future)", "not discounted"),
    ("(reward + gamma * future)", "gamma * (reward + future)", "discounted too"),
    ("(reward + gamma * future)", "reward", "next value is missing"),
    ("else value[next_state]", "else value[state]", "taken for value[next_state]"),
    (BACKUP, "q_value = max(q_value, reward + gamma * future)", "luckiest outcome"),
    (BACKUP, "q_value += (reward + gamma * future) / len(outcomes)", "equally likely"),
    (BACKUP, "q_value += reward + gamma * future", "probabilities are missing"),
    ("max(worth)", "np.mean(worth)", "mean of the actions"),
    ("max(worth)", "min(worth)", "worst action"),
    ("max(worth)", "max(0.0, *worth)", "falls below 0"),
    (FUTURE, "future = value[next_state]", "ignores `terminated`"),
    (
        FUTURE,
        "if terminated:\n                    continue\n"
        "                future = value[next_state]",
        "last step is lost",
    ),
    ("new = np.zeros_like(value)", "new = value", "keep the old values apart"),
    (
        "new = np.zeros_like(value)",
        "new = value = value.copy()",
        "keep the old values apart",
    ),
    ("return new", "value[:] = new\n    return value", "work on a copy"),
    ("return new", "return", "return its result"),
    ("q_value = 0.0", "q_value = 1 / 0", "1 / 0"),
    ("range(2_000)", "range(20)", ""),
    ("argmax(1)", "argmin(1)", ""),
    ("def sweep(", "def swept(", "keep the names"),
]
"""Old text, new text, words of the hint."""
