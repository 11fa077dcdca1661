"""Versions of packages that a worker and its program must have in common."""

import platform
from collections.abc import Mapping

import torch

import yieldrl


class VersionError(RuntimeError):
    """A worker has another version of a package than the program that started it."""


def versions() -> dict[str, str]:
    """Versions in this process; of Python the first two numbers."""
    return {
        "yieldrl": yieldrl.__version__,
        "torch": str(torch.__version__).partition("+")[0],
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }


def check_versions(asked_by: Mapping[str, str]) -> None:
    """Compare the versions with those of the program that started this worker.

    Raises:
        VersionError: If some differ; the message names them.
    """
    here = versions()
    others = [
        f"{name} {here.get(name)} and the program that trains has {version}"
        for name, version in asked_by.items()
        if here.get(name) != version
    ]
    if others:
        raise VersionError(
            f"on {platform.node()} it has {', '.join(others)}: install one version on"
            " all machines of the cluster"
        )
