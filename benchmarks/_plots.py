"""Rows as curves: which points go into which chart."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks._harness import Row, Skipped
from edgnn.report.draw import draw_growths


def draw_points(rows: Sequence[Row | Skipped], title: str) -> str:
    """Draw one chart per axis that rows have a place on, ours and the peer's; return nothing where none has."""
    charts: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        if not isinstance(row, Row):
            continue
        for axis, size in row.points.items():
            curves = charts.setdefault(axis, {})
            curves.setdefault(row.ours, []).append((size, row.ours_s))
            if row.peer_s is not None:
                curves.setdefault(row.peer, []).append((size, row.peer_s))
    return draw_growths(charts, title) if charts else ""
