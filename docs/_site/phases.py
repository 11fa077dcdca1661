"""The phases of PPO-ROA, read from the table that drives them.

- `::: table phases` is a table of the six modules, in every phase, acting and learning.
- `::: flow of train` draws how data flow in a phase, and what each module learns from.
"""

from __future__ import annotations

from yieldrl.algorithms.ppo_roa.phases import MODULES, PHASES, Phase, Use

from .directives import directive

WORDS: dict[Use, str] = {
    "forward": "is evaluated",
    "ppo": "**learns**: PPO",
    "adapt": "**learns**: adaptation",
    "imitate": "**learns**: imitation",
    "average": "moving average",
    "unused": "rests",
}
ACTING: dict[Use, str] = {**WORDS, "forward": "**acts**"}
WIDTH = 14  # of a module's name in a drawing


@directive("table phases")
def table() -> str:
    """A row for each module, two columns for each phase."""
    columns = [f"{name}, {side}" for name in PHASES for side in ("acting", "learning")]
    rows = [["module", *columns], ["---"] * (1 + len(columns))]
    for module in MODULES:
        row = [f"`{module}`"]
        for phase in PHASES.values():
            use = getattr(phase, module)
            words = ACTING if module == phase.acting_module else WORDS
            row += [words[use.rollout], WORDS[use.training]]
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@directive(rf"flow of ({'|'.join(PHASES)})")
def flow(name: str) -> str:
    """How data flow while a phase acts, and what its modules learn from."""
    phase = PHASES[name]
    lines = ["acting", *acting(phase), "", "learning", *learning(phase)]
    return "\n".join(["```text", *lines, "```"])


def acting(phase: Phase) -> list[str]:
    """From observations to the action: the latent above, what is recorded below."""
    told = phase.encoder_priv.rollout == "forward"
    inferred = f"  history     -> {phase.inferring_module:<{WIDTH}}-> z'"
    latent = f"  privileged  -> {'encoder_priv':<{WIDTH}}-> z " if told else inferred
    width = len(latent)
    noted = [f"{inferred}     noted, for the regulariser"] if told else []
    return [
        f"{latent} --+",
        f"{' ':{width}}   +--> {phase.acting_module} --> action",
        f"{'  observation ':-<{width}}---+",
        *noted,
    ]


def learning(phase: Phase) -> list[str]:
    """A line for each loss, with those that learn by it, and one for the average."""
    told = "encoder_priv" in phase.trained("ppo")
    regularizer = " + w |z - sg(z')|^2" if told else ""
    losses: dict[Use, str] = {
        "ppo": f"L_PPO{regularizer}",
        "adapt": "|z' - sg(z)|^2",
        "imitate": "|actor_adapt(o, sg(z')) - sg(actor(o, z))|^2",
        "average": "moved towards adapt_module, after each rollout",
    }
    found = {use: ", ".join(phase.trained(use)) for use in losses}
    width = max(map(len, found.values()))
    return [
        f"  {found[use]:<{width}}  <-  {losses[use]}" for use in losses if found[use]
    ]
