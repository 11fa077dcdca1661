"""Check that an algorithm keeps acting and learning apart."""

from yieldrl.experiments.check_algorithm.report import CHECKS, ContractError
from yieldrl.experiments.check_algorithm.runner import check_algorithm

__all__ = ["CHECKS", "ContractError", "check_algorithm"]
