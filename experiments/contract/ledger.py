"""Keeps account of an algorithm's values: what changed, through what, and when."""

from __future__ import annotations

from typing import Any

from torch import nn

from yieldrl.experiments.contract.report import Report, listed
from yieldrl.experiments.contract.values import Values, changed, copied, values_of


class Ledger:
    """Compares the algorithm's values with those that it knows.

    Args:
        agent: The agent, whose `policy_version` the weights must agree with.
        report: Takes what is found.

    Attributes:
        synced: Names of what `sync_target` changed.
    """

    def __init__(self, agent: Any, report: Report) -> None:
        self.agent, self.report = agent, report
        self.synced: set[str] = set()
        self._unsynced: dict[str, str] = {}
        self.forget()

    def forget(self) -> None:
        """Take what is there as it is: a state was loaded, say."""
        self._known: Values = copied(values_of(self.agent.algorithm))
        self._version: int = self.agent.policy_version
        self._moved: dict[str, str] = {}  # weights since that version -> by what

    def note(self, by: str) -> list[str]:
        """Names of what was changed since the latest call, by what is said."""
        now = values_of(self.agent.algorithm)
        names = changed(self._known, now)
        if names:
            kept = {k: v for k, v in self._known.items() if k in now}
            self._known = kept | copied({k: now[k] for k in names if k in now})
        self._moved |= {k: by for k in names if k.startswith("model.")}
        if by != "sync_target":
            self._unsynced |= dict.fromkeys(names, by)
        return names

    def acted(self, by: str) -> None:
        """Look at what acting changed: nothing, if all is well."""
        names = self.note(by)
        self.report.expect(
            "acting_changes_nothing",
            not names,
            f"{by} changed {listed(names)}: change weights, statistics and targets"
            " while learning only, where the buffer's data are at hand",
        )
        self.unchanged_version(by)
        self._moved = {}

    def unchanged_version(self, by: str) -> None:
        """Look at whether the version stayed, as it must where nothing is learned."""
        now = self.agent.policy_version
        self.report.expect(
            "policy_version",
            now == self._version,
            f"{by} moved policy_version from {self._version} to {now}: raise it only"
            " where the weights may change",
        )
        self._version = now

    def version(self) -> None:
        """Look at whether the version moved with the weights that act."""
        now, names = self.agent.policy_version, list(self._moved)
        self.report.expect(
            "policy_version",
            not names or now > self._version,
            f"{listed(names)} changed by {self._moved.get(next(iter(names), ''))}, and"
            f" policy_version stayed {now}: raise agent.policy_version by one before"
            " weights or statistics of the model change, as agent.learn does",
        )
        self._version, self._moved = now, {}

    def target(self) -> None:
        """Look at whether anything but `sync_target` moved what it is there to move."""
        parts = vars(self.agent.algorithm).items()
        modules = [name for name, part in parts if isinstance(part, nn.Module)]
        targets = tuple(f"{name}." for name in modules if "target" in name)
        for name in self._known:
            if name.startswith(targets) or name in self.synced:
                by = self._unsynced.get(name)
                self.report.expect(
                    "target_by_sync_alone",
                    by is None,
                    f"{name} was changed by {by}: leave that to sync_target, which the"
                    " trainer calls through agent.sync_target when it is due",
                )
