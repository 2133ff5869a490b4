# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The parts of a file that no reader has taken: each has no meaning here, has no effect, or is
refused.
"""

from __future__ import annotations

from typing import Final

from ros2_cosim.driving.openscenario.document import Element, Findings

#: Elements and attributes (``@``) that do not concern the simulation: names and origins of
#: things, their appearance; heights, as everything is on the road; axles behind the first two;
#: what takes part in no action.
_SAYS_NOTHING: Final = {
    "@model", "@model3d", "@name", "@parameterType", "@role", "@variableType",
    "@dz", "@z", "@followingMode",
    "AdditionalAxle", "CatalogLocations", "License", "Properties", "SceneGraphFile",
    "TrailerCoupler", "TrailerHitch", "TrajectoryFollowingMode", "UsedArea",
    "@positionZ", "RearAxle@maxSteering", "RearAxle@trackWidth", "RearAxle@wheelDiameter",
    "Pedestrian@pedestrianCategory", "MiscObject@miscObjectCategory",
    "Pedestrian@mass", "MiscObject@mass",
}  # fmt: skip
#: What has no effect, and why; a zero of a number says nothing.
_WITHOUT_EFFECT: Final = {
    "@p": "everything stands upright on the road",
    "@r": "everything stands upright on the road",
    "MonitorDeclarations": "nothing sets or reads monitors",
    "TrafficSignals": "traffic lights are those of the map",
}


def refuse_unread(element: Element, findings: Findings) -> None:
    """Add what no reader has taken here and below: faults, or notes of what has no effect."""
    for found, attribute in element.unread():
        names = {found.tag} if attribute is None else {f"{found.tag}@{attribute}", f"@{attribute}"}
        if names & _SAYS_NOTHING:
            continue
        reason = next((_WITHOUT_EFFECT[name] for name in names if name in _WITHOUT_EFFECT), None)
        if attribute is None:
            if reason is not None:
                findings.notes.append(f"{found.place}: has no effect: {reason}")
            else:
                findings.faults.append(str(found.error("not supported here")))
        elif reason is None:
            findings.faults.append(str(found.error(f"{attribute}: not supported")))
        else:
            with findings.collected(found):
                if found.number(attribute):
                    findings.notes.append(f"{found.place}: {attribute} has no effect: {reason}")
