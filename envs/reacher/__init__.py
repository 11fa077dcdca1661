"""Reacher with small images: an arm touches a ball, with MuJoCo's physics."""

from yieldrl.envs.reacher.world import INSTRUCTION, SUCCESS_DISTANCE, ReacherImagesEnv

__all__ = ["INSTRUCTION", "SUCCESS_DISTANCE", "ReacherImagesEnv"]
