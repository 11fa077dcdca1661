// The parts of a demo's page: made here, put together and listened to in player.js.

/** An element with properties, attributes and children. */
export const element = (tag, options = {}, ...children) => {
  const { attributes = {}, ...properties } = options
  const made = Object.assign(document.createElement(tag), properties)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

export const button = (text, onclick) =>
  element("button", { type: "button", textContent: text, onclick })

/** A choice with a label: pairs of value and text. */
export const choice = (text, options, chosen, onchange) => {
  const select = element("select", { onchange: () => onchange(select.value) })
  for (const [value, label] of options)
    select.append(element("option", { value, textContent: label }))
  select.value = chosen
  return element("label", {}, text, select)
}

/** A slider with a label and its value in words. */
export const slider = (text, { min, max, step, value }, words, onchange) => {
  const output = element("output", { textContent: words(value) })
  const input = element("input", { type: "range", min, max, step })
  input.value = value
  input.setAttribute("aria-valuetext", words(value))
  input.oninput = () => {
    output.textContent = words(input.valueAsNumber)
    input.setAttribute("aria-valuetext", output.textContent)
    onchange(input.valueAsNumber)
  }
  return element("label", {}, text, input, output)
}

/** A canvas that is sharp on every screen, `size` wide and high in its own units. */
export const canvas = ([width, height]) => {
  const made = element("canvas", { attributes: { role: "img" } })
  const ratio = Math.min(window.devicePixelRatio || 1, 3)
  made.width = width * ratio
  made.height = height * ratio
  made.style.aspectRatio = `${width} / ${height}`
  made.style.maxWidth = `${width}px`
  return made
}

/** What has the focus while one plays by hand, around a canvas. */
export const stage = ({ title, keys }, around) => {
  const names = Object.keys(keys).map((key) => key.replace("Arrow", ""))
  const label = `${title}. Keys: ${names.join(", ")}; space plays and pauses`
  const attributes = { tabindex: "0", role: "group", "aria-label": label }
  return element("div", { className: "stage", attributes }, around)
}

/** Draw with a world's units on a cleared canvas. */
export const paint = (on, [width], drawing) => {
  const pen = on.getContext("2d")
  pen.setTransform(1, 0, 0, 1, 0, 0)
  pen.clearRect(0, 0, on.width, on.height)
  pen.scale(on.width / width, on.width / width)
  drawing(pen)
}

/** The colours of the page around an element, light or dark. */
export const colors = (around) => {
  const style = getComputedStyle(around)
  const of = (name) => style.getPropertyValue(name).trim()
  return {
    ink: of("--md-default-fg-color"),
    muted: of("--md-default-fg-color--light"),
    accent: of("--md-accent-fg-color"),
    line: of("--demo-line"),
    paper: of("--md-default-bg-color"),
    ice: of("--demo-ice"),
    water: of("--demo-water"),
  }
}

/**
 * Call `themed` when the page turns light or dark, and `seen` with whether an element is
 * in view when that changes; what comes back ends both.
 */
export const watch = (on, themed, seen) => {
  const theme = new MutationObserver(themed)
  const attributeFilter = ["data-md-color-scheme"]
  theme.observe(document.body, { attributes: true, attributeFilter })
  const view = new IntersectionObserver((all) => seen(all.at(-1).isIntersecting))
  view.observe(on)
  return () => {
    theme.disconnect()
    view.disconnect()
  }
}
