"""Tasks of DQN and its variants."""

from __future__ import annotations

from dataclasses import replace

from .task import UPRIGHT, Published, Reference, Task

CORRIDOR = {
    "env_id": "yieldrl.benchmarks.worlds:Corridor-v0",
    "total_steps": 12_000,
    "train_every": 4,
    "tau": 0.01,
    "learning_rate": 5e-4,
    "anneal_learning_rate": False,
    "exploration_fraction": 0.8,
    "eval_every": 500,
    "eval_episodes": 1,  # world and policy leave nothing to chance
}
"""A reward thirty steps away, with few updates to bring it near."""

CORRIDOR_100 = {
    **CORRIDOR,
    "env_kwargs": {"reward": 100.0},
    "total_steps": 20_000,
    "exploration_fraction": 0.5,
}
"""`CORRIDOR` with a reward that the default atoms of C51 and Rainbow hold: as far away,
and large for a network that begins near zero."""

BALANCE = Task(
    algorithm="dqn",
    config={"env_id": "CartPole-v1", "total_steps": 150_000, "speed": "compile"},
    threshold=475.0,
    share=0.8,
    published=UPRIGHT,
)
"""What DQN's settings, compiled and else unchanged, make of each variant of it."""

BALANCING = {
    f"{name}-cartpole": replace(BALANCE, algorithm=name)
    for name in ("double_dqn", "dueling_dqn", "prioritized_dqn", "n_step_dqn")
}

ONWARD = Published(value=100.0, source="always onward")

TASKS = {
    "dqn-cartpole": replace(
        BALANCE,
        reference=Reference(
            algorithm="DQN",
            settings={
                "learning_rate": 2.3e-3,
                "batch_size": 64,
                "buffer_size": 100_000,
                "learning_starts": 1_000,
                "target_update_interval": 10,
                "train_freq": 256,
                "gradient_steps": 128,
                "exploration_fraction": 0.16,
                "exploration_final_eps": 0.04,
                "policy_kwargs": {"net_arch": [256, 256]},
            },
            source="RL Zoo, hyperparams/dqn.yml, for 50 000 steps",
        ),
    ),
    **BALANCING,
    "dqn-corridor": Task(algorithm="dqn", config=CORRIDOR),
    "n_step_dqn-corridor": Task(
        algorithm="n_step_dqn",
        config=CORRIDOR,
        threshold=1.0,
        above=("dqn-corridor",),
        published=Published(value=1.0, source="always onward"),
    ),
    "rainbow-corridor100": Task(
        algorithm="rainbow",
        # It explores as its parts do; its noise comes on top.
        config={**CORRIDOR_100, "epsilon_start": 1.0, "epsilon_end": 0.05},
        threshold=100.0,
        above=(
            "n_step_dqn-corridor100",
            "c51-corridor100",
            "double_dqn-corridor100",
            "dueling_dqn-corridor100",
            "prioritized_dqn-corridor100",
            "dqn-corridor100",
        ),
        published=ONWARD,
    ),
    "n_step_dqn-corridor100": Task(
        algorithm="n_step_dqn", config=CORRIDOR_100, above=("dqn-corridor100",)
    ),
    "c51-corridor100": Task(
        algorithm="c51",
        config=CORRIDOR_100,
        threshold=100.0,
        above=("dqn-corridor100",),
        published=ONWARD,
    ),
    "double_dqn-corridor100": Task(algorithm="double_dqn", config=CORRIDOR_100),
    "dueling_dqn-corridor100": Task(algorithm="dueling_dqn", config=CORRIDOR_100),
    "prioritized_dqn-corridor100": Task(
        algorithm="prioritized_dqn", config=CORRIDOR_100
    ),
    "dqn-corridor100": Task(algorithm="dqn", config=CORRIDOR_100),
}
