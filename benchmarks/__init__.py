"""Measurements whose results the documentation quotes. Not part of the wheel.

`python -m benchmarks`, from the root of the repository, lists its commands; with
`--keep` a result lies in docs/results with its command, hardware, versions and seeds.
What is measured stands in YAML; every other figure has a script in `figures/`.
"""
