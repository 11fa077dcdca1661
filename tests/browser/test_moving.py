"""What moves on the pages: worlds that are played, and figures with controls."""

import built_site
import pytest

pytestmark = pytest.mark.slow

DEMOS = built_site.holding("<rl-demo ") or [built_site.MISSING]
FIGURES = built_site.holding('<figure class="frames"') or [built_site.MISSING]
WAIT = 30_000  # milliseconds within which something has to happen

ARROWS = ("Left", "Right", "Up", "Down")
PIXELS = "node => node.toDataURL()"
CHANGED = "([canvas, before]) => canvas.toDataURL() !== before"


def drawn_anew(page, canvas, before):
    """Wait until a canvas shows something else."""
    given = [canvas.element_handle(), before]
    page.wait_for_function(CHANGED, arg=given, timeout=WAIT)


def demos(page):
    """Every demo of a page, once its first picture is there."""
    found = page.locator("rl-demo")
    for index in range(found.count()):
        demo = found.nth(index)
        demo.scroll_into_view_if_needed()
        demo.locator('canvas[aria-label*=":"]').wait_for()
        yield demo


@pytest.mark.parametrize("name", DEMOS)
def test_a_policy_plays_when_asked_and_pauses_and_the_keyboard_plays(name, visitor):
    with visitor() as visit:
        page = visit.open(name)
        for demo in demos(page):
            canvas, play = demo.locator("canvas"), demo.get_by_role("button").first
            players = demo.get_by_label("Who plays")
            if players.locator("option").all_text_contents() != ["You"]:
                still = canvas.evaluate(PIXELS)
                page.wait_for_timeout(300)
                assert canvas.evaluate(PIXELS) == still  # less motion was asked for
                play.click()
                drawn_anew(page, canvas, still)
                assert play.text_content() == "Pause"
                play.click()
                paused = canvas.evaluate(PIXELS)
                page.wait_for_timeout(300)
                assert canvas.evaluate(PIXELS) == paused
            players.select_option("hand")
            stage = demo.locator(".stage")
            keys = stage.get_attribute("aria-label").partition("Keys: ")[2]
            keys = keys.partition(";")[0].split(", ")
            names = [f"Arrow{k}" if k in ARROWS else k for k in keys]
            stage.focus()
            before = canvas.evaluate(PIXELS)
            for key in names * 5:  # one may stand before a wall, and ice is slippery
                page.keyboard.press(key)
                if canvas.evaluate(PIXELS) != before:
                    break
            else:
                pytest.fail(f"{names} change nothing in {name}")
        assert visit.faults == []


def test_the_home_page_moves_by_itself_and_not_for_those_who_ask_for_less(visitor):
    for motion in (True, False):
        with visitor(motion=motion) as visit:
            page = visit.open("")
            (demo,) = demos(page)
            canvas = demo.locator("canvas")
            before = canvas.evaluate(PIXELS)
            box = demo.bounding_box()
            assert box["y"] + box["height"] < page.viewport_size["height"]
            if motion:
                drawn_anew(page, canvas, before)
            else:
                page.wait_for_timeout(500)
                assert canvas.evaluate(PIXELS) == before


@pytest.mark.parametrize("name", FIGURES)
def test_the_controls_of_a_figure_change_it(name, visitor):
    """Whoever has no mouse turns it over with the keyboard."""
    with visitor() as visit:
        page = visit.open(name)
        figures = page.locator("figure.frames")
        for index in range(figures.count()):
            figure = figures.nth(index)
            controls = figure.locator("input[type=range], fieldset")
            assert controls.count() > 0
            for control in controls.all():
                shown = figure.evaluate("node => node.innerHTML")
                focus = control.locator("input").first
                (focus if focus.count() else control).focus()
                page.keyboard.press("ArrowRight")
                changed = "([node, before]) => node.innerHTML !== before"
                given = [figure.element_handle(), shown]
                page.wait_for_function(changed, arg=given, timeout=WAIT)
        assert visit.faults == []
