// Films play by themselves while they are in view, unless less motion is asked for; a
// button stops each of them. Without this script they have the browser's own controls.
(() => {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)")

  const follow = (film) => {
    let stopped = reduced.matches // by the reader, who is not overruled
    const button = document.createElement("button")
    const name = film.getAttribute("aria-label")
    const say = () => {
      button.textContent = film.paused ? "Play" : "Pause"
      button.setAttribute("aria-label", `${button.textContent}: ${name}`)
    }
    button.type = "button"
    button.onclick = () => {
      stopped = !film.paused
      if (stopped) film.pause()
      else film.play()
    }
    film.onplay = film.onpause = say
    film.controls = false // they would cover a small picture
    film.after(button)
    say()
    new IntersectionObserver((seen) => {
      const away = !seen.at(-1).isIntersecting
      if (away) film.pause()
      else if (!stopped) film.play().catch(() => {}) // where nothing may play by itself
    }, { threshold: 0.5 }).observe(film)
  }
  document.addEventListener("DOMContentLoaded", () =>
    document.querySelectorAll(".film video").forEach(follow))
})()
