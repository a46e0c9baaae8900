"""One thing that was looked at, and what was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "absent", "warning", "failed"]
Group = Literal["installed", "machine", "data", "self-test"]


@dataclass(frozen=True)
class Finding:
    """What was found.

    Attributes
    ----------
    group : {"installed", "machine", "data", "self-test"}
        What kind of thing it is.
    name : str
        The thing.
    state : {"ok", "absent", "warning", "failed"}
        ``"absent"``: not there, and not needed. ``"warning"``: something beside the core will not
        work. ``"failed"``: the core does not work.
    told : str
        What there is.
    way_out : str
        What to do about it; empty where nothing needs to be done.
    seconds : float or None
        How long a test took.
    """

    group: Group
    name: str
    state: State
    told: str
    way_out: str = ""
    seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return asdict(self)
