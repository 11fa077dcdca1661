"""Measurements whose results the documentation quotes. Not part of the wheel.

`python -m benchmarks`, from the root of the repository, lists its commands; with
`--out docs/results/NAME.json` a result keeps its command, hardware, versions,
configs and seeds. Learning tasks and the figures that compare them lie in `tasks.yaml`,
workloads in `peers/workloads.yaml`, worlds to time in `env_throughput/worlds.yaml`.
Every other claim is measured by a script in `claims/`, which its result names.
"""
