# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The world participant: a CARLA scene in this process, or behind a DCP slave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.listening import Listening
from ros2_cosim.core.kernel.loading import refuse_missing_wing
from ros2_cosim.core.kernel.model import (
    Companion,
    FullModel,
    Needs,
    Port,
    Ports,
    Repeatability,
    Report,
    Traits,
)
from ros2_cosim.core.kernel.participant import Host, ModelContext, Step
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.message_types import (
    ACCELERATION,
    CAMERA_INFO,
    COLLISION,
    CONTROL,
    IMAGE,
    IMU,
    LASER_SCAN,
    LIGHT_AHEAD,
    NAV_SAT_FIX,
    ODOMETRY,
    POINT_CLOUD,
    RED_LIGHTS_PASSED,
    ROAD_USERS,
    STATIC_OBJECTS,
)
from ros2_cosim.core.scene.entities import ORDERS, EntityWorld, Offer, OrderQueue
from ros2_cosim.core.scene.named_simulator import (
    SimulatorContext,
    find_simulator,
    headless_options,
)
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.core.scene.sensors import sensor_frame
from ros2_cosim.core.scene.simulator import Simulator
from ros2_cosim.world.carla.entity_book import SceneEntities
from ros2_cosim.world.carla.inprocess_world import InProcessWorld, check_blueprints
from ros2_cosim.world.carla.parameters import SceneParameters
from ros2_cosim.world.carla.plant import (
    LIGHT,
    MEASURED,
    RED_LIGHTS,
    TRAFFIC,
    ScenePlant,
    SceneRun,
)
from ros2_cosim.world.carla.roster import Roster
from ros2_cosim.world.carla.scene import Scene, check_places
from ros2_cosim.world.carla.scene_settings import (
    WorldParameters,
    commanded_vehicles,
    scene_parameters,
    slave_name,
)
from ros2_cosim.world.headless.onlooker import WorldOnlooker
from ros2_cosim.world.map.scene import scene_road

if TYPE_CHECKING:
    from types import ModuleType

    from ros2_cosim.world.carla.dcp_world import CoupledWorld
    from ros2_cosim.world.carla.parameters import SensorSpec
    from ros2_cosim.world.carla.sensor_messages import SensorMessages


VEHICLES: Final = "vehicles"
"""The output with all vehicles of the scene in one message."""


class CarlaWorld(FullModel, EntityWorld):
    """Road, vehicles, objects and background traffic of the section ``scene``.

    In shape inproc the scene runs in this process; in the others it is a DCP slave, a process
    that is a client of a CARLA server, and this is its DCP master. The numbers are the same.

    Inputs, latched: ``control/<vehicle>`` (ControlCommand) of each vehicle without a driver;
    ``place/<name>`` of each vehicle or object that is ``placed``: each message puts it there, with
    that velocity, at the begin of the step that follows.
    Outputs: ``odometry/<vehicle>`` and ``acceleration/<vehicle>`` at each activation,
    ``vehicles`` with the state of all of them in one message, ``static_objects`` at the first
    one, ``collision`` for each contact that begins, ``traffic`` at each activation: background
    traffic, recorded road users, and vehicles of other clients of the simulator. With
    ``scene.traffic_lights`` also ``light/<vehicle>`` and ``red_lights``. Of each sensor of
    ``scene.sensors`` at multiples of its period ``fix/<sensor>``, ``imu/<sensor>``,
    ``points/<sensor>``, ``scan/<sensor>``, or ``image/<sensor>`` and ``camera_info/<sensor>``.

    :raises ConfigurationError: the scene is wrong, or the simulator does not have it
    :raises DcpError: the slave refused something, named with its state
    """

    Parameters = WorldParameters
    traits = Traits(cost_ns=500_000, changeable=(ORDERS,), exact_records=True)
    input_ports = (
        Port("control/{commanded}", CONTROL, description="of each vehicle without a driver"),
        Port("control/{absent}", CONTROL, required=False, description="not used"),
        Port("place/{placed}", ODOMETRY, description="of what scene says is placed"),
    )
    output_ports = (
        Port(
            "odometry/{vehicle}",
            ODOMETRY,
            required=False,
            description="of each vehicle that is there",
        ),
        Port(
            "acceleration/{vehicle}",
            ACCELERATION,
            required=False,
            description="of each vehicle that is there",
        ),
        Port(
            VEHICLES, ROAD_USERS, required=False, description="all vehicles that are there, at once"
        ),
        Port("static_objects", STATIC_OBJECTS, required=False, schedule="once"),
        Port("collision", COLLISION, required=False, schedule="sparse"),
        Port(
            "light/{lit}",
            LIGHT_AHEAD,
            required=False,
            description="of each vehicle that is there, the next traffic light; with "
            "scene.traffic_lights",
        ),
        Port(
            RED_LIGHTS,
            RED_LIGHTS_PASSED,
            required=False,
            description="lights passed at red so far; with scene.traffic_lights",
        ),
        Port(TRAFFIC, ROAD_USERS, required=False, description="vehicles without a participant"),
        Port("fix/{fix}", NAV_SAT_FIX, required=False, description="of each GNSS"),
        Port("imu/{imu}", IMU, required=False, description="of each IMU"),
        Port("points/{points}", POINT_CLOUD, required=False, description="of lidars and radars"),
        Port("scan/{scan}", LASER_SCAN, required=False, description="of planar lidars"),
        Port("image/{image}", IMAGE, required=False, description="of each camera"),
        Port("camera_info/{image}", CAMERA_INFO, required=False, description="of each camera"),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: WorldParameters
    ) -> Mapping[str, Sequence[str]]:
        """Vehicles of the scene that are there, those with commands, those that are left out."""
        scene = scene_parameters(context, parameters)
        present = [spec.name for spec in scene.present]
        carried: dict[str, list[str]] = {
            "fix": [],
            "imu": [],
            "points": [],
            "scan": [],
            "image": [],
        }
        for sensor in scene.present_sensors:
            for port in _messages_of(sensor).ports:
                carried.setdefault(port, []).append(sensor.name)
        return {
            **carried,
            "vehicle": present,
            "lit": scene.lit,
            "commanded": commanded_vehicles(scene),
            "placed": scene.placed,
            "absent": [
                spec.name
                for spec in scene.vehicles
                if spec.driver is None and spec.name not in present
            ],
        }

    @classmethod
    def declared_ports(cls, context: ModelContext, parameters: WorldParameters) -> Ports:
        """With schedule and frame of each sensor."""
        ports = super().declared_ports(context, parameters)
        sensors = scene_settings(context).sensors
        outputs = []
        for port in ports.outputs:
            kind, _, name = port.name.partition("/")
            if kind in _SENSOR_PORTS:
                every = sensors[name].period == context.period_ns
                port = replace(
                    port,
                    schedule="every" if every else "sparse",
                    frame_id=sensor_frame(name, sensors[name]),
                )
            outputs.append(port)
        return replace(ports, outputs=tuple(outputs))

    @classmethod
    def needs_beside(cls, context: ModelContext, parameters: WorldParameters) -> Needs:
        """The DCP slave and the simulator, in shapes with processes."""
        if parameters.dcp is None or context.shape == "inproc":
            return Needs()
        alone = "parameter 'dcp', which puts its plant behind a DCP slave"
        if not parameters.dcp.is_started:
            return Needs(alone=alone)
        slave = Companion(slave_name(context), node="carla_slave", address=("dcp",))
        return Needs((slave,), simulator=True, alone=alone)

    @classmethod
    def listens_at(
        cls, context: ModelContext, parameters: WorldParameters
    ) -> tuple[Listening, ...]:
        """Where data of its DCP slave arrive."""
        if context.shape == "inproc":
            return ()
        listening: tuple[Listening, ...] = _dcp_world().listening(parameters)
        return listening

    @classmethod
    def declared_repeatability(
        cls, context: ModelContext, parameters: WorldParameters
    ) -> Repeatability:
        """As far as the simulator; a slave with its own clock reads what has come by then."""
        dcp = parameters.dcp
        if context.shape != "inproc" and dcp is not None and dcp.depends_on_wall_clock:
            return Repeatability.NO
        if _is_carla(context):
            # Its renderer and its rays promise nothing, its physics nothing beyond one machine.
            sees = bool(scene_settings(context).sensors)
            return Repeatability.NO if sees else Repeatability.SAME_MACHINE
        named = find_simulator(context.simulator)
        return cls.traits.repeatable if named is None else named.kind.repeatable

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: WorldParameters) -> None:
        """Check whether the scene fits the road and its description; no simulator is asked.

        :raises ConfigurationError: it does not
        """
        scene = _scene(context, parameters)
        why = cls.offer(context, parameters).no_spawning
        if parameters.entities is not None and why:
            raise ConfigurationError(f"{context.where}.{ORDERS}: found orders; {why}")
        _sensor_messages(context, scene)
        if scene.map.opendrive:
            check_places(scene, scene_road(context))
        named = find_simulator(context.simulator)
        if named is not None:
            blueprints = {spec.name: spec.blueprint for spec in scene.vehicles}
            named.kind.check(simulator_context(context), named.options, blueprints)
            if scene.sensors and not named.kind.has_sensors:
                raise ConfigurationError(
                    f"scene.sensors: found {', '.join(s.name for s in scene.sensors)}; simulator "
                    f"{context.simulator['kind']} has no sensors, allowed are headless and carla"
                )
            if scene.recorded:
                raise ConfigurationError(
                    f"scene.recorded: found road users; simulator {context.simulator['kind']} "
                    "does not move them, allowed are headless and carla"
                )
            if scene.traffic_lights and not named.kind.has_lights:
                raise ConfigurationError(
                    f"scene.traffic_lights: found true; simulator {context.simulator['kind']} does "
                    "not report the map's traffic lights, allowed are headless and carla"
                )
        elif context.shape == "inproc" or _is_headless(context):
            check_blueprints(scene)
        if context.shape != "inproc":
            _dcp_world().check_slave(context, parameters, scene)

    def __init__(self, context: ModelContext, parameters: WorldParameters) -> None:
        scene = _scene(context, parameters)
        self._messages = _sensor_messages(context, scene)
        told = [f"{LIGHT}{name}" for name in scene.lit] + [RED_LIGHTS] * scene.traffic_lights
        told += [f"{kind}/{v.name}" for v in scene.present for kind in ("odometry", "acceleration")]
        told += ["static_objects", "collision"]
        #: What the scene tells and the scenario has no port for.
        self._unheard = [port for port in told if port not in context.output_types]
        self._roster = None
        if VEHICLES in context.output_types:
            self._roster = Roster(context, [spec.name for spec in scene.present])
        self._plant: ScenePlant | CoupledWorld
        self._step_ns = scene.step_ns
        #: Where the headless server of the run is; None: it has none.
        self._server: tuple[str, int] | None = None
        if self.needs_beside(context, parameters).simulator and _is_headless(context):
            self._server = context.simulator["host"], context.simulator["port"]
        self._coupled: CoupledWorld | None = None
        self._orders = OrderQueue()
        self._orders.take(parameters.entities)
        self._given = parameters.entities
        self._is_ordered = False
        self._takes_orders = scene.reports_traffic
        self._book = SceneEntities(context, scene, self._orders)
        self._make_scene = partial(_plant_here, context, scene)
        if context.shape == "inproc":
            self._plant = self._make_scene()
        else:
            self._plant = self._coupled = _dcp_world().coupled_world(context, parameters, scene)
            # Now, and not at the first activation: building the world may take its time.
            self._coupled.begin()

    def attach(self, host: Host) -> None:
        """In a run that is profiled, the exchange with slaves is noted."""
        if self._coupled is not None:
            self._coupled.watch(host.watch)
            # Orders about entities are for the next step, and come until it is begun.
            self._coupled.ahead = None if self._takes_orders else host.ahead

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Advance to the activation time and report the state."""
        if step.time > 0:
            commands = self._orders.due()
            if commands or self._is_ordered:
                self._book.ordered()
                self._plant.order(commands)
            self._is_ordered = bool(commands)
        outputs = dict(self._plant.activate(step))
        self._book.seen(step.time, dict(outputs))
        if self._roster is not None:
            outputs[VEHICLES] = self._roster.of(outputs)
        for port in self._unheard:
            outputs.pop(port, None)
        if not self._messages:
            return outputs
        sent = {}
        for port, value in outputs.items():
            if port.startswith(MEASURED):
                name = port.removeprefix(MEASURED)
                for kind, message in self._messages[name].convert(value).items():
                    sent[f"{kind}/{name}"] = message
            else:
                sent[port] = value
        return sent

    def change_parameters(self, parameters: WorldParameters) -> None:
        """Take what is to be done to entities."""
        self._orders.take(parameters.entities)

    @classmethod
    def offer(cls, context: ModelContext, parameters: WorldParameters) -> Offer:
        """The map; vehicles are spawned where they are reported to all that look at traffic."""
        why = ""
        named = find_simulator(context.simulator)
        if TRAFFIC not in context.output_types:
            why = f"the participant '{context.name}' has no output {TRAFFIC} for sensors to see"
        elif named is not None and not named.kind.has_spawning:
            why = f"simulator {context.simulator['kind']} spawns none while it runs"
        return Offer(context.name, scene_settings(context).map, why, context.start_ns)

    def entity_book(self) -> SceneEntities:
        """The vehicles and objects of the scene."""
        return self._book

    def onlooker(self) -> WorldOnlooker | None:
        """Shows the headless world of this process; None of a simulator elsewhere."""
        return self._plant.onlooker() if isinstance(self._plant, ScenePlant) else None

    def save_state(self) -> Any:
        """The scene, its vehicles and what drives them."""
        from ros2_cosim.world.carla.saved_scene import SCENE_STATE  # with all sensors

        assert isinstance(self._plant, ScenePlant), "only a world in this process has a state"
        return {"vehicles": self._plant.vehicles(), "scene": SCENE_STATE.save(self)}

    @property
    def unsaved(self) -> str | None:
        """A simulator elsewhere cannot be put back."""
        return None if isinstance(self._plant, ScenePlant) else ""

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave.

        :raises CosimError: it is something else
        """
        from ros2_cosim.world.carla.saved_scene import SCENE_STATE

        assert isinstance(self._plant, ScenePlant), "only a world in this process has a state"
        self._plant.complete(state["vehicles"])
        SCENE_STATE.restore(self, state["scene"])

    def finish(self) -> None:
        """The last step is done: the slave dismantles its scene."""
        self._plant.finish()

    def report(self) -> Report:
        """What the network did to the data, on UDP; and what others changed in the simulator."""
        report = self._plant.report()
        changes = []
        if self._server is not None:
            from ros2_cosim.world.headless.server_wire import outside_changes

            changes = outside_changes(*self._server)
        if not changes:
            return report
        first = changes[0]
        return report._replace(
            not_repeatable=(
                first.frame * self._step_ns,
                f"another program changed the simulator: {first.method} by {first.by}",
            ),
            changes=[
                {
                    "time_s": change.frame * self._step_ns / SECOND,
                    "set": f"simulator.{change.method}",
                    "to": f"calls: {change.calls}",
                    "by": f"RPC of the simulator: {change.by}",
                }
                for change in changes
            ],
        )

    def reset(self) -> None:
        """Build the scene again, for another run; the slave stays connected.

        :raises DcpError: the slave refused something, failed or was lost
        """
        self._orders = OrderQueue()
        self._orders.take(self._given)
        self._is_ordered = False
        self._book.begin(self._orders)
        if self._coupled is None:
            self._plant.close()
            self._plant = self._make_scene()
        else:
            self._coupled.reset()
            self._coupled.begin()

    def close(self) -> None:
        """Release the simulator, or the slave as far as it still answers."""
        self._plant.close()


def _dcp_world() -> ModuleType:
    """What makes the world a DCP master; shape inproc does without the wing."""
    try:
        from ros2_cosim.world.carla import dcp_world
    except ModuleNotFoundError as error:
        refuse_missing_wing(error, "the world behind a DCP slave")
        raise
    return dcp_world


def _is_headless(context: ModelContext) -> bool:
    return context.simulator.get("kind") == "headless"


_SENSOR_PORTS = frozenset(("fix", "imu", "points", "scan", "image", "camera_info"))


def _messages_of(sensor: SensorSpec) -> type[SensorMessages]:
    from ros2_cosim.world.carla.sensor_messages import messages_of  # with numpy, see the hub

    return messages_of(sensor.blueprint, sensor.form)


def _sensor_messages(context: ModelContext, scene: SceneParameters) -> dict[str, SensorMessages]:
    """What makes the messages of each sensor.

    :raises ConfigurationError: a sensor has no output, or cannot give what is wanted of it
    """
    makers = {}
    for sensor in scene.present_sensors:
        kind = _messages_of(sensor)
        wanted = [p for p in kind.ports if f"{p}/{sensor.name}" in context.output_types]
        if not wanted:
            ports = " or ".join(f"{port}/{sensor.name}" for port in kind.ports)
            raise ConfigurationError(
                f"scene.sensors.{sensor.name}: found a sensor whose messages are not sent; allowed "
                f"is an output {ports} of participant '{context.name}'"
            )
        makers[sensor.name] = kind(sensor, wanted)
    return makers


def _is_carla(context: ModelContext) -> bool:
    """Whether the simulator is CARLA itself; shape inproc has the headless world in its place."""
    return context.shape != "inproc" and context.simulator.get("kind") == "carla"


def _plant_here(context: ModelContext, scene: SceneParameters) -> ScenePlant:
    run = SceneRun(Scene(_simulator_here(context), scene))
    return ScenePlant(run, commanded_vehicles(scene), scene.placed)


def _simulator_here(context: ModelContext) -> Simulator:
    """The simulator of shape inproc; CARLA is stood in for by the model of the headless server."""
    named = find_simulator(context.simulator)
    if named is not None:
        return named.make(simulator_context(context))
    return InProcessWorld(options=headless_options(context.simulator))


def simulator_context(context: ModelContext) -> SimulatorContext:
    """What a simulator that the scenario names receives, from the context of the world."""
    return SimulatorContext(context.base_directory, context.run_seed)


def _scene(context: ModelContext, parameters: WorldParameters) -> SceneParameters:
    """The scene, with all that is known about it without a simulator.

    :raises ConfigurationError: it is wrong, or there is no DCP slave where one is needed
    """
    scene = scene_parameters(context, parameters)
    if context.shape == "inproc":
        scene_road(context)  # this process needs the map as a file
    elif parameters.dcp is None:
        raise ConfigurationError(
            f"{context.where}.dcp: missing; in shape {context.shape} the world is a DCP slave, "
            "allowed is dcp: {transport: tcp, port: 0}"
        )
    return scene
