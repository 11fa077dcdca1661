"""Mistakes in the solution of chapter 15, and words of the hint that names each."""

RATIO = "(log_prob - behaviour_log_prob).detach().exp()"
WEIGHTS = "ratio.clamp(max=rho_bar), ratio.clamp(max=c_bar)"
DELTA = "(reward + gamma * next_value * ~terminated - value).detach()"
CARRY = "gamma * gae_lambda * ~(terminated | truncated)"
ADVANTAGE = "rho[t] * (delta[t] + carry[t] * later)"
LATER = "rho[t] * delta[t] + carry[t] * c[t] * later"
BEHAVIOUR = 'rollout["log_prob"],  # of the one that acted, written down then'
START = 'rollout["log_prob_now"],  # of the policy that learns, when learning begins'

PLANTED = [
    (RATIO, "(log_prob - behaviour_log_prob).detach()", "take its exp"),
    (RATIO, "(behaviour_log_prob - log_prob).detach().exp()", "upside down"),
    (RATIO, "(log_prob - log_prob).detach().exp()", "ratio is always 1"),
    (RATIO, "(log_prob - behaviour_log_prob).exp()", "brings its gradient"),
    (WEIGHTS, "ratio, ratio.clamp(max=c_bar)", "rho is not limited"),
    (WEIGHTS, "ratio.clamp(max=rho_bar), ratio", "c is not limited"),
    (
        WEIGHTS,
        "ratio.clamp(1 / rho_bar, rho_bar), ratio.clamp(max=c_bar)",
        "small ratios are raised",
    ),
    (WEIGHTS, "ratio.clamp(min=rho_bar), ratio.clamp(max=c_bar)", "from below"),
    (
        "rho, c = ratio.clamp(max=rho_bar), ratio.clamp(max=c_bar)",
        "c = rho = ratio.clamp(max=c_bar)",
        "c stands where rho belongs",
    ),
    (
        "rho, c = ratio.clamp(max=rho_bar), ratio.clamp(max=c_bar)",
        "c = rho = ratio.clamp(max=rho_bar)",
        "rho stands where c belongs",
    ),
    (DELTA, "(reward + gamma * next_value - value).detach()", "bootstrap ignores"),
    (
        DELTA,
        "(reward + gamma * next_value * ~(terminated | truncated) - value).detach()",
        "taken for an end",
    ),
    (
        DELTA,
        "(reward + gamma * next_value * ~terminated).detach()",
        "is not subtracted",
    ),
    (DELTA, "(reward - value).detach()", "is missing in delta"),
    (CARRY, "gamma * gae_lambda * ~truncated", "runs through `terminated`"),
    (CARRY, "gamma * gae_lambda * ~terminated", "runs through `truncated`"),
    (CARRY, "gae_lambda * ~(terminated | truncated)", "without gamma"),
    (CARRY, "gamma * ~(terminated | truncated)", "without lambda"),
    (ADVANTAGE, "delta[t] + carry[t] * later", "rho is missing"),
    (ADVANTAGE, "rho[t] * delta[t]", "only its own delta"),
    (ADVANTAGE, "rho[t] * delta[t] + carry[t] * c[t] * later", "v - V is taken"),
    (
        ADVANTAGE,
        "rho[t] * (delta[t] + carry[t] * c[t] * later)",
        "c is for the target",
    ),
    (LATER, "rho[t] * delta[t] + carry[t] * later", "without c"),
    ("reversed(range(len(reward)))", "range(len(reward))", "runs forwards"),
    ("value[t].detach() + later", "value[t] + later", "brings its gradient"),
    (
        "    return advantage, target",
        "    reward.zero_()\n    return advantage, target",
        "work on a copy",
    ),
    (
        BEHAVIOUR,
        'rollout["log_prob_now"],',
        "what was written down when acting is not used",
    ),
    (START, 'rollout["log_prob"],', "what was written down when acting is not used"),
    (
        "    return advantage, target",
        "    return advantage",
        "return advantage, target",
    ),
    ("def vtrace(", "def v_trace(", "keep the names"),
]
"""Old text, new text, words of the hint."""
