"""Files of TensorFlow's profiler: when the first operation ran, and what we add to them.

A file is a protocol buffer, so that what is appended to it is a part of it. We append a plane of our own, which holds
what the profiler does not know: the layers that scopes belong to.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Optional

#: The plane that holds what is known about names.
PLANE = "/jouletree:names"

#: Larger files are not looked into.
_LARGEST = 64 << 20


def first_operation(path: str, since: int) -> Optional[int]:
    """When the first operation after `since` ran, in nanoseconds since 1970; ``None`` when there is none."""
    import os
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    if os.path.getsize(path) > _LARGEST:
        return None
    with open(path, "rb") as file:
        space = xplane_pb2.XSpace.FromString(file.read())
    base = next(filter(None, map(_base, space.planes)), None)
    # Before its first run XLA compiles a function, and old versions do not record when its instructions began.
    modules = any(_has(plane.stat_metadata, "Hlo Proto") for plane in space.planes)
    if base is None or (modules and not any(_has(plane.stat_metadata, "hlo_op") for plane in space.planes)):
        return None
    starts = [start for plane in space.planes for start in _first_starts(plane, since - base)]
    return min(starts) + base if starts else None


def _has(names: Any, name: str) -> bool:
    return any(about.name == name for about in names.values())


def _base(plane: Any) -> Optional[int]:
    """What the times of a file count from; our marker, which is the first event of its thread, says so."""
    markers = {key for key, about in plane.event_metadata.items() if about.name == "MARK"}
    walls = {key for key, about in plane.stat_metadata.items() if about.name == "wall_ns"}
    for line in plane.lines if markers else ():
        for event in line.events[:64]:
            wall = next((stat for stat in event.stats if stat.metadata_id in walls), None)
            if wall is not None and event.metadata_id in markers:
                at = line.timestamp_ns + event.offset_ps // 1000
                return int(wall.str_value or wall.int64_value or wall.uint64_value) - at
    return None


def _first_starts(plane: Any, since: int) -> Iterator[int]:
    """The start of the first operation in each thread that runs some, by the file's own clock.

    Where there are instructions of XLA they count: what runs before them does so before XLA has compiled the function.
    """
    compiled = {key for key, about in plane.stat_metadata.items() if about.name == "hlo_op"}
    operations = {
        key
        for key, about in plane.event_metadata.items()
        if about.display_name and about.name.endswith(":" + about.display_name)
    }
    for line in plane.lines:
        # The input pipeline runs ahead of the function.
        if line.name.startswith("tf_data"):
            continue
        for event in line.events:
            start = line.timestamp_ns + event.offset_ps // 1000
            if compiled:
                is_operation = any(stat.metadata_id in compiled for stat in event.stats)
            else:
                is_operation = event.metadata_id in operations
            if is_operation and start >= since:
                yield start
                break


def plane_of(names: Iterable[tuple[str, str]]) -> bytes:
    """A plane with pairs of texts, as an addition to a file: each pair is a name and what the viewer shows for it."""
    content = _field(2, PLANE.encode())
    for number, (name, shown) in enumerate(names, 1):
        about = _number(1, number) + _field(2, name.encode("utf-8", "replace"))
        about += _field(4, shown.encode("utf-8", "replace"))
        content += _field(4, _number(1, number) + _field(2, about))
    return _field(1, content)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
