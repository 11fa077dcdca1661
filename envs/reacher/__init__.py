"""An arm that touches a ball: MuJoCo's physics, seen as small pictures."""

from yieldrl.envs.reacher.world import INSTRUCTION, SUCCESS_DISTANCE, ReacherImagesEnv

__all__ = ["INSTRUCTION", "SUCCESS_DISTANCE", "ReacherImagesEnv"]
