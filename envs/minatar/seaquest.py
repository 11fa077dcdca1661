"""Seaquest of MinAtar: rescue divers, shoot fish and submarines, mind the oxygen."""

import torch
from torch import Tensor

from yieldrl.envs.minatar import base
from yieldrl.envs.minatar import seaquest_fleet as fleet
from yieldrl.envs.minatar import seaquest_moves as moves
from yieldrl.envs.minatar.base import MinAtarVectorEnv, State, Transition
from yieldrl.envs.minatar.painting import SIZE, unpack
from yieldrl.envs.minatar.seaquest_fleet import CELL, COLUMN, LANES, place

COOL_DOWN = 5  # steps between shots
FLOOR = SIZE - 1  # the row of the gauges
OXYGEN = 200
CHANNELS = 10
BITS = 64  # bits of a word
CELLS = 8  # most cells with bits in one word


class SeaquestVectorEnv(MinAtarVectorEnv):
    """MinAtar's Seaquest: N seas, a reward of 1 for each enemy shot.

    Fish and submarines cross the sea, and submarines fire torpedoes. The player takes
    up to six divers aboard. Surfacing uses up one diver, refills the oxygen, and makes
    enemies come more often, and every second time also move faster; with all six aboard
    it pays a reward of up to 10, one for each cell of the oxygen gauge. The episode
    ends when something hits the player, the oxygen runs out, or the player surfaces
    without a diver.

    As in the package, a full rescue leaves the number of divers at -1: because it is
    not 0, the player may surface without a diver afterwards.

    Enemies are bits, see `seaquest_fleet`. All in a row swim the same way: enemies of
    the other direction enter only when they are gone.
    """

    channels = ("sub_front", "sub_back", "friendly_bullet", "trail", "enemy_bullet")
    channels += ("enemy_fish", "enemy_sub", "oxygen_guage", "diver_guage", "diver")
    actions = (base.NOTHING, base.LEFT, base.UP, base.RIGHT, base.DOWN, base.FIRE)
    noise_size = 2  # sticky action; kind, side and row of new things

    def begin(self, noise: Tensor) -> State:
        empty = noise.new_zeros(LANES, noise.shape[1], dtype=torch.int64)
        return {
            **self.full(noise, x=5, y=0, heading=-1),
            **self.full(noise, cooling=0, oxygen=OXYGEN, aboard=0),
            # Whether it is still surfaced; number of rises of the difficulty.
            **self.full(noise, up=1, ramps=0),
            **self.full(noise, spawn_timer=moves.SPAWN, diver_timer=moves.DIVER_SPAWN),
            **self.full(noise, clock=0),  # modulo `RELOAD`
            # The row of each, negative if it swims to the left, 0 for none.
            **self.full(noise, moves.DIVERS, divers=0),
            "ways": empty[0],  # a bit for each lane that swims to the left
            "fish": empty,
            "subs": empty,
            "phases": empty[0].expand(2, moves.PHASE_BITS, -1),  # see `enemy_comes`
            "torpedoes": empty,
            "shots": empty,
            "high_shots": empty[0],  # at the surface
        }

    def play(self, state: State, action: Tensor, noise: Tensor) -> Transition:
        """Spawn enemies and divers; move the player, then shots, divers, enemies."""
        side, kind, lane, *rest = base.choices(noise[1], 2, 3, LANES, 2, LANES)
        state = moves.enemy_comes(state, side, lane, kind == 0)
        state = self._steered(moves.diver_comes(state, *rest), action)
        state, shot = moves.shots_move(state)
        state, met, touched = moves.enemies_move(moves.divers_move(state))
        hits = fleet.count(shot | met)  # each shot hits at most once
        caught = touched.sum(0) != 0

        oxygen, aboard, below = state["oxygen"], state["aboard"], state["y"] > 0
        surfaces = ~below & (state["up"] == 0)
        drowned = (oxygen <= 0) | (surfaces & (aboard == 0))
        surfaces = surfaces & (aboard != 0)
        full = surfaces & (aboard == moves.CREW)
        bonus = torch.where(full, tenths(oxygen), 0)
        clock, ramps = state["clock"] + 1, state["ramps"]
        if self.difficulty_ramping:
            ramps = (ramps + surfaces.int()).clamp(max=moves.RAMPS)
        state = {
            **state,
            "ramps": ramps,
            "aboard": torch.where(full, 0, aboard) - surfaces.int(),
            "oxygen": torch.where(surfaces, OXYGEN, oxygen - below.int()),
            "up": torch.where(below, 0, torch.where(surfaces, 1, state["up"])),
            "cooling": (state["cooling"] - 1).clamp(min=0),
            "spawn_timer": (state["spawn_timer"] - 1).clamp(min=0),
            "diver_timer": (state["diver_timer"] - 1).clamp(min=0),
            "clock": torch.where(clock == moves.RELOAD, 0, clock),
        }
        return state, hits + bonus, caught | drowned

    def _steered(self, state: State, action: Tensor) -> State:
        """Let the player fire or move."""
        right, down = base.across(action), base.down(action)
        fires = (action == base.FIRE) & (state["cooling"] == 0)
        x, y, heading = state["x"], state["y"], state["heading"]
        shot = fleet.launch(place(x), -(heading < 0).long())
        shot = torch.where(fires, shot, 0)
        return {
            **state,
            "shots": state["shots"] | fleet.in_row(y, shot),
            "high_shots": state["high_shots"] | torch.where(y == 0, shot, 0),
            "cooling": torch.where(fires, COOL_DOWN, state["cooling"]),
            "x": (x + right).clamp(0, SIZE - 1),
            "y": (y + down).clamp(0, FLOOR - 1),
            "heading": torch.where(right == 0, heading, right),
        }

    def observe(self, state: State) -> Tensor:
        return unpack(words(state), len(self.channels))


def words(state: dict[str, Tensor]) -> Tensor:
    """The board in words of 64 bits, int64 `[16, N]`, for `unpack`: a word expands to
    as many numbers as a CPU computes at once. The bits of a cell may be split between
    two words."""
    device = state["x"].device
    first, last = (torch.cat(rows) for rows in _rows(state))
    begin = torch.arange(0, SIZE * SIZE * CHANNELS, BITS, device=device)[:, None]
    words = torch.zeros_like(begin)
    for i in range(CELLS):
        cell = begin // CHANNELS + i
        shift = cell * CHANNELS - begin
        cell = torch.where(shift < BITS, cell, SIZE * SIZE)  # cell outside this word
        row, column = (cell // SIZE)[:, 0], cell % SIZE * COLUMN
        low, high = (first[row] >> column) & CELL, (last[row] >> column) & CELL
        bits = low | high << COLUMN
        words = words | (bits << shift if i else bits >> -shift)
    return words


def _rows(state: dict[str, Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Rows of the first and of the last channels: surface, lanes, floor, an empty one.

    First six bits per column: the player's front and back, its shots, trails, torpedoes
    and fish. Then four: submarines, the gauges of oxygen and of divers, and divers.
    """
    x, y, left = state["x"], state["y"], fleet.to_left(state["ways"])
    own = place(x) | fleet.spot(x - state["heading"]) << 1
    fish, subs = fleet.columns(state["fish"]), fleet.columns(state["subs"])
    first = fleet.ahead(fish | subs, ~left) << 3 | fleet.flying(state["torpedoes"]) << 4
    first = first | fish << 5 | fleet.flying(state["shots"]) << 2
    first, last = first | fleet.in_row(y, own), subs

    divers = state["divers"]
    diver_x = moves.diver_columns(divers, state["diver_timer"])
    lane = divers.abs().long() - 1
    diver = fleet.spot(diver_x) << 3
    trail = fleet.spot(diver_x - divers.sign()) << 3
    for k in range(len(divers)):
        first = first | fleet.in_lane(lane[k], trail[k])
        last = last | fleet.in_lane(lane[k], diver[k])

    surface = fleet.flying(state["high_shots"]) << 2 | torch.where(y == 0, own, 0)
    air = tenths(state["oxygen"].clamp(min=0))
    free = FLOOR - state["aboard"]
    seats = fleet.below(torch.full_like(free, FLOOR)) & ~fleet.below(free)
    gauges = (fleet.below(air) << 1 | seats << 2)[None]
    nothing = torch.zeros_like(gauges)
    return (surface[None], first, nothing, nothing), (nothing, last, gauges, nothing)


def tenths(oxygen: Tensor) -> Tensor:
    """Tenths of the oxygen that are left, rounded down."""
    return (oxygen / (OXYGEN // SIZE)).floor().int()
