// Figures whose frames were computed when the site was built: controls choose one, and
// nothing is computed here but which. Without this script the first frame stands.
document.addEventListener("DOMContentLoaded", () => {
  for (const figure of document.querySelectorAll("figure.frames")) {
    const { parts, frames } = JSON.parse(figure.querySelector("script").textContent)
    const form = figure.querySelector("form")
    const groups = [...form.querySelectorAll("input[type=range], fieldset")]

    const choice = (group) => {
      if (group.matches("fieldset")) {
        const buttons = [...group.querySelectorAll("input")]
        return [buttons.findIndex((button) => button.checked), buttons.length]
      }
      const labels = JSON.parse(group.dataset.labels)
      const index = Number(group.value)
      group.setAttribute("aria-valuetext", labels[index])
      group.nextElementSibling.textContent = labels[index]
      return [index, labels.length]
    }
    const show = () => {
      let at = 0
      for (const [index, size] of groups.map(choice)) at = at * size + index
      parts.forEach(([selector, attribute], part) => {
        const value = frames[at][part]
        figure.querySelectorAll(selector).forEach((node, i) => {
          const own = Array.isArray(value) ? value[i] : value
          if (attribute === "text") node.textContent = own
          else node.setAttribute(attribute, own)
        })
      })
    }
    form.addEventListener("input", show)
    form.addEventListener("submit", (event) => event.preventDefault())
    form.hidden = false
    show() // a browser may remember where the controls were
  }
})
