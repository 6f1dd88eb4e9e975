# SPDX-License-Identifier: MIT
# The extension module is for the other modules here; they say what is typed.
from typing import Any

def __getattr__(name: str) -> Any: ...
