"""Measurements whose results the documentation quotes. Not part of the wheel.

`python -m benchmarks`, from the root of the repository, lists its commands; with
`--keep` a result lies in docs/results with its command, hardware, versions and seeds.
Learning tasks are in `tasks.yaml`, workloads in `peers/workloads.yaml`, worlds to time
in `env_throughput/worlds.yaml`; every other figure has a script in `figures/`.
"""
