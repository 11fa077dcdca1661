"""Mistakes in the solution of chapter 18, and words of the hint that names each."""

PLANTED = [
    ("sum(1, keepdim=True) / size", "sum() / counted.sum()", "other prompts"),
    (
        "(returns * counted).sum(1, keepdim=True) / size",
        "returns.mean(1, keepdim=True)",
        "have a part in the mean",
    ),
    (
        ".sum(1, keepdim=True) / size",
        ".sum(1, keepdim=True) / returns.shape[1]",
        "size of the group",
    ),
    ("(returns - mean) * counted", "returns - mean", "does not count has"),
    ("(returns - mean)", "(mean - returns)", "the sign"),
    (".clamp(min=1)", "", "0 divided by 0"),
    (
        "(returns - mean) * counted",
        "(returns - mean) / returns.std(1, keepdim=True).add(1e-6) * counted",
        "standard deviation",
    ),
    ("/ longest", "/ mask.sum((1, 2))", "own length"),
    ("(values * mask)", "values", "after an answer's end"),
    (".sum((1, 2)) / longest", ".sum((1, 2))", "not divided"),
    (".sum((1, 2))", ".sum()", "added up over answers"),
    ("(values * mask)", "(values * mask).detach()", "depend on the values"),
    ("def by_a_constant(", "def by_constant(", "keep the names"),
]
"""Old text, new text, words of the hint."""
