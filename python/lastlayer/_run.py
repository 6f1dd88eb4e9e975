# SPDX-License-Identifier: MIT
"""How a call runs: threads, memory, progress, and where its sentences go."""
from __future__ import annotations

import logging
import sys
import time
import warnings
from typing import Any, Callable, Optional, Union

from ._errors import LastLayerWarning

logger = logging.getLogger("lastlayer")
Progress = Union[None, bool, Callable[[str, float, float], Any]]
PATIENCE = 0.5  # seconds without a bar: short calls show none


def _outside() -> int:
    """How many frames up the caller of this package is: a warning should name a line of the user."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "lastlayer":
        level, frame = level + 1, frame.f_back
    return level


def _say(warning: bool, sentence: str) -> None:
    if warning:
        warnings.warn(sentence, LastLayerWarning, stacklevel=_outside())
    else:
        logger.info(sentence)


class _Bar:
    """A plain bar on one line of stderr, or tqdm's where that is installed."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.what: Optional[str] = None
        self.tqdm: Any = None
        self.handle: Any = None
        self.width = 0

    def __call__(self, what: str, done: float, total: float) -> None:
        last = done >= total
        if self.what is None and (last or time.monotonic() - self.began < PATIENCE):
            return
        if what != self.what:
            self._end()
            self.what = what
            self.tqdm = _make_tqdm(what, total)
        if self.tqdm is not None:
            self.tqdm.total = total
            self.tqdm.update(done - self.tqdm.n)
        else:
            full = int(30 * done / total)
            line = f"{what} [{'#' * full}{'.' * (30 - full)}] {100 * done / total:3.0f} %"
            self._draw(line)
        if last:
            self._end()

    def _end(self) -> None:
        if self.tqdm is not None:
            self.tqdm.close()
        elif self.what is not None:
            self._draw("")  # leaves nothing behind
        self.what = self.tqdm = None

    def _draw(self, line: str) -> None:
        if "ipykernel" in sys.modules:  # a notebook: an output that changes
            from IPython.display import display

            content = {"text/plain": line}
            if self.handle is None:
                self.handle = display(content, raw=True, display_id=True)
            else:
                self.handle.update(content, raw=True)
            return
        sys.stderr.write("\r" + line + " " * (self.width - len(line)) + ("" if line else "\r"))
        sys.stderr.flush()
        self.width = len(line)


def _make_tqdm(what: str, total: float) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    with warnings.catch_warnings():  # tqdm warns where a notebook lacks its widgets
        warnings.simplefilter("ignore")
        return tqdm(total=total, desc=what, leave=False, bar_format="{desc} {percentage:3.0f}% |{bar}| {elapsed}<{remaining}")


def _shown() -> bool:
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def threads(n_jobs: Optional[int]) -> int:
    """Workers as the library counts them: 0 = as many as the process may use."""
    return 0 if n_jobs is None or n_jobs < 0 else n_jobs


def how(n_jobs: Optional[int] = None, memory: Optional[int] = None, progress: Progress = False) -> tuple:
    """The last argument of every function of the extension module that computes."""
    bar: Any = progress if callable(progress) else _Bar() if progress or (progress is None and _shown()) else None
    return (threads(n_jobs), memory or 0, bar, _say)
