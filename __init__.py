"""yieldrl: reinforcement learning that you read, loop over, and copy.

>>> from yieldrl.algorithms import ppo
>>> config = ppo.Config(env_id="CartPole-v1", total_steps=512, eval_every=0)
>>> with ppo.Trainer(config) as trainer:
...     kinds = {log["log_type"] for log in trainer()}
>>> sorted(kinds)
['collect', 'train']
"""

__version__ = "0.1.0"
