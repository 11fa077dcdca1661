"""Hyper-parameters of PPO for vision-language-action policies, steadied."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import vla_ppo
from yieldrl.foundations import Positive, StepsOrZero


@dataclass(frozen=True, kw_only=True)
class Config(vla_ppo.Config):
    """PPO for vision-language-action policies, with a clip of two sides and a bound, a
    robust value loss, a critic that learns first, and a policy to stay near to that is
    not the one that acted. Each can be turned off. Values may be of single actions."""

    clip_high: Positive | None = 0.28
    """How far the ratio may rise above 1, where `clip_coef` says how far it may fall
    below. Higher lets unlikely actions become likely sooner; None is `clip_coef`."""

    dual_clip: Annotated[float, Field(ge=1, le=10**6)] | None = 3.0
    """The ratio up to which an action is made less likely where its advantage is
    negative. Lower keeps one that an old policy liked less from a large step; None is
    no bound."""

    decoupled: bool = True
    """Clip the ratio to the policy at the start of the update, and weigh actions by its
    ratio to the one that acted: then a policy that lags behind holds no step back. With
    collection='sync' both are one."""

    huber_delta: Positive | None = 10.0
    """Error of a value from which on its loss grows linearly and no more by its square,
    in units of returns. Lower listens less to rare large returns; None is the square
    everywhere."""

    critic_warmup_steps: StepsOrZero = 0
    """Gradient steps in the beginning in which the value head alone learns. More help
    where it is new beside a policy that is good already."""

    value_per: Literal["chunk", "action"] = "chunk"
    """What there is a value of: a `chunk`, by whose return all its actions are judged;
    or each `action`, judged by what came from it on, for a ratio of actions or tokens.
    Cloning teaches the first one's."""

    def __post_init__(self) -> None:
        super().__post_init__()
        chunks = self.ratio_level != "chunk" and self.chunk_length > 1
        fits = chunks and self.gamma > 0 and not self.normalize_reward
        if self.value_per == "action" and not fits:
            remedy = "have chunks, ratio_level='action' or 'token', gamma > 0, and"
            raise self.error("value_per", f"{remedy} normalize_reward=False")
