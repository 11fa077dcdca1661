from .base import Decorated as Decorated
from .base import Logger as Logger
from .base import Target as Target
from .base import default as default
from .checkpoints import checkpoint as checkpoint
from .checkpoints import latest_checkpoint as latest_checkpoint
from .checkpoints import list_checkpoints as list_checkpoints
from .early_stopping import early_stop as early_stop
from .live_plots import live_plot as live_plot
from .progress_bar import progress as progress
from .pruning import prune as prune
from .tensorboard_events import tensorboard as tensorboard
from .text_files import csv as csv
from .text_files import jsonl as jsonl
from .trackio_run import trackio as trackio
from .videos import record_video as record_video
from .videos import video as video
from .wandb_run import wandb as wandb
from .writer import Writer as Writer

__all__: list[str]
