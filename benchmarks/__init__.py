"""Measurements whose results the documentation quotes. Not part of the wheel.

Run them from the root of the repository, after `make .venv/.bench`:

    python -m benchmarks                          speed of all workloads (make bench)
    python -m benchmarks speed W1 --runs 3        yieldrl beside Stable-Baselines3
    python -m benchmarks learning dqn-cartpole    ten seeds, and does it learn?
    python -m benchmarks plot                     learning curves from results/*.json

`--out benchmarks/results/NAME.json` keeps a result with its command, hardware,
versions, configs and seeds. A new workload is an entry in `workloads.py` (and, for a
new algorithm, two functions in `sides.py`); a new learning task is an entry in
`learning.py`.
"""
