"""Mistakes in the solution of chapter 16, and words of the hint that names each."""

PAID = "(discount * row).where(running"
FOLLOWS = "(gamma * discount).where(running, discount)"
RETURNED = "return total, discount, num_steps"
ENDED = "terminated | truncated"
CARRIED = "running = running & ~ended"

PLANTED = [
    (PAID, "row.where(running", "summed without a discount"),
    (PAID, "(gamma * discount * row).where(running", "first reward is discounted too"),
    (PAID, "(discount.clamp(min=gamma) * row).where(running", "all rewards but the"),
    ("zip(reward, terminated", "zip(reward.flip(0), terminated", "the wrong way round"),
    (RETURNED, "return total, 0 * discount + gamma, num_steps", "that of one step"),
    (RETURNED, "return total, discount / gamma, num_steps", "is k steps away"),
    (
        "(discount * row).where(running, 0.0)",
        "discount * row",
        "only what is `running`",
    ),
    (
        RETURNED,
        "return sum(gamma**i * r for i, r in enumerate(reward)), discount, num_steps",
        "is another episode",
    ),
    (PAID, "(discount * row).where(running & ~ended", "is left out"),
    (FOLLOWS, "gamma * discount", "only k actions were taken"),
    (
        RETURNED,
        "return total, discount.where(~terminated.any(0), 0.0), num_steps",
        "that nothing follows",
    ),
    (
        RETURNED,
        "return total, discount.where(~truncated.any(0), 0.0), num_steps",
        "V(s') still counts",
    ),
    (ENDED, "terminated", "`truncated` ends an episode as well"),
    (ENDED, "truncated", "is another episode"),
    (CARRIED, "running = ~ended", "stays done"),
    (CARRIED, "running = running & ~ended.any()", "each has its own"),
    ("num_steps + running", "num_steps + 1", "counted as taken"),
    (
        "    running = torch.ones",
        "    ended = (terminated | truncated).long()\n"
        "    reward[ended.cumsum(0) > ended] = 0.0\n    running = torch.ones",
        "work on a copy",
    ),
    (RETURNED, "return total", "in this order"),
    (RETURNED, "return", "in this order"),
    ("        num_steps = num", "        1 / 0\n        num_steps = num", "1 / 0"),
    ("def chunk_sums(", "def chunk_sum(", "keep the names"),
]
"""Old text, new text, words of the hint."""
