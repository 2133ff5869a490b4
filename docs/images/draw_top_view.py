# SPDX-License-Identifier: Apache-2.0
"""Draws docs/images/platoon.png: the markers that RViz shows, seen from above, from a bag.

Run it with the output of a run; it needs ``pip install matplotlib``::

    cosim run config/platoon.yaml --shape inproc --out out/platoon
    python docs/images/draw_top_view.py out/platoon docs/images/platoon.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Polygon
from PIL import Image

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import StaticObjects
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.world.pictures import markers
from ros2_cosim.world.pictures.markers import Cone, MarkerBox, MarkerData, body_point
from ros2_cosim.world.pictures.road_markers import road_markers
from ros2_cosim.world.road import RoadNetwork

WIDE = (640.0, 1012.0, -21.0, 19.5)
CLOSE = (927.0, 1017.5, 3.2, 12.69)
STRIPS = ((0.0, WIDE), (11.0, WIDE), (20.7, CLOSE))  # time [s], part of the map [m]
GRASS = "#5d6b52"


def main(run: Path, picture: Path) -> None:
    """Draw one strip for each moment."""
    scenario = json.loads((run / "scenario.json").read_text(encoding="utf-8"))
    network = RoadNetwork.from_file(Path(scenario["base_directory"]) / scenario["scene"]["map"])
    road = road_markers(network)
    figure, strips = pyplot.subplots(len(STRIPS), 1, figsize=(14, 5.3), layout="constrained")
    for axes, (moment, frame) in zip(strips, STRIPS, strict=True):
        axes.set(xlim=frame[:2], ylim=frame[2:], aspect="equal", xticks=[], yticks=[])
        axes.set_facecolor(GRASS)
        axes.set_title(f"t = {moment:g} s", loc="left", fontsize=12)
        scene = _scene(scenario, run / "bag", int(moment * 1e9))
        # The barriers of a row lie so close that one label is enough.
        labels = [marker for marker in scene if marker.namespace == "obstacle labels"]
        for marker in [*road, *scene]:
            if marker not in labels[1:]:
                _draw(axes, marker)
    figure.savefig(picture, dpi=100)
    # Few colours, so that the file stays small.
    Image.open(picture).convert("RGB").quantize(256).save(picture, optimize=True)


def _scene(scenario: dict[str, Any], bag: Path, time_ns: int) -> list[MarkerData]:
    """The newest messages up to a moment, as the visualisation node draws them."""
    newest: dict[str, Any] = {}
    for message in read_bag(bag):
        if message.stamp > time_ns:
            break
        newest[message.topic] = CATALOGUE.codec(message.type_name).decode(message.data)[2]
    vehicles = scenario["scene"]["vehicles"]
    names = scenario["scene"]["platoon"]
    boxes = [MarkerBox(vehicles[name]["length"], vehicles[name]["width"], 1.5) for name in names]
    poses = [newest[f"/{name}/odometry"] for name in names]
    sensor = scenario["participants"]["sensor1"]["parameters"]
    cone = Cone(sensor["field_of_view"], sensor["detection_range"])
    scene = markers.obstacle_markers(newest.get("/static_objects", StaticObjects(())))
    for number, (name, pose, box) in enumerate(zip(names, poses, boxes, strict=True)):
        if f"/{name}/objects" in newest:
            seen = newest[f"/{name}/objects"]
            scene += markers.sensor_markers(number, pose, box, cone, seen)
        scene += markers.vehicle_markers(number, name, pose, box)
    return scene + markers.gap_markers(newest["/platoon_status"], poses, boxes)


def _draw(axes: Any, marker: MarkerData) -> None:
    flat = [point[:2] for point in marker.points]
    red, green, blue, opacity = marker.colour
    colour = (red, green, blue, opacity)
    if marker.shape == markers.TRIANGLES:
        triangles = [flat[i : i + 3] for i in range(0, len(flat), 3)]
        axes.add_collection(PolyCollection(triangles, facecolor=colour, edgecolor="none"))
    elif marker.shape == markers.LINE_LIST:
        pairs = [flat[i : i + 2] for i in range(0, len(flat), 2)]
        axes.add_collection(LineCollection(pairs, colors=[colour], linewidths=0.9))
    elif marker.shape == markers.LINE_STRIP:
        axes.add_collection(LineCollection([flat], colors=[colour], linewidths=0.9))
    elif marker.shape == markers.CUBE:
        axes.add_patch(Polygon(_outline(marker), facecolor=colour, edgecolor="none", zorder=3))
    elif "label" in marker.namespace:
        _write(axes, marker)


def _outline(marker: MarkerData) -> list[tuple[float, float]]:
    x, y, z = marker.position
    pose = markers.Odometry(x, y, z, *marker.orientation, *(0.0,) * 6)
    length, width = 0.5 * marker.scale[0], 0.5 * marker.scale[1]
    corners = ((length, width), (length, -width), (-length, -width), (-length, width))
    return [body_point(pose, a, b, 0.0)[:2] for a, b in corners]


def _write(axes: Any, marker: MarkerData) -> None:
    x, y, _ = marker.position
    offset = -20 if marker.namespace == "platoon gap labels" else 22
    if marker.text.startswith("obstacle"):
        offset = -34
    axes.annotate(
        marker.text, (x, y), (0, offset), textcoords="offset points", ha="center", color="white",
        va="center", fontsize=8, zorder=4, annotation_clip=True, linespacing=1.1,
    )  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
