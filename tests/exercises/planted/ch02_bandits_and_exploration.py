"""Mistakes in the solution of chapter 2, and words of the hint that names each."""

MOVE = "    value[action] += (reward - value[action]) / count[action]\n"
COUNT = "    count[action] += 1\n"

PLANTED = [
    ("rng.random() < epsilon", "rng.random() > epsilon", "epsilon is inverted"),
    ("value == value.max()", "value == value.min()", "the worst action"),
    ("value == value.max()", "np.isclose(value, value.max())", "compare exactly"),
    ("rng.choice(best)", "(value + 0.01 * rng.random(len(value))).argmax()", "noise"),
    ("rng.choice(best)", "best[0]", "always the first"),
    ("rng.choice(best)", "best[-1]", "always the last"),
    (
        "return int(rng.choice(best))",
        "return int(best[0] if len(best) == 1 else rng.integers(len(value)))",
        "takes any action",
    ),
    ("if rng.random() < epsilon", "if False", "epsilon is not used"),
    (
        "rng.integers(len(value))",
        "rng.choice(np.flatnonzero(value < value.max()))",
        "leaves the best one out",
    ),
    ("rng.integers(len(value))", "rng.integers(len(value) - 1)", "the last action"),
    ("rng.integers(len(value))", "rng.integers(1, len(value))", "numbered from 0"),
    ("rng.random() < epsilon", "epsilon > 0", "not a switch"),
    ("rng.random() < epsilon", "np.random.random() < epsilon", "draw from rng"),
    ("return int(rng.choice(best))", "best = int(rng.choice(best))", "return"),
    (MOVE, MOVE.replace("count[action]", "(count[action] + 1)"), "off by one"),
    (COUNT + MOVE, MOVE + COUNT, "n is 0 at the first reward"),
    ("(reward - value[action]) / count[action]", "reward / count[action]", "summed"),
    ("(reward - value[action])", "(value[action] - reward)", "moves away"),
    ("value[action] += (reward - value[action])", "value += (reward - value)", "all"),
    ("/ count[action]", "* 0.1", "rate is constant"),
    (MOVE, "    value[action] = reward\n", "only the last reward"),
    (COUNT, "    count += 1\n", "not those of this one"),
    (MOVE, "    value = value + (reward - value[action])\n", "in place"),
    ("def update(", "def move(", "keep the names"),
]
"""Old text, new text, words of the hint."""
