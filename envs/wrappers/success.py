"""Reward only for success."""

from yieldrl.envs.answers import SUCCESS
from yieldrl.envs.arrays import as_tensors
from yieldrl.envs.autoreset import Step, final_info_entry
from yieldrl.envs.wrappers.base import BatchWrapper


class SuccessReward(BatchWrapper):
    """Rewards of 1 where an episode ends in success, and of 0 everywhere else.

    A success is what `success` or `is_success` says in the info of the step that ends
    the episode. Trainers evaluate without it. Put it inside of `ActionChunks`.
    ValueError in a step that ends an episode, if nothing says whether it was one.
    """

    of_rewards = True

    def take(self, step: Step) -> Step:
        said = (final_info_entry(step.info, name) for name in SUCCESS)
        found = next((values for values in said if values is not None), None)
        if found is not None:
            success = as_tensors(found).bool() & step.ended
            return step._replace(reward=success.to(step.reward.dtype))
        if step.ended.any():
            raise ValueError(
                f"{self.env} does not say in its info what a success is: let the step"
                " that ends an episode say success=True or False"
            )
        return step._replace(reward=step.reward.new_zeros(step.reward.shape))
