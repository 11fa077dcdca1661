"""The contract between acting and learning, and whether a trainer keeps it."""

from yieldrl.experiments.contract.check import check_algorithm
from yieldrl.experiments.contract.report import CHECKS, ContractError

__all__ = ["CHECKS", "ContractError", "check_algorithm"]
