"""A workload of peers that nobody runs, and what its sides might have answered."""

from yieldrl.benchmarks.peers.workloads import Demand, Workload

SMALL = Workload(
    title="A small one",
    settings={"num_envs": 2, "num_steps": 5},
    demands=(Demand(over="sb3", times=2.0, compiled=1.5),),
    learned=100.0,
    steps=50,
    warm_up=10,
    quick_steps=20,
)


def answer(speed, value=120.0, seconds=2.0):
    return {
        "steps": 50,
        "seconds": seconds,
        "steps_per_second": speed,
        "process_seconds": 2 * seconds,
        "return": value,
        "curve": [[50, seconds, value]],
        "versions": {"torch": "2"},
    }


def three_rounds():
    speeds = [(200.0, 100.0), (90.0, 30.0), (400.0, 400.0)]
    return [
        {
            "seed": seed,
            "yieldrl": answer(own, value=90.0 + 10 * seed),
            "sb3": answer(other),
            "rsl_rl": answer(500.0),
        }
        for seed, (own, other) in enumerate(speeds, 1)
    ]


def with_compiled(rounds, speed):
    """The same rounds, in which yieldrl was run compiled, too."""
    return [round_ | {"compiled": answer(speed)} for round_ in rounds]
