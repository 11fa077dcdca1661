"""Measurements whose results the documentation quotes. Not part of the wheel.

Run them from the root of the repository:

    python -m benchmarks                          yieldrl and peers (make bench)
    python -m benchmarks peers W1                 the same, thoroughly
    python -m benchmarks learning dqn-cartpole    ten seeds, and does it learn?
    python -m benchmarks learning all --side both --out-folder benchmarks/results
    python -m benchmarks evidence double_dqn-chance
    python -m benchmarks worlds cartpole          steps per second against N
    python -m benchmarks collecting overlap       collectors in the background
    python -m benchmarks vla all                  vision-language-action policies
    python -m benchmarks adaptation cartpole      a teacher and a student
    python -m benchmarks time ppo                 where the time of training goes
    python -m benchmarks imports                  how long importing takes
    python -m benchmarks plot                     figures of results/*.json, in .cache

That is the command alone: in Python this package is `yieldrl.benchmarks`. Peers get
virtual environments of their own; the references of `learning` take
`pip install -e '.[bench]'`.

`--out benchmarks/results/NAME.json` keeps a result with its command, hardware,
versions, configs and seeds. A new learning task or figure is an entry in `tasks.yaml`,
a new workload one in `peers/workloads.yaml`, a new world to time one in
`env_throughput/worlds.yaml`. A new claim is two small files in `claims/` and a name in
`registry.py`.
"""
