"""Measurements whose results the documentation quotes. Not part of the wheel.

`python -m benchmarks`, from the root of the repository, lists its commands; with
`--out docs/results/NAME.json` a result keeps its command, hardware, versions,
configs and seeds. What is measured lies in YAML: learning tasks and the figures that
compare them in `tasks.yaml`, workloads in `peers/workloads.yaml`, worlds to time in
`env_throughput/worlds.yaml`, claims in `claims/`, a file each and its code; the
commands, and the order of their claims, are in `commands.yaml`.
"""
