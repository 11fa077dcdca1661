"""Mistakes in the solution of chapter 5, and words of the hint that names each."""

PLANTED = [
    ("ordered[cut : len(ordered) - cut]", "ordered", "mean of all scores"),
    ("ordered[cut : len(ordered) - cut].mean()", "np.median(ordered)", "the median"),
    ("[cut : len(ordered) - cut]", "[: len(ordered) - cut]", "highest quarter"),
    ("[cut : len(ordered) - cut]", "[cut:]", "lowest quarter"),
    ("np.sort(scores, axis=None)", "scores.reshape(-1)", "not ordered"),
    ("np.sort(scores, axis=None)", "np.sort(scores.mean(0))", "taken first"),
    ("len(ordered) // 4", "-(-len(ordered) // 4)", "rounded up"),
    ("len(ordered) // 4", "len(ordered) // 8", "an eighth"),
    (
        "    ordered = np.sort(scores, axis=None)",
        "    scores.sort(axis=1)\n    ordered = np.sort(scores, axis=None)",
        "changed in place",
    ),
    (
        "    ordered = np.sort(scores, axis=None)\n    cut = len(ordered) // 4",
        "    if len(scores) > 1:\n"
        "        return float(np.mean([iqm(row[None]) for row in scores]))\n"
        "    ordered = np.sort(scores, axis=None)\n    cut = len(ordered) // 4",
        "pool all scores first",
    ),
    (
        "np.take_along_axis(scores, drawn, axis=1)",
        "rng.choice(scores.reshape(-1), size=scores.shape)",
        "within each row",
    ),
    (
        "np.take_along_axis(scores, drawn, axis=1)",
        "scores[rng.integers(len(scores), size=len(scores))]",
        "within each row",
    ),
    (
        "np.take_along_axis(scores, drawn, axis=1)",
        "rng.permuted(scores, axis=1)",
        "with replacement",
    ),
    (
        "rng.integers(scores.shape[1], ",
        "rng.integers(scores.shape[1] - 1, ",
        "",
    ),
    (
        "    drawn = rng",
        "    rng = np.random.default_rng(0)\n    drawn = rng",
        "from the `rng` that is given",
    ),
    (
        "np.take_along_axis(scores, drawn, axis=1)",
        "scores[:, drawn[0]]",
        "one draw serves all tasks",
    ),
    ("size=scores.shape)", "size=(len(scores), 3))", "as many runs as it has"),
    ("    return np.take", "    np.take", "return its result"),
    ("[2.5, 97.5]", "[5, 95]", "of 90 %"),
    ("[2.5, 97.5]", "[0, 100]", "extremes"),
    ("np.percentile(found, ", "np.percentile(scores, ", "of the scores"),
    ("iqm(resample(scores, rng)) for", "resample(scores, rng).mean() for", "plain"),
    ("range(resamples)", "range(100)", ""),
    ("return float(low), float(high)", "return float(low)", "both ends"),
]
"""Old text, new text, words of the hint."""
