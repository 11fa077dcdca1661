"""All claims, by the command that measures them."""

from pathlib import Path

from yieldrl.foundations.files import read_file

from .claim import Claim

# command -> names of its claims, in the order in which pages list them
NAMES = {
    kind: names.split()
    for kind, names in {
        "evidence": """
            debugging-cartpole dqn-clipping dqn-stability double_dqn-chance
            double_dqn-pendulum dueling_dqn-actions sarsa-online ppo_lstm-signpost
            ppo_masked-possible prioritized_dqn-cliffwalk widths-cartpole
        """,
        "collecting": """
            overlap corrections-cartpole corrections-pendulum corrections-tmaze
            lag overhead soak
        """,
        "vla": "goto policies reacher chunks adapters elsewhere imports",
        "adaptation": "cartpole halfcheetah regularizer speed",
        "time": "ppo scaling stacked images loggers",
        "comparing": "munchausen",
        "imports": "start",
    }.items()
}


def _load(kind: str, name: str) -> Claim:
    folder = Path(__file__).parent / "claims" / kind
    fields = {"module": name, **read_file(folder / f"{name}.yaml")}
    module = f"yieldrl.benchmarks.claims.{kind}.{fields['module']}"
    return Claim(**fields | {"module": module})


CLAIMS: dict[str, dict[str, Claim]] = {
    kind: {name: _load(kind, name) for name in names} for kind, names in NAMES.items()
}

# those whose demands are made of all runs together, not of each seed
TRIALS = {kind: claims for kind, claims in CLAIMS.items() if kind != "evidence"}
