"""Mistakes in the solution of chapter 7, and words of the hint that names each."""

SHARES = """\
    below = place.floor().clamp(max=last - 1)
    share = place - below
    projected = torch.zeros_like(probability)
    projected.scatter_add_(1, below.long(), probability * (1 - share))
    projected.scatter_add_(1, below.long() + 1, probability * share)
"""
FLOOR_AND_CEIL = """\
    below, above = place.floor(), place.ceil()
    projected = torch.zeros_like(probability)
    projected.scatter_add_(1, below.long(), probability * (above - place))
    projected.scatter_add_(1, above.long(), probability * (place - below))
"""
TWICE = """\
    below, above = place.floor(), place.ceil()
    projected = torch.zeros_like(probability)
    projected.scatter_add_(1, below.long(), probability * (1 - (place - below)))
    projected.scatter_add_(1, above.long(), probability * (1 - (above - place)))
"""
ASSIGNED = """\
    below = place.floor().clamp(max=last - 1)
    share = place - below
    projected = torch.zeros_like(probability)
    rows = torch.arange(len(place)).unsqueeze(1)
    projected[rows, below.long()] += probability * (1 - share)
    projected[rows, below.long() + 1] += probability * share
"""
DROPPED = """
    probability = probability * (place == place.clamp(0, last))
    place = place.clamp(0, last)
"""
WRAPPED = """
    below = place.floor()
    share = place - below
    below = below.long() % len(atoms)
    projected = torch.zeros_like(probability)
    projected.scatter_add_(1, below, probability * (1 - share))
    projected.scatter_add_(1, (below + 1) % len(atoms), probability * share)
"""

PLANTED = [
    ("online_q.argmax(1)", "target_q.argmax(1)", "that is DQN"),
    ("online_q.argmax(1)", "(online_q + target_q).argmax(1)", "choose together"),
    ("online_q.argmax(1)", "online_q.argmin(1)", "the worst action"),
    ("online_q.argmax(1)", "online_q.argmax(0)", "actions are axis 1"),
    ("online_q.argmax(1)", "online_q.amax(1)", "not their values"),
    ("(reward * used * powers)", "(reward * used)", "without a discount"),
    (
        "torch.arange(n, device",
        "torch.arange(1, n + 1, device",
        "the first reward is discounted",
    ),
    ("(reward * used * powers)", "(reward * powers)", "runs on behind the end"),
    ("stops.cumsum(1) - stops == 0", "stops.cumsum(1) == 0", "is left out"),
    ("(terminated | truncated)", "terminated", "`truncated` is ignored"),
    ("(terminated | truncated)", "truncated", "runs on behind the end"),
    ("gamma**length", "gamma ** torch.ones_like(length)", "not by gamma^k"),
    ("gamma**length", "gamma ** torch.full_like(length, n)", "though fewer steps"),
    ("gamma**length", "gamma ** (length - 1)", "it lies k steps ahead"),
    (".sum(1), gamma**length, length", ".sum(1), gamma**length", "in this order"),
    ("share = place - below", "share = 1 - (place - below)", "shares are exchanged"),
    ("share = place - below", "share = (place - below).round()", "the nearest atom"),
    ("share = place - below", "share = torch.zeros_like(place)", "the atom below"),
    ("share = place - below", "share = torch.full_like(place, 0.5)", "get a half"),
    (SHARES, FLOOR_AND_CEIL, "both shares are 0"),
    (SHARES, TWICE, "counts twice"),
    (".clamp(0, last)\n", DROPPED, "outside is lost"),
    (f".clamp(0, last)\n{SHARES}", WRAPPED, "at the other end"),
    (
        ".clamp(0, last)\n    below = place.floor().clamp(max=last - 1)",
        "\n    below = place.floor().clamp(0, last - 1)",
        "clip the place",
    ),
    (SHARES, ASSIGNED, "overwrite each other"),
    ("(returns - atoms[0])", "returns", "subtract the first"),
    (" / (atoms[1] - atoms[0])", "", "divide by their spacing"),
    ("(returns - atoms[0])", "(returns.sub_(atoms[0]))", "changed in place"),
    ("    return projected", "    projected.sum()", "return its result"),
    ("def project(", "def projection(", "keep the names"),
]
"""Old text, new text, words of the hint."""
