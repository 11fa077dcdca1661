"""How long runs are; broken out of, or saved and loaded, they go on to the bit."""

import pytest
from factories import module_of, plain, resumed, trainer_of

POLE = {"env_id": "yieldrl/CartPole-v1"}
ARM = {"env_id": "yieldrl/Pendulum-v1"}
CRITICS = {"total_steps": 64, "learning_starts": 24, "train_every": 2}
CRITICS |= {"eval_every": 24, "eval_episodes": 2}
VALUES = {**POLE, "num_envs": 3, "total_steps": 150, "buffer_size": 60}
MAZE = {"env_id": "yieldrl/TMaze-v1", "total_steps": 160, "num_envs": 4}
MAZE |= {"num_steps": 16, "eval_every": 56, "eval_episodes": 3}
EPISODES = {**POLE, "num_episodes": 4, "total_steps": 400, "baseline": "mean"}
PHASES = {"num_envs": 4, "total_steps": 96, "phase_steps": (32, 32, 32)}
PHASES |= {"latent_size": 3, "window": 3, "gru_size": 5}
GROUPS = {**ARM, "num_envs": 4, "total_steps": 128, "kl_coef": 0.1}
FOLLOWS = {"anneal_learning_rate": False, "desired_kl": 0.01, "total_steps": 64}
CLONED = {"expert_noise": 0.2, "eval_every": 8, "normalize_observation": True}
CLONED |= {"eval_episodes": 1}
IMAGINED = {**ARM, "total_steps": 40, "horizon": 3}


def maze(mode):
    limits = {"length": 2, "max_episode_steps": 7}
    return {**MAZE, "env_kwargs": {**limits, "autoreset_mode": mode}}


RUNS = {
    "a2c": ("a2c", {**POLE, "num_steps": 5, "total_steps": 60}, (3, 5, 6)),
    "behavior_cloning": ("behavior_cloning", CLONED, (1, 32, 40, 41)),
    "ddpg": ("ddpg", {**ARM, **CRITICS}, (5, 41)),
    "td3": ("td3", {**ARM, **CRITICS}, (20, 41)),
    "sac": ("sac", {**ARM, **CRITICS, "policy_delay": 3}, (20, 41)),
    "sac_discrete": ("sac_discrete", {**POLE, **CRITICS}, (41,)),
    "dreamer": ("dreamer", {**POLE, **CRITICS, "memory_size": 6}, (20, 41)),
    "mbpo": ("mbpo", IMAGINED, (33,)),
    "n_step_dqn": ("n_step_dqn", VALUES, (60, 110)),
    "prioritized_dqn": ("prioritized_dqn", VALUES, (110,)),
    "rainbow": ("rainbow", VALUES, (60, 110)),
    "reinforce alone": ("reinforce", {**EPISODES, "num_envs": 1}, (3, 200)),
    "reinforce": ("reinforce", {**EPISODES, "num_envs": 3}, (3, 50, 60)),
    "ppo follows a divergence": ("ppo", {**POLE, **FOLLOWS}, (9, 11, 14)),
    "ppo_lstm": ("ppo_lstm", maze("SameStep"), (1, 13, 17, 22)),
    "ppo_lstm and resets": ("ppo_lstm", maze("NextStep"), (13, 19)),
    "ppo_roa": ("ppo_roa", {**PHASES, "adaptation": "mlp"}, (10, 21, 37)),
    "ppo_roa and gru": ("ppo_roa", {**PHASES, "adaptation": "gru"}, (10, 37)),
    "grpo": ("grpo", GROUPS, (3, 11, 13)),
}


@pytest.mark.parametrize("run", RUNS)
def test_breaking_out_and_resuming_change_nothing(run, tmp_path):
    name, options, stops = RUNS[run]
    with trainer_of(name, **options) as whole:
        through = list(map(plain, whole()))
    assert any(log["log_type"] == "train" for log in through)
    for stop in stops:
        assert stop < len(through)
        trainer = trainer_of(name, **options)
        found = resumed(trainer, stop, tmp_path)
        assert found == through
        assert [*found[:stop], *map(plain, trainer())] == through, "without a file"


@pytest.mark.parametrize(
    ("name", "fields", "counts"),
    [
        ("a2c", {"total_steps": 1280}, ("train", 1280, 10)),
        ("sac", {"total_steps": 1010}, ("train", 1010, 11)),
        ("q_learning", {"total_steps": 1000}, ("train", 1000, 1000)),
        ("reinforce", {"total_steps": 1000}, ("collect", 1000, 4)),  # episodes' rest
        ("behavior_cloning", {"demonstration_steps": 400}, ("train", 400, 20)),
    ],
)
def test_a_run_ends_with_the_update_of_its_last_step(name, fields, counts):
    module = module_of(name)
    options = {"num_epochs": 5} if name == "behavior_cloning" else {}
    *_, log = module.Trainer(module.Config(eval_every=0, **fields, **options))()
    assert (log["log_type"], log["sample_step"], log["learn_step"]) == counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "least"),
    [
        ("a2c", {"total_steps": 60_000}, 400),
        ("dqn", {"total_steps": 6_000, "exploration_fraction": 0.3, "seed": 1}, 130),
        ("ppo", {"total_steps": 30_000, "seed": 1}, 400),
        ("reinforce", {"total_steps": 15_000}, 150),
    ],
)
def test_they_learn_to_balance(name, options, least):
    module = module_of(name)
    trainer = module.Trainer(module.Config(**options, eval_every=0))
    assert trainer.evaluate(20)["logs"]["episode_return"] < 100
    list(trainer())
    assert trainer.evaluate(20)["logs"]["episode_return"] > least
