"""Mistakes in the solution of chapter 10, and words of the hint that names each."""

SCALED = "(a - a.mean()) / (a.std() + 1e-8)"
RATIO = "(log_prob - old_log_prob.detach()).exp()"
CLIPPED = "ratio.clamp(1 - clip_coef, 1 + clip_coef)"
LOSS = "-torch.minimum(ratio * a, clipped * a).mean()"
OLD = 'data["log_prob"], data["advantage"]'

PLANTED = [
    (SCALED, "a", "scale this minibatch"),
    (SCALED, "a / (a.std() + 1e-8)", "mean of the advantages is not subtracted"),
    (SCALED, "a - a.mean()", "not divided by their standard deviation"),
    (SCALED, "(a - a.mean()) / (a.var() + 1e-8)", "by their variance"),
    (SCALED, "(a - a.mean()) / a.std()", "which may be 0"),
    (RATIO, "(old_log_prob.detach() - log_prob).exp()", "upside down"),
    (RATIO, "log_prob - old_log_prob.detach()", "take its exp"),
    (RATIO, "log_prob / old_log_prob.detach()", "logarithms are divided"),
    (LOSS, "-(log_prob * a).mean()", "loss of A2C"),
    (
        RATIO,
        "(log_prob.detach() - old_log_prob).exp()",
        "log_prob must keep its gradient",
    ),
    (RATIO, "(log_prob - old_log_prob).exp()", "detach old_log_prob"),
    (CLIPPED, "ratio.clamp(-clip_coef, clip_coef)", "interval is around 1"),
    (
        CLIPPED,
        "ratio.log().clamp(-clip_coef, clip_coef).exp()",
        "logarithm of the ratio is",
    ),
    (LOSS, "-(ratio * a).mean()", "nothing is clipped"),
    (LOSS, "-(clipped * a).mean()", "the minimum is missing"),
    (LOSS, "-torch.maximum(ratio * a, clipped * a).mean()", "the larger of the two"),
    (
        LOSS,
        "-(torch.minimum(ratio, clipped) * a).mean()",
        "taken of ratios",
    ),
    (
        LOSS,
        "-torch.minimum((ratio * a).mean(), (clipped * a).mean())",
        "taken of two means",
    ),
    (LOSS, "-torch.minimum(ratio * a, clipped * a).sum()", "added up"),
    (
        LOSS,
        "-torch.minimum(ratio * a, clipped * a)[ratio == clipped].mean()",
        "left out",
    ),
    (LOSS, "torch.minimum(ratio * a, clipped * a).mean()", "a loss is minimised"),
    ("advantage.detach()", "advantage", "detach old_log_prob and advantage"),
    (OLD, 'log_prob.detach(), data["advantage"]', "ratio is always 1"),
    ("    a = advantage", "    advantage /= 2\n    a = advantage", "work on a copy"),
    ("def policy_loss(", "def loss(", "keep the names"),
]
"""Old text, new text, words of the hint."""
