# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Small OpenSCENARIO files: two cars on the straight begin of the highway, and a story of them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HIGHWAY = ROOT / "config" / "highway.xodr"

_CAR = """<Vehicle name="car" vehicleCategory="car"><BoundingBox><Center x="1.4" y="0" z="0.8"/>
<Dimensions width="2.0" length="4.8" height="1.5"/></BoundingBox></Vehicle>"""


def private(action: str) -> str:
    """An action of an entity."""
    return f"<PrivateAction>{action}</PrivateAction>"


def teleport(position: str) -> str:
    """An entity's start."""
    return private(f"<TeleportAction><Position>{position}</Position></TeleportAction>")


def speed(target: str, dynamics: str = 'dynamicsShape="step" value="0"') -> str:
    """A SpeedAction; a plain number is an absolute target."""
    if not target.startswith("<"):
        target = f'<AbsoluteTargetSpeed value="{target}"/>'
    return private(
        f"<LongitudinalAction><SpeedAction><SpeedActionDynamics {_in_time(dynamics)}/>"
        f"<SpeedActionTarget>{target}</SpeedActionTarget></SpeedAction></LongitudinalAction>"
    )


def lane_change(target: str, dynamics: str = 'dynamicsShape="sinusoidal" value="4"') -> str:
    """A LaneChangeAction."""
    return private(
        "<LateralAction><LaneChangeAction>"
        f"<LaneChangeActionDynamics {_in_time(dynamics)}/>"
        f"<LaneChangeTarget>{target}</LaneChangeTarget></LaneChangeAction></LateralAction>"
    )


def _in_time(dynamics: str) -> str:
    return dynamics if "Dimension" in dynamics else f'{dynamics} dynamicsDimension="time"'


def by_value(kind: str, edge: str = "none", delay: float = 0.0) -> str:
    """A trigger of one condition of time or state."""
    return _trigger(f"<ByValueCondition>{kind}</ByValueCondition>", edge, delay)


def at(seconds: float) -> str:
    """A trigger at a time."""
    return by_value(f'<SimulationTimeCondition value="{seconds}" rule="greaterOrEqual"/>')


def by_entity(
    kind: str, name: str = "A", edge: str = "none", delay: float = 0.0, rule: str = "any"
) -> str:
    """A trigger of one condition of vehicles."""
    return _trigger(
        f'<ByEntityCondition><TriggeringEntities triggeringEntitiesRule="{rule}">'
        f'<EntityRef entityRef="{name}"/></TriggeringEntities>'
        f"<EntityCondition>{kind}</EntityCondition></ByEntityCondition>",
        edge,
        delay,
    )


def _trigger(content: str, edge: str, delay: float) -> str:
    return (
        f'<ConditionGroup><Condition name="c" delay="{delay}" conditionEdge="{edge}">'
        f"{content}</Condition></ConditionGroup>"
    )


def event(name: str, action: str, start: str, priority: str = "parallel", times: int = 1) -> str:
    """An event of one action."""
    return (
        f'<Event name="{name}" priority="{priority}" maximumExecutionCount="{times}">'
        f'<Action name="{name} action">{action}</Action>'
        f"<StartTrigger>{start}</StartTrigger></Event>"
    )


def group(events: str, actor: str = "A") -> str:
    """A group of one manoeuvre."""
    return (
        f'<ManeuverGroup name="group of {actor}" maximumExecutionCount="1">'
        f'<Actors selectTriggeringEntities="false"><EntityRef entityRef="{actor}"/></Actors>'
        f'<Maneuver name="manoeuvre of {actor}">{events}</Maneuver></ManeuverGroup>'
    )


def document(
    groups: str = "",
    stop: str = "",
    *,
    start_a: str = '<LanePosition roadId="1" laneId="-2" s="100"/>',
    start_b: str = '<LanePosition roadId="1" laneId="-1" s="150"/>',
    init: str = "",
    parameters: str = "",
    entities: str = "",
    catalogues: str = "",
    road: str = str(HIGHWAY),
) -> str:
    """A file with cars A (20 m/s) and B (15 m/s); ``stop`` is by default at 10 s."""
    return f"""<?xml version="1.0"?>
<OpenSCENARIO><FileHeader revMajor="1" revMinor="2" date="2026-01-01T00:00:00" description="d"
 author="a"/>
<ParameterDeclarations>{parameters}</ParameterDeclarations>
<CatalogLocations>{catalogues}</CatalogLocations>
<RoadNetwork><LogicFile filepath="{road}"/></RoadNetwork>
<Entities><ScenarioObject name="A">{_CAR}</ScenarioObject>
<ScenarioObject name="B">{_CAR}</ScenarioObject>{entities}</Entities>
<Storyboard><Init><Actions>
<Private entityRef="A">{teleport(start_a)}{speed("20")}</Private>
<Private entityRef="B">{teleport(start_b)}{speed("15")}</Private>
{init}</Actions></Init>
<Story name="story"><Act name="act">{groups}
<StartTrigger>{at(0.0)}</StartTrigger></Act></Story>
<StopTrigger>{stop or at(10.0)}</StopTrigger></Storyboard></OpenSCENARIO>"""


def written(directory: Path, text: str, name: str = "file.xosc") -> Path:
    """The file of a text."""
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path
