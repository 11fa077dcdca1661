"""The packages, of which the root folder is the first.

`abstractions.py`, `algorithms`, `buffers` and `loggers` stand at the top, where whoever
opens the repository sees them, so the root is the package `yieldrl` itself and there is
no `src/yieldrl`. What looks for packages would call its folders `algorithms` and so on.
"""

from setuptools import find_packages, setup

rooms = find_packages(exclude=["benchmarks*", "docs*", "notebooks*", "tests*"])
setup(
    script_name="setup.py",  # which no wheel holds then
    package_dir={"yieldrl": "."},
    packages=["yieldrl", *(f"yieldrl.{room}" for room in rooms)],
)
