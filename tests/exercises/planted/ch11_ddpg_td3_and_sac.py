"""Mistakes in the solution of chapter 11, and words of the hint that names each."""

PLANTED = [
    ("noise.clamp(-noise_clip, noise_clip)", "noise", "the noise is not clipped"),
    (").clamp(-1, 1)", ")", "the sum is not clipped"),
    (
        "(action + noise.clamp(-noise_clip, noise_clip)).clamp(-1, 1)",
        "(action + noise).clamp(-noise_clip, noise_clip)",
        "limits the noise",
    ),
    ("(log_normal - log_slope)", "log_normal", "correction of tanh is missing"),
    ("log_normal - log_slope", "log_normal + log_slope", "slope of tanh is added"),
    (
        "normal - softplus(-2 * normal)",
        "mean - softplus(-2 * mean)",
        "slope is taken at the mean",
    ),
    ("- log_std - 0.5", "- 0.5", "- log std is missing"),
    ("mean) / log_std.exp()", "mean) / log_std.exp() ** 2", "by the variance"),
    (" - 0.5 * math.log(2 * math.pi)", "", "in each dimension"),
    ("log_slope).sum(-1)", "log_slope).mean(-1)", "densities multiply"),
    (
        "2 * (math.log(2) - normal - softplus(-2 * normal))",
        "(1 - torch.tanh(normal).square()).log()",
        "rounds to 0",
    ),
    (
        "2 * (math.log(2) - normal - softplus(-2 * normal))",
        "(1 - torch.tanh(normal).square() + 1e-6).log()",
        "a floor for the slope",
    ),
    ("next_value.amin(0)", "next_value.amax(0)", "the maximum of the critics"),
    ("next_value.amin(0)", "next_value.mean(0)", "the mean of the critics"),
    ("next_value.amin(0)", "next_value[0]", "only the first critic"),
    ("next_value.amin(0)", "next_value.amin()", "that of the whole batch"),
    (" - alpha * log_prob", "", "the entropy is missing"),
    ("- alpha * log_prob", "+ alpha * log_prob", "pays for certainty"),
    ("- alpha * log_prob", "- log_prob", "price at which log pi"),
    ("gamma * soft_value", "soft_value", "gamma is left out"),
    ("soft_value * ~terminated", "soft_value", "`terminated` is ignored"),
    ("soft_value * ~terminated", "soft_value * terminated", "taken for `~terminated`"),
    (
        "soft_value * ~terminated",
        "soft_value * ~(terminated | truncated)",
        "taken for an end",
    ),
    (
        "gamma * soft_value * ~terminated",
        "gamma * next_value.amin(0) * ~terminated - alpha * log_prob",
        "stands outside",
    ),
    (
        "gamma * soft_value * ~terminated",
        "gamma * (next_value.amin(0) * ~terminated - alpha * log_prob)",
        "`terminated` stops both",
    ),
    ("target.detach()", "target", "detach it"),
    (
        "    soft_value = next_value",
        "    next_value *= ~terminated\n    soft_value = next_value",
        "make a new tensor",
    ),
    ("    return target.detach()", "    target.detach()", "return its result"),
]
"""Old text, new text, words of the hint."""
