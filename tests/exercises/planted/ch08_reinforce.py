"""Mistakes in the solution of chapter 8, and words of the hint that names each."""

PLANTED = [
    (
        "    return returns\n",
        "    return returns[:1].expand_as(reward)\n",
        "whole episode",
    ),
    ("reversed(range(len(reward)))", "range(len(reward))", "rewards so far"),
    ("= following\n", "= reward[t]\n", "nothing is added up"),
    ("= following\n", "= following - reward[t]\n", "step itself is missing"),
    ("reward[t] + gamma * following", "reward[t] + following", "gamma is left out"),
    (
        "reward[t] + gamma * following * ~ended[t]",
        "gamma * (reward[t] + following * ~ended[t])",
        "discounted too",
    ),
    ("returns[t] = following", "returns[t] = gamma**t * following", "from the start"),
    (" * ~ended[t]", "", "through the end of an episode"),
    (
        "reward[t] + gamma * following * ~ended[t]",
        "(reward[t] + gamma * following) * ~ended[t]",
        "last step is lost",
    ),
    ("~ended[t]", "~ended[(t + 1) % len(ended)]", "a step too early"),
    (
        "    return returns\n",
        "    total = reward.flip(1).cumsum(1).flip(1)\n    return total\n",
        "over environments",
    ),
    ("-(weight * log_prob).mean()", "(weight * log_prob).mean()", "the sign is wrong"),
    ("returns - baseline.detach()", "returns", "baseline is not subtracted"),
    ("returns - baseline.detach()", "returns + baseline", "the baseline is added"),
    (".squeeze(1)\n", ".squeeze(1).exp()\n", "not its logarithm"),
    ("logits.log_softmax(1)", "logits", "lack the log_softmax"),
    ("log_softmax(1)", "log_softmax(0)", "runs over the batch"),
    (".gather(1, action[:, None]).squeeze(1)", ".mean(1)", "mean over all actions"),
    (".gather(1, action[:, None]).squeeze(1)", ".amax(1)", "most likely action"),
    ("log_prob).mean()", "log_prob).sum()", "sum over the batch"),
    ("(weight * log_prob).mean()", "weight.mean() * log_prob.mean()", "two means"),
    ("(weight * log_prob)", "(weight[:, None] * log_prob)", "[B] times [B]"),
    ("logits.log_softmax(1)", "logits.detach().log_softmax(1)", "depend on the logits"),
    ("baseline.detach()", "baseline", "detach the baseline"),
    (
        "returns - baseline.detach()",
        "returns.sub_(baseline.detach())",
        "changed in place",
    ),
    ("    return -(weight", "    -(weight", "return its result"),
    ("def policy_loss(", "def policy_los(", "keep the names"),
]
"""Old text, new text, words of the hint."""
