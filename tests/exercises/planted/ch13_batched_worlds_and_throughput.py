"""Mistakes in the solution of chapter 13, and words of the hint that names each."""

STATE = "torch.where(ended, first, last)"
COUNT = "torch.where(ended, 0, elapsed)"
SEEN = "world.observe(state), world.observe(last)"
FIRST = "world.initial_state(noise)"
CUT = "elapsed >= world.limit"
RETURNED = "reward, terminated, truncated, final_obs)"
LOOP = """torch.stack(
        [torch.where(*x) for x in zip(ended, first.unbind(1), last.unbind(1))], 1
    )"""

PLANTED = [
    (STATE, "first", "where no episode ended"),
    (STATE, "torch.where(ended, last, first)", "all environments begin anew"),
    (STATE, "torch.where(ended, first, state)", "state is that before the step"),
    ("    elapsed = elapsed + 1\n", "", "the step is not counted"),
    (CUT, "elapsed + 1 >= world.limit", "a step too early"),
    (CUT, "elapsed > world.limit", "no episode is cut in time"),
    (CUT, "torch.zeros_like(terminated)", "elapsed >= world.limit"),
    (RETURNED, "reward, ended, truncated, final_obs)", "`terminated` is also set"),
    (RETURNED, "reward, terminated, ended, final_obs)", "`truncated` is also set"),
    (STATE, "last", "no environment begins anew"),
    (FIRST, "world.initial_state(noise[:, :1])", "one first state for all"),
    (
        FIRST,
        "world.initial_state(noise[:, (ended.cumsum(0) - 1).clamp(min=0)])",
        "handed out in a row",
    ),
    (
        STATE,
        "torch.where(terminated, first, last)",
        "an episode that is cut does not begin",
    ),
    (
        STATE,
        "torch.where(truncated, first, last)",
        "one that terminates does not begin",
    ),
    (SEEN, "world.observe(last), world.observe(last)", "obs is the old episode's last"),
    (SEEN, "world.observe(state), world.observe(state)", "final_obs is from after"),
    (
        SEEN,
        "world.observe(state), world.observe(last) * ended[:, None]",
        "final_obs is 0",
    ),
    (COUNT, "elapsed", "the count goes on into"),
    (COUNT, "torch.where(ended, 1, elapsed)", "begins with a count of 0"),
    (COUNT, "torch.where(terminated, 0, elapsed)", "0 at ends alone"),
    (COUNT, "torch.where(truncated, 0, elapsed)", "0 at cuts alone"),
    ("elapsed = elapsed + 1", "elapsed += 1", "changed in place"),
    (
        f"state = {STATE}",
        "final = last.clone()\n    last[:, ended] = first[:, ended]\n    state = last",
        "final_obs is from after",
    ),
    (
        f"state = {STATE}",
        "state = last.clone()\n    state[:, ended] = first[:, ended]",
        "read values",
    ),
    (
        f"state = {STATE}",
        f"state = {STATE} if ended.any() else last",
        "read values",
    ),
    (
        f"state = {STATE}",
        "state = last.clone()\n"
        "    for i in range(len(ended)):\n"
        "        if ended[i]:\n"
        "            state[:, i] = first[:, i]",
        "read values",
    ),
    (
        f"state = {STATE}",
        "state = last.clone()\n"
        "    for i in ended.tolist():\n"
        "        state = torch.where(ended, first, last)",
        "read values",
    ),
    (STATE, LOOP, "one operation should do all"),
    ("    return Answer(", "    Answer(", "return an `Answer`"),
    ("def step(", "def same_step(", "keep the names"),
]
"""Old text, new text, words of the hint."""
