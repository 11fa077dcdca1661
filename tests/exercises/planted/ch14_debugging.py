"""Mistakes in the solution of chapter 14, and words of the hint that names each."""

PLANTED = [
    ("seen.actor == 0:", "seen.actor < 0:", "ask first whether it moves"),
    ("seen.approx_kl < 1e-7:", "seen.approx_kl < 0:", "the ratio does not see it"),
    ("abs(seen.value - 1) > 0.5:", "abs(seen.value - 1) > 5:", "pays more than 1"),
    ("abs(seen.value - 1) > 0.5:", "seen.value != 1:", "no reading is exact"),
    ("abs(seen.sides - 2) > 0.1:", "seen.sides > 3:", "not where they belong"),
    ("seen.entropy < 0.9:", "seen.entropy < 0:", "there is none left"),
    ("seen.restored > 1e-4:", "seen.restored > 1:", "what is loaded acts otherwise"),
    ('return "end"', 'return "bootstrap"', "say one of none, end"),
    (
        'next_value * ~rollout["terminated"]',
        "next_value",
        "an end is bootstrapped",
    ),
    (
        '~rollout["terminated"])',
        '~(rollout["terminated"] | rollout["truncated"]))',
        "a cut is taken for an end",
    ),
    ("next_value * ~rollout", "next_value * rollout", "taken for `~terminated`"),
    (
        "ppo.Algorithm.surrogate(self, data, log_prob)",
        "super().surrogate(data, log_prob)",
        "the ratio is of two policies",
    ),
    (
        "ppo.Algorithm.surrogate(self, data, log_prob)",
        "ppo.Algorithm.surrogate(self, data, log_prob.detach())",
        "must keep its gradient",
    ),
    (
        "ppo.Algorithm.surrogate(self, data, log_prob)",
        "ppo.Algorithm.surrogate("
        "self, data.copy().set('log_prob', data['log_prob'].roll(1)), log_prob)",
        "the ratio begins at 1",
    ),
    (
        "        ppo.Algorithm.__init__(self, model, config)\n",
        "        super().__init__(model, config)\n",
        "there when it was made",
    ),
    ("[2 * width for", "[width for", "twice as wide as the critic"),
    ('("count", "total", "squares")', '("count", "total")', "all three"),
    (
        "self.register_buffer(name, start)",
        "self.register_buffer(name, start, persistent=False)",
        "an attribute is no part of a state",
    ),
    (
        "class Mended05",
        "    def observed(self, obs, names=()):\n        return obs\n\nclass Mended05",
        "observations pass as they are",
    ),
    (
        "ppo.Algorithm.advantages(self, rollout)",
        "super().advantages(rollout)",
        "a step late",
    ),
    (
        "ppo.Algorithm.advantages(self, rollout)",
        "ppo.Algorithm.advantages(self, rollout.copy().set("
        '"reward", rollout["reward"].roll(-1, dims=0)))',
        "a step early now",
    ),
    (
        "weighted - self.config.entropy_coef",
        "weighted + self.config.entropy_coef",
        "subtract it",
    ),
    (" - self.config.entropy_coef * entropy.mean()", "", "the entropy is gone"),
    (
        "weighted = self.config.value_coef",
        "weighted = -self.config.value_coef",
        "the wrong sign",
    ),
]
"""Old text, new text, words of the hint."""
