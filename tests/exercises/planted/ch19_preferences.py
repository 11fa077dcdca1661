"""Mistakes in the solution of chapter 19, and words of the hint that names each."""

PLANTED = [
    ("(log_prob - reference)", "log_prob", "reference is missing"),
    ("log_prob - reference", "reference - log_prob", "upside down"),
    (".sum((2, 3))", ".mean((2, 3))", "a mean over tokens"),
    ("beta * (", "(", "beta is missing"),
    ("beta * (", "1 / beta * (", "divided by beta"),
    ("reward[:, 0] - reward[:, 1]", "reward[:, 1] - reward[:, 0]", "worse answer"),
    ("-logsigmoid(margin)", "logsigmoid(margin)", "the sign"),
    ("-logsigmoid(margin)", "-margin", "sigmoid is missing"),
    ("-logsigmoid(margin)", "-margin.sigmoid()", "logarithm is missing"),
    ("(margin).mean()", "(margin).sum()", "sum over pairs"),
    ("(margin)", "(margin.detach())", "depend on the rewards"),
    ("def preference_loss(", "def preference_lost(", "keep the names"),
]
"""Old text, new text, words of the hint."""
