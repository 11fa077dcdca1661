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
  const refresh = () => {
    document.querySelectorAll(".arithmatex").forEach(render)
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
