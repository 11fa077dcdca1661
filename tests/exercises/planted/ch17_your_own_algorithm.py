"""Mistakes in the solution of chapter 17, and words of the hint that names each."""

PLANTED = [
    (
        "next_q = self.target_model",
        "next_q = self.model",
        "the network that learns is asked",
    ),
    (
        "soft = (next_log_policy.exp() * (next_q - tau * next_log_policy)).sum(1)",
        "soft = next_q.amax(1)",
        "counts with its best action",
    ),
    ("(next_q - tau * next_log_policy)", "next_q", "lacks - tau log pi"),
    ("next_q - tau *", "next_q + tau *", "being undecided pays"),
    ("next_q - tau *", "next_q -", "counts tau times"),
    ("(next_q / tau)", "next_q", "softmax of Q' / tau"),
    ("log_policy = (self.target_model", "log_policy = (self.model", "bonus is of the"),
    ("+ bonus", "", "the bonus is missing"),
    ("(tau * taken)", "taken", "tau is missing"),
    ("config.munchausen_coef *", "", "alpha is missing"),
    ("+ bonus", "- bonus", "what was unlikely costs"),
    ('.value(data["obs"])', '.value(data["next_obs"])', "speaks of the next state"),
    (
        'gather(1, data["action"].unsqueeze(1)).squeeze(1)',
        "amax(1)",
        "the likeliest action",
    ),
    (".clamp(min=config.munchausen_clip)", "", "not clipped"),
    (
        "config.munchausen_coef * (tau * taken)",
        "(config.munchausen_coef * tau * taken)",
        "alpha tau log pi is clipped",
    ),
    (
        "(tau * taken).clamp(min=config.munchausen_clip)",
        "tau * taken.clamp(min=config.munchausen_clip)",
        "log pi is clipped, and then scaled",
    ),
    (' * ~data["terminated"]', "", "ignores `terminated`"),
    (
        '~data["terminated"]',
        '~(data["terminated"] | data["truncated"])',
        "taken for an end",
    ),
    (
        "+ bonus +",
        '+ bonus * ~data["terminated"] +',
        "lost where the episode ends",
    ),
    ('data["discount"] *', "config.gamma *", "gamma^n"),
    (
        "next_log_policy = (next_q / tau).log_softmax(1)",
        "next_log_policy = (next_q / tau).exp()\n"
        "        total = next_log_policy.sum(1, keepdim=True)\n"
        "        next_log_policy = (next_log_policy / total).log()",
        "take log_softmax",
    ),
    ("    @torch.no_grad()\n", "", "constant to the loss"),
    (
        '        next_q = self.target_model.value(data["next_obs"])',
        '        data["reward"] += bonus\n        bonus = 0\n'
        '        next_q = self.target_model.value(data["next_obs"])',
        "changed in place",
    ),
    ("class Trainer(", "class Teacher(", "keep the names"),
]
"""Old text, new text, words of the hint."""
