"""Usage errors: one line on stderr, exit code 2, no traceback."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn errors of wrong options, files or packages into one line and exit code 2.

    It belongs around the preparation of a command. An error while training is no usage
    error and keeps its traceback; `python -X dev -m yieldrl ...`
    keeps all of them.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        # The pipe is closed, as in `yieldrl ... | head`; nothing is left to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:
        from pydantic import ValidationError

        from yieldrl.core.checked import in_a_line
        from yieldrl.experiments import CheckpointError

        expected = ImportError, MemoryError, OSError, TypeError, ValueError
        if sys.flags.dev_mode or not isinstance(error, (CheckpointError, *expected)):
            raise
        if isinstance(error, ValidationError):
            fail(in_a_line(error, error.title))
        fail(str(error))


def fail(message: str) -> NoReturn:
    """Say in one line what was wrong, and exit with code 2."""
    print(f"yieldrl: error: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)
