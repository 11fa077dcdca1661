"""The command that looks whether a GPU is right and fast, on a CPU."""

import pytest

from yieldrl.benchmarks import gpu


def test_it_says_what_works_and_what_does_not() -> None:
    right = gpu.smoke("q_learning", "cpu", 5.0, env_id="yieldrl/FrozenLake-v1")
    assert (right["ok"], right["goes_on_bitwise"]) == ("cpu", True)
    wrong = gpu.smoke("ppo", "cuda:77", 5.0)
    assert (wrong["ok"], "cuda:77" in wrong["error"]) == ("", True)
    assert set(gpu.compare("cpu").values()) == {0.0}


def test_shares_of_the_time_are_those_of_all_of_it() -> None:
    fields = {"env_id": gpu.CARTS, "num_envs": 4, **gpu.SIZES}
    of = gpu.speed("ppo", "cpu", 0.1, **fields)
    shares = [of[name] for name in ("collecting", "advantages", "gradient_steps")]
    assert sum(shares) == pytest.approx(1.0)
    assert min(*shares, of["steps_per_second"]) > 0
    runs = [{"title": "a", "num_envs": 4, **of}, {"title": "b", "num_envs": 1024}]
    runs[1]["error"] = "not installed"
    (_, _, speed, *_), (*_, memory) = gpu.rows({"runs": runs})
    assert speed == f"{of['steps_per_second']:,.0f}"
    assert memory == ""
