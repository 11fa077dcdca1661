"""The figure of an imagined game shows the boards that were recorded."""

from yieldrl.docs.course.figures import imagined_breakout
from yieldrl.docs.course.figures.imagined_breakout import SEEN


def test_every_step_is_a_frame_of_both_boards():
    real = "0" * 95 + "1" + "0" * 4
    film = {"real": [real] * (SEEN + 2), "imagined": ["0" * 100] * (SEEN + 2)}
    figure = imagined_breakout.drawn(film)
    assert len(figure["frames"]) == SEEN + 2
    at = figure["parts"].index((".real-1", "d"))
    left, top = imagined_breakout.LEFT, imagined_breakout.TOP
    paddle = f"M{left + 5 * 18 + 2} {top + 9 * 18 + 2}h14v14h-14z"
    assert figure["frames"][0][at] == paddle
    assert figure["frames"][0][figure["parts"].index((".imagined-1", "d"))] == ""
    says = figure["parts"].index((".says", "text"))
    assert figure["frames"][SEEN - 1][says] == "It sees the game."
    assert figure["frames"][SEEN][says] == "It imagines: step 1 ahead."
