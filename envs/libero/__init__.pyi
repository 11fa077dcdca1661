from .suites import HORIZONS as HORIZONS
from .suites import SUITES as SUITES
from .suites import Task as Task
from .suites import tasks_of as tasks_of
from .wrapper import LiberoEnvChunk as LiberoEnvChunk
from .wrapper import LiberoEnvWrapper as LiberoEnvWrapper
