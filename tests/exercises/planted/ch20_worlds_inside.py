"""Mistakes in the solution of chapter 20, and words of the hint that names each."""

PLANTED = [
    ("later, returns = next_value[-1]", "later, returns = 0 * reward[0]", "no end"),
    ("(1 - end[t]) * future", "future", "as the episode goes on"),
    ("(1 - end[t])", "end[t]", "upside down"),
    ("(1 - end[t]) * future", "(end[t] < 0.5) * future", "cuts nothing"),
    (
        "reward[t] + gamma * (1 - end[t]) * future",
        "(1 - end[t]) * (reward[t] + gamma * future)",
        "still earned",
    ),
    ("gamma * (1 - end[t])", "(1 - end[t])", "gamma is missing"),
    (
        "(1 - gae_lambda) * next_value[t] + gae_lambda * later",
        "gae_lambda * next_value[t] + (1 - gae_lambda) * later",
        "wrong side",
    ),
    (
        "(1 - gae_lambda) * next_value[t] + gae_lambda * later",
        "later",
        "lambda is missing",
    ),
    ("returns[::-1]", "returns", "reverse order"),
    ("step(state, action[t])", "step(obs[t], action[t])", "errors of one step"),
    ("state - next_obs[t]", "state - obs[t]", "the state before"),
    (" / scale", "", "the unit is missing"),
    (".square().mean().sqrt()", ".square().mean()", "root is missing"),
    (".square().mean().sqrt()", ".abs().mean()", "absolute errors"),
    (".square().mean().sqrt()", ".mean().abs()", "cancel out"),
    (".square().mean().sqrt()", ".square().mean(-1).sqrt().mean()", "mean over all"),
    ("def k_step_errors(", "def k_step_error(", "keep the names"),
]
"""Old text, new text, words of the hint."""
