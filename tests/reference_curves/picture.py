"""A curve as a small SVG: a line per component, a dot per key, grey lines for zero and the end keys."""

from __future__ import annotations

from .curves import default_of, sample_times
from .slow import SlowTrack, evaluate, usable_keys

WIDTH, HEIGHT, MARGIN = 420, 200, 14
COLOURS = ("#c0392b", "#27803b", "#2457a8", "#444444")
POINTS = 140


def svg(name: str, track: SlowTrack) -> str:
    """The picture as text."""
    default = default_of(track)
    known = sample_times(track, 2)
    low, high = known[0], known[-1]
    times = [low + (high - low) * i / (POINTS - 1) for i in range(POINTS)]
    values = [evaluate(track, t, default) for t in times]
    keys = usable_keys(track)
    shown = [*values, *(evaluate(track, key.time, default) for key in keys)]
    bottom = min(min(row) for row in shown)
    top = max(max(row) for row in shown)
    room = (top - bottom) or 1.0

    def x(t: float) -> float:
        return MARGIN + (t - low) / (high - low) * (WIDTH - 2 * MARGIN)

    def y(v: float) -> float:
        return HEIGHT - MARGIN - (v - bottom) / room * (HEIGHT - 2 * MARGIN)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-size="10">',
        f"<title>{name}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    if bottom < 0 < top:
        parts.append(f'<path d="M0 {y(0):.1f}H{WIDTH}" stroke="#ddd"/>')
    for t in sorted({keys[0].time, keys[-1].time} if keys else set()):
        parts.append(f'<path d="M{x(t):.1f} 0V{HEIGHT}" stroke="#ddd"/>')
    for component in range(len(values[0])):
        line = " ".join(f"{x(t):.1f},{y(row[component]):.1f}" for t, row in zip(times, values, strict=True))
        parts.append(f'<polyline fill="none" stroke="{COLOURS[component]}" points="{line}"/>')
    for key in keys:
        for component, value in enumerate(evaluate(track, key.time, default)):
            where = f'cx="{x(key.time):.1f}" cy="{y(value):.1f}"'
            parts.append(f'<circle {where} r="2.2" fill="{COLOURS[component]}"/>')
    parts += [f'<text x="4" y="11">{name}</text>', "</svg>"]
    return "\n".join(parts) + "\n"
