"""How a measurement looks in a notebook: what it took, and for each device a bar of who used it."""

from __future__ import annotations

from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._measurement import DeviceEnergy, Measurement

#: The width of a bar in pixels, and its height.
_WIDTH, _HEIGHT = 320, 14
#: Who used the energy, and the colour of each part: of Okabe and Ito, for readers of any eyesight.
_PARTS = (("this program", "#0072b2"), ("unknown", "#56b4e9"), ("others", "#e69f00"), ("idle", "#bbbbbb"))


def of_measurement(measurement: Measurement) -> str:
    """The measurement as a piece of HTML that needs nothing else."""
    rows = "".join(_row(device) for device in measurement.devices)
    key = " ".join(f'<span style="color:{colour}">&#9632;</span> {name}' for name, colour in _PARTS)
    head = f"<b>{escape(measurement.name)}</b>: {escape(str(measurement))}, {measurement.seconds:.3g} s"
    table = f"<table>{rows}</table><small>{key} &middot; black: 95 % interval of this program</small>" if rows else ""
    return f"<div>{head}{table}</div>"


def _row(device: DeviceEnergy) -> str:
    cell = '<td style="text-align:left">'
    return f"<tr>{cell}{escape(device.device)}</td>{cell}{_bar(device)}</td>{cell}{escape(device.text())}</td></tr>"


def _bar(device: DeviceEnergy) -> str:
    """Who used the joules of a device, and an interval over the program's part."""
    # A GPU that does not say who uses it counts for the program.
    unknown = max(device.ours + device.unknown - device.joules, 0.0)
    used = (device.joules, unknown, device.others, device.idle)
    longest = max(device.whole, device.high) or 1.0
    x, pieces = 0.0, []
    for (name, colour), joules in zip(_PARTS, used):
        width = max(joules, 0.0) / longest * _WIDTH
        title = f"<title>{name}: {joules:.3g} J</title>"
        pieces.append(f'<rect x="{x:.1f}" width="{width:.1f}" height="{_HEIGHT}" fill="{colour}">{title}</rect>')
        x += width
    low, high = (end / longest * _WIDTH for end in (device.low, device.high))
    middle = _HEIGHT / 2
    whisker = f"M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8M{high:.1f} {middle - 4}v8"
    pieces.append(f'<path d="{whisker}" stroke="black" stroke-width="1.5" fill="none"/>')
    label = escape(f"{device.device}: {device.text()}", quote=True)
    return f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{label}">{"".join(pieces)}</svg>'
