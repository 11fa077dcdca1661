"""Tasks of the policy gradients: REINFORCE, A2C, PPO, with masks and with a memory."""

from __future__ import annotations

from .task import UPRIGHT, Published, Reference, Task

PPO_CARTPOLE = {
    "n_steps": 32,
    "batch_size": 256,
    "gae_lambda": 0.8,
    "gamma": 0.98,
    "n_epochs": 20,
    "learning_rate": "lin_0.001",
    "clip_range": "lin_0.2",
}
"""The RL Zoo's settings for CartPole-v1, which for CartPoleNoVel-v1 are the same."""

PPO_PENDULUM = Reference(
    algorithm="PPO",
    settings={
        "n_steps": 1024,
        "gamma": 0.9,
        "learning_rate": 1e-3,
        "use_sde": True,
        "sde_sample_freq": 4,
    },
    source="RL Zoo, hyperparams/ppo.yml",
    num_envs=4,
)
"""Tuned for 100 000 steps of Pendulum-v1."""

BALANCE = {"env_id": "CartPole-v1", "total_steps": 100_000}

TAXI = {"env_id": "Taxi-v4", "num_envs": 8, "total_steps": 200_000}
"""With masks and, as a control, without."""

TMAZE = {"env_id": "yieldrl/TMaze-v1", "total_steps": 100_000}
"""With a memory and without."""

POSITIONS = {
    "env_id": "yieldrl/CartPole-v1",
    "env_kwargs": {"velocities": False},
    "total_steps": 200_000,
}
"""CartPole without its velocities, with a memory and without."""

TASKS = {
    "ppo-cartpole": Task(
        algorithm="ppo",
        config=BALANCE,
        threshold=475.0,
        reference=Reference(
            algorithm="PPO",
            settings=PPO_CARTPOLE,
            source="RL Zoo, hyperparams/ppo.yml",
            num_envs=8,
        ),
    ),
    "ppo-pendulum": Task(
        algorithm="ppo",
        config={"env_id": "Pendulum-v1", "total_steps": 300_000},
        threshold=-250.0,
        reference=PPO_PENDULUM,
    ),
    "ppo-pendulum-tuned": Task(
        algorithm="ppo",
        tuned="pendulum",
        threshold=-250.0,
        reference=PPO_PENDULUM,
        published=Published(value=-172.2, source="RL Zoo's benchmark.md, one run"),
    ),
    "ppo-halfcheetah": Task(
        algorithm="ppo",
        tuned="halfcheetah",
        config={"speed": "compile"},
        threshold=1_000.0,
        share=0.8,
        reference=Reference(
            algorithm="PPO",
            normalize=True,
            source="RL Zoo, hyperparams/ppo.yml, its defaults for MuJoCo",
        ),
    ),
    "reinforce-cartpole": Task(
        algorithm="reinforce",
        config=BALANCE,
        threshold=475.0,
        share=0.8,
        published=UPRIGHT,
    ),
    "a2c-cartpole": Task(
        algorithm="a2c",
        config=BALANCE,
        threshold=475.0,
        reference=Reference(
            algorithm="A2C",
            settings={"ent_coef": 0.0},
            source="RL Zoo, hyperparams/a2c.yml, for 500 000 steps",
            num_envs=8,
        ),
    ),
    "ppo_masked-taxi": Task(
        algorithm="ppo_masked",
        config=TAXI,
        threshold=5.0,  # every passenger arrives, and hardly a detour is made
        reference=Reference(
            algorithm="MaskablePPO",
            library="sb3_contrib",
            policy="MultiInputPolicy",
            num_envs=8,
        ),
        published=Published(value=7.93, source="value iteration"),
    ),
    "ppo-taxi": Task(algorithm="ppo", config=TAXI),
    "ppo_lstm-tmaze": Task(
        algorithm="ppo_lstm",
        config=TMAZE,
        threshold=0.95,  # without a memory it is 0.5 at most
        reference=Reference(
            algorithm="RecurrentPPO",
            library="sb3_contrib",
            policy="MlpLstmPolicy",
            num_envs=8,
        ),
        published=Published(value=1.0, source="every turn right"),
    ),
    "ppo-tmaze": Task(algorithm="ppo", config=TMAZE),
    "ppo_lstm-cartpole-positions": Task(
        algorithm="ppo_lstm",
        config=POSITIONS,
        threshold=475.0,
        reference=Reference(
            algorithm="RecurrentPPO",
            library="sb3_contrib",
            policy="MlpLstmPolicy",
            settings={**PPO_CARTPOLE, "ent_coef": 0.0},
            source="RL Zoo, hyperparams/ppo_lstm.yml, CartPoleNoVel-v1",
            num_envs=8,
        ),
    ),
    "ppo-cartpole-positions": Task(algorithm="ppo", config=POSITIONS),
}
