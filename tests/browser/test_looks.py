"""Every page in a real browser: light, dark, and as narrow as a phone."""

import json

import built_site
import pytest
from axe_playwright_python.base import AXE_SCRIPT

pytestmark = pytest.mark.slow

PAGES = built_site.addresses() or [built_site.MISSING]
IN_FULL = ["", "algorithms/", "algorithms/ppo/", "course/", "course/glossary/"]
IN_FULL += ["course/01-what-is-an-agent/", "course/09-actor-critic-and-gae/"]
IN_FULL += ["one_transition/", "quickstart/", "reference/abstractions/", "results/"]
IN_FULL += ["vla/", "watch/", "worlds/"]
"""Pages whose accessibility is looked at, some of each kind: each takes seconds."""

VISITS = [(name, mode) for name in PAGES for mode in ("light", "phone")]
VISITS += [(name, "dark") for name in IN_FULL]
"""Every page as wide as a desk and as narrow as a phone; some of each kind in the dark,
where colours alone are others."""

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

LOOKED_AT = """
() => {
  const faults = []
  const article = document.querySelector("article")
  const root = document.documentElement
  const short = (node) => node.textContent.trim().replace(/\\s+/g, " ").slice(0, 60)
  const all = (selector) => [...article.querySelectorAll(selector)]
  if (root.scrollWidth > root.clientWidth) {
    const wide = all("*").filter((node) => {
      if (node.getBoundingClientRect().right <= root.clientWidth + 1) return false
      for (let up = node.parentElement; up !== article; up = up.parentElement)
        if (getComputedStyle(up).overflowX !== "visible") return false
      return true
    })
    const names = wide.slice(0, 3).map((node) => `${node.tagName}.${node.className}`)
    faults.push(`scrolls sideways: ${names.join(", ")}`)
  }
  for (const node of all(".arithmatex"))
    if (!node.querySelector(".katex")) faults.push(`formula as text: ${short(node)}`)
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { currentNode: text } = texts
    const isCode = text.parentElement.closest("code, pre, .katex")
    if (!isCode && /\\$[^$]+\\$/.test(text.data))
      faults.push(`formula between dollars: ${short(text)}`)
  }
  for (const node of all(".katex-error")) faults.push(`formula wrong: ${short(node)}`)
  for (const node of all("img")) {
    if (!node.naturalWidth) faults.push(`no picture: ${node.getAttribute("src")}`)
    if (!node.alt.trim()) faults.push(`picture without words: ${node.src}`)
  }
  for (const node of all("svg[viewBox], canvas")) {
    const box = node.getBoundingClientRect()
    if (node.checkVisibility() && !(box.width > 4 && box.height > 4))
      faults.push(`a drawing without extent: ${node.outerHTML.slice(0, 80)}`)
  }
  return faults
}
"""
EAGER = """
async () => {
  for (const node of document.querySelectorAll("article details")) node.open = true
  const pictures = [...document.querySelectorAll("article img")]
  for (const node of pictures) node.loading = "eager"
  await Promise.allSettled(pictures.map((node) => node.decode()))
}
"""
TABLES_CUT = """
() => [...document.querySelectorAll("article .md-typeset__scrollwrap")]
  .filter((node) => node.scrollWidth > node.clientWidth + 1)
  .map((node) => `table cut by ${node.scrollWidth - node.clientWidth} px: `
    + node.innerText.slice(0, 60).replace(/\\s+/g, " "))
"""
LONG_LINES = """
() => [...document.querySelectorAll("article :is(p, li, dd, figcaption)")]
  .filter((node) => node.checkVisibility() && !node.querySelector("p, li, .katex"))
  .flatMap((node) => {
    const rows = {}, range = document.createRange()
    const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const { currentNode: text } = texts
      if (text.parentElement.closest("pre, svg, rl-demo")) continue
      for (let at = 0; at < text.length; at++) {
        range.setStart(text, at)
        range.setEnd(text, at + 1)
        const { bottom, width } = range.getBoundingClientRect()
        const row = Math.round(bottom / 6)
        if (width) rows[row] = (rows[row] ?? "") + text.data[at]
      }
    }
    return Object.values(rows).filter((row) => row.trim().length > 75)
  })
  .map((row) => `a line of more than 75 characters: ${row}`)
"""
AXE = """
async (rules) => {
  const options = { runOnly: rules, resultTypes: ["violations"] }
  const { violations } = await axe.run(options)
  return violations.flatMap(({ id, nodes }) => nodes.slice(0, 5).map((node) =>
    `${id}: ${node.target.join(" ")}: ${node.failureSummary.replace(/\\s+/g, " ")}`))
}
"""


@pytest.mark.parametrize(("name", "mode"), VISITS)
def test_a_page_is_whole(name, mode, visitor):
    with visitor(mode) as visit:
        page = visit.open(name)
        page.evaluate(EAGER)
        faults = page.evaluate(LOOKED_AT)
        if mode != "phone":
            faults += page.evaluate(TABLES_CUT)
        if mode == "dark":
            scheme = page.get_attribute("body", "data-md-color-scheme")
            assert scheme == "slate"
        if name in IN_FULL:
            faults += page.evaluate(LONG_LINES)
            page.evaluate(AXE_SCRIPT)
            faults += page.evaluate(AXE, RULES)
        assert visit.faults + faults == []


def test_faults_are_found(folder, visitor):
    """A page that has one of each kind, in the site's own clothes."""
    planted = {
        "scrolls sideways": '<div style="width: 3000px">wide</div>',
        "formula as text": '<p class="arithmatex" data-rendered="yes">\\(x\\)</p>',
        "formula between dollars": "<p>half of $x$</p>",
        "formula wrong": '<span class="arithmatex">\\(\\nothing{x\\)</span>',
        "no picture": '<img alt="none" src="none.png">',
        "picture without words": '<img alt="" src="../assets/logo.svg">',
        "a line of more": f'<p style="max-width: none">{"word " * 40}</p>',
        "table cut": '<div class="md-typeset__scrollwrap"><p style="min-width:2000px">',
        "asks https://example.org/": '<img alt="far" src="https://example.org/x.png">',
        "console: ": "<img alt='s' src='x' onerror='console.error(1)'>",
        "raises ": "<img alt='s' src='x' onerror='throw Error(1)'>",
        "image-alt": '<img src="../assets/logo.svg">',
        "color-contrast": '<p style="color:#999;background:#aaa">pale</p>',
    }
    with visitor("light") as visit:
        page = visit.open("install/")
        for html in planted.values():
            page.evaluate(
                "html => document.querySelector('article')"
                ".insertAdjacentHTML('beforeend', html)",
                html,
            )
        page.evaluate(EAGER)
        page.evaluate(AXE_SCRIPT)
        found = page.evaluate(LOOKED_AT) + page.evaluate(TABLES_CUT)
        found += page.evaluate(LONG_LINES)
        found += page.evaluate(AXE, RULES) + visit.faults
    missing = [k for k in planted if not any(f.startswith(k) for f in found)]
    assert missing == [], json.dumps(found, indent=1)
    assert set(IN_FULL) <= set(PAGES)
