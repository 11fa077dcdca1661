// Renders equations with KaTeX: those that are there, and those that appear later, such
// as in code annotations, which KaTeX's own auto-render does not see.
// Whatever may scroll sideways, can be scrolled with the keyboard; the numbers of code
// annotations, which are drawn by styles alone, have a name for who hears the page.
(() => {
  const render = (element) => {
    if (element.dataset.rendered) return
    element.dataset.rendered = "yes"
    const text = element.textContent.trim()
    const displayMode = text.startsWith("\\[")
    katex.render(text.slice(2, -2), element, { displayMode, throwOnError: false })
    if (displayMode) element.tabIndex = 0
  }
  const DOLLARS = /\$([^$]+)\$/ // as formulas of notebooks come
  const renderDollars = (cell) => {
    if (cell.dataset.rendered) return
    cell.dataset.rendered = "yes"
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
    const found = []
    while (texts.nextNode()) {
      const { currentNode: text } = texts
      const isCode = text.parentElement.closest("code, pre, .katex")
      if (!isCode && DOLLARS.test(text.data)) found.push(text)
    }
    for (const text of found) {
      const parts = text.data.split(DOLLARS).map((part, i) => {
        if (i % 2 === 0) return part
        const formula = document.createElement("span")
        katex.render(part, formula, { throwOnError: false })
        return formula
      })
      text.replaceWith(...parts)
    }
  }
  const refresh = () => {
    document.querySelectorAll(".arithmatex").forEach(render)
    document.querySelectorAll(".jp-RenderedMarkdown").forEach(renderDollars)
    for (const table of document.querySelectorAll(".md-typeset__scrollwrap"))
      table.tabIndex = 0
    for (const number of document.querySelectorAll(".md-annotation__index")) {
      const { mdAnnotationId } = number.firstElementChild.dataset
      number.setAttribute("aria-label", `Note ${mdAnnotationId}`)
    }
  }
  document.addEventListener("DOMContentLoaded", () => {
    refresh()
    const changes = { childList: true, subtree: true }
    new MutationObserver(refresh).observe(document.body, changes)
  })
})()
