// Pendulum as envs/classic_control.py computes it, which is as Gymnasium's Pendulum-v1 does.

export const title = "Pendulum"
export const actions = ["pull left", "pull right"]
export const keys = { ArrowLeft: [2], ArrowRight: [-2] }
export const limit = 200
export const fps = 20
export const size = [340, 340]
export const sliders = [
  { name: "gravity", label: "Gravity, m/s²", min: 1, max: 20, step: 0.5, value: 10 },
]

const MAX_SPEED = 8, MAX_TORQUE = 2, DT = 0.05

const clamp = (number, limit) => Math.min(Math.max(number, -limit), limit)
const wrapped = (angle) => {
  const turn = 2 * Math.PI
  return ((((angle + Math.PI) % turn) + turn) % turn) - Math.PI
}

/** Any angle from the upright, and a slow velocity. */
export const reset = (rng) => [Math.PI * (2 * rng() - 1), 2 * rng() - 1]

export const step = ([theta, thetaDot], action, rng, { gravity = 10 } = {}) => {
  const torque = clamp(action[0], MAX_TORQUE)
  const cost = wrapped(theta) ** 2 + 0.1 * thetaDot ** 2 + 0.001 * torque ** 2
  const pull = ((3 * gravity) / 2) * Math.sin(theta)
  thetaDot = clamp(thetaDot + (pull + 3 * torque) * DT, MAX_SPEED)
  theta += thetaDot * DT
  return { state: [theta, thetaDot], reward: -cost, terminated: false, torque }
}

export const observe = ([theta, thetaDot]) => [
  Math.cos(theta),
  Math.sin(theta),
  thetaDot,
]

export const idle = () => [0]

export const random = (rng) => [MAX_TORQUE * (2 * rng() - 1)]

export const describe = ([theta, thetaDot]) => {
  const degrees = Math.round((Math.abs(wrapped(theta)) * 180) / Math.PI)
  return `${degrees} degrees from the upright, turning at`
    + ` ${Math.abs(thetaDot).toFixed(1)} radians per second`
}

export const draw = (pen, [theta], colors) => {
  const [width, height] = size
  pen.save()
  pen.translate(width / 2, height / 2)
  pen.strokeStyle = colors.line
  pen.lineWidth = 2
  pen.setLineDash([4, 5])
  pen.beginPath()
  pen.moveTo(0, 0)
  pen.lineTo(0, -145)
  pen.stroke()
  pen.setLineDash([])
  pen.rotate(-theta) // counted against the clock, as Gymnasium does
  pen.strokeStyle = colors.accent
  pen.lineWidth = 22
  pen.lineCap = "round"
  pen.beginPath()
  pen.moveTo(0, 0)
  pen.lineTo(0, -125)
  pen.stroke()
  pen.fillStyle = colors.ink
  pen.beginPath()
  pen.arc(0, 0, 7, 0, 2 * Math.PI)
  pen.fill()
  pen.restore()
}
