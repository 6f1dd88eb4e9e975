# SPDX-License-Identifier: MIT
"""Exceptions. Each is an Error, and also what Python calls this kind of failure."""
from __future__ import annotations


class Error(Exception):
    """What lastlayer raises. The text is one sentence: what, where, what was expected, what was found, what to do."""


class UsageError(Error, ValueError):
    """An argument is unknown, out of range, or cannot be combined with another."""


class DataError(Error, ValueError):
    """The arrays do not fit together, or hold impossible values."""


class FormatError(Error, ValueError):
    """A file is not what it says: truncated, garbage, unsupported."""


class ReadError(Error, OSError):
    """A file cannot be opened or read."""


class WriteError(Error, OSError):
    """The output cannot be written."""


class OutOfMemoryError(Error, MemoryError):
    """Memory ran out, or its limit (`memory=`)."""


class DivergedError(Error, FloatingPointError):
    """Training left the finite numbers, or its loss exploded."""


class InternalError(Error, RuntimeError):
    """A defect of lastlayer itself."""


class LastLayerWarning(UserWarning):
    """What lastlayer wants you to know, with what to do about it."""


_BY_STATUS = {
    "usage": UsageError,
    "data": DataError,
    "format": FormatError,
    "read": ReadError,
    "write": WriteError,
    "memory": OutOfMemoryError,
    "diverged": DivergedError,
}


def exception(status: str, sentence: str) -> BaseException:
    """The exception for a status of the library. The extension module calls it."""
    if status == "cancelled":
        return KeyboardInterrupt(sentence)
    return _BY_STATUS.get(status, InternalError)(sentence)
