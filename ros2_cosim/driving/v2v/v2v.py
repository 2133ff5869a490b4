# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A V2V channel: beacons from vehicle to vehicle, some of them lost.

The latency of a link is declared on its output port and applied by the kernel, so that
receivers know how far they may look ahead; this model decides only what is sent and what
is lost. A lost beacon is silence on the port.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Strict

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import total
from ros2_cosim.core.kernel.model import FullModel, Port, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import ACCELERATION, BYTES, CONTROL, ODOMETRY, V2V
from ros2_cosim.core.messages.records import V2VMessage
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.v2v.air import Air
from ros2_cosim.driving.v2v.beacons import Sender
from ros2_cosim.driving.v2v.cam import check_installation, decoded, encoded
from ros2_cosim.driving.v2v.cam_contents import CamPlace, CamWriter, PathHistory
from ros2_cosim.driving.v2v.cam_triggering import T_GEN_CAM_MIN_NS, CamTriggering, dcc_interval
from ros2_cosim.driving.v2v.congestion import (
    SHORTEST_NS,
    WINDOW_NS,
    AdaptiveControl,
    SaturatedStations,
)
from ros2_cosim.driving.v2v.contention import Attempt, RadioFrame
from ros2_cosim.driving.v2v.denm import Denm
from ros2_cosim.driving.v2v.denm_service import DenmSender, DenmSettings
from ros2_cosim.driving.v2v.events import MANOEUVRE, EventMessages
from ros2_cosim.driving.v2v.packet_loss import (
    BernoulliLoss,
    GilbertElliottLoss,
    Loss,
    PacketLoss,
    make_loss,
)
from ros2_cosim.driving.v2v.radio import Radio, RadioSettings, SharedChannel
from ros2_cosim.world.map.earth import MapOrigin
from ros2_cosim.world.map.scene import scene_vehicles
from ros2_cosim.world.map.vehicle_info import VehicleInfo


def link_port(sender: str, receiver: str) -> str:
    """Return the name of the output port of a link."""
    return f"{sender}_to_{receiver}"


class ChannelParameters(Section):
    """Parameters of a V2V channel."""

    links: tuple[Annotated[tuple[str, str], Field(description="[sender, receiver]")], ...] = Field(
        default=(), description="pairs [sender, receiver] of vehicles"
    )
    loss: Loss = Field(
        default=0.0,
        description="probability of each packet, or of bursts (Gilbert and Elliott); each link has "
        "its own state",
    )
    contents: Literal["beacon", "cam"] = Field(
        default="beacon",
        description="what a vehicle sends: all that a V2V message has, or a CAM of ETSI EN "
        "302 637-2 in bytes, of which a receiver gets what a CAM can say; needs the extra v2x",
    )
    origin: MapOrigin = Field(
        default=MapOrigin(), description="where the map lies on the earth, with contents cam"
    )
    triggering: Literal["periodic", "cam"] = Field(
        default="periodic",
        description="when a vehicle sends: at each activation, or at those that ETSI EN 302 637-2 "
        "asks for (motion, at most every 0.1 s, at least every second)",
    )
    radio: RadioSettings | None = Field(
        default=None,
        description="range, fading and a channel that all share; default: only loss decides",
    )
    congestion_control: Annotated[bool, Strict()] | Literal["reactive", "adaptive"] = Field(
        default=False,
        description="whether a busy channel stretches the interval of CAMs (ETSI TS 102 687, "
        "reactive, as true, or adaptive); needs radio and triggering cam",
    )
    denm: DenmSettings | None = Field(
        default=None,
        description="vehicles warn of their hard braking (ETSI EN 302 637-3); needs the extra v2x; "
        "default: they do not",
    )


class V2VChannel(FullModel):
    """All links between vehicles, to be activated at the beacon period.

    Inputs, all latched, for each sender: ``odometry/<sender>``, ``acceleration/<sender>``,
    and ``control/<sender>`` if it is driven by a controller node (delayed, or a loop without
    delay arises). Outputs: ``<sender>_to_<receiver>`` (V2VMessage) for each link; silent while
    the sender's odometry is missing and when the beacon is lost.

    Without a control command the measured acceleration stands for the commanded one.

    With ``radio`` a beacon also has to get through the air: the distance to the receiver decides,
    fading, and what others send at the same time. The odometry of all receivers is needed then.

    With ``contents: cam`` a vehicle sends a CAM: what a receiver gets is what its bytes say, the
    radio's frames have their length, and the outputs ``cam/<sender>``, if the scenario has them,
    are the bytes (UInt8MultiArray).

    Outputs ``denm/<link>``, with ``denm``, are the bytes of DENMs that arrive, and
    ``manoeuvre/<link>`` what came in at ``manoeuvre/<sender>`` (UInt8MultiArray, delayed) since the
    last activation. Loss and radio treat both as beacons; DENMs go first, and congestion control
    holds neither back.

    With ``triggering: cam`` a vehicle sends, on all its links at once, when its motion asks for it;
    it is activated at least every 100 ms for that.

    :raises ConfigurationError: unknown vehicle, a link twice or to its sender, a period too long
    """

    Parameters = ChannelParameters
    traits: ClassVar[Traits] = Traits(cost_ns=50_000, exact_records=True)

    input_ports: ClassVar[tuple[Port, ...]] = (
        Port("odometry/{sender}", ODOMETRY),
        Port("acceleration/{sender}", ACCELERATION),
        Port("control/{sender}", CONTROL, required=False, description="delayed"),
        Port("odometry/{other}", ODOMETRY, required=False, description="with radio: of a receiver"),
        Port("acceleration/{other}", ACCELERATION, required=False, description="not used"),
        Port("control/{other}", CONTROL, required=False, description="not used"),
        Port("manoeuvre/{sender}", BYTES, required=False, description="delayed: what it says"),
    )
    output_ports: ClassVar[tuple[Port, ...]] = (
        Port("{link}", V2V, schedule="sparse", description="sender_to_receiver"),
        Port(
            "cam/{encoder}",
            BYTES,
            required=False,
            schedule="sparse",
            description="with contents cam: the bytes of each CAM of a sender",
        ),
        Port(
            "denm/{link}",
            BYTES,
            required=False,
            schedule="sparse",
            description="with denm: those of the sender that arrive",
        ),
        Port(
            "manoeuvre/{link}",
            BYTES,
            required=False,
            schedule="sparse",
            description="what the sender says and arrives",
        ),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: ChannelParameters
    ) -> Mapping[str, Sequence[str]]:
        """Senders of the links, the other vehicles, the links, and senders of encoded CAMs."""
        cls.check_settings(context, parameters)
        senders = tuple(dict.fromkeys(sender for sender, _ in parameters.links))
        others = tuple(name for name in scene_settings(context).vehicles if name not in senders)
        links = tuple(link_port(*link) for link in parameters.links)
        encoders = senders if parameters.contents == "cam" else ()
        return {"sender": senders, "other": others, "link": links, "encoder": encoders}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: ChannelParameters) -> None:
        """Check whether each link is one, between two vehicles of the scene.

        :raises ConfigurationError: one is not
        """
        period = context.period_ns
        if parameters.triggering == "cam" and period is not None and period > T_GEN_CAM_MIN_NS:
            raise ConfigurationError(
                f"{context.where}.triggering: found 'cam' with period {format_ns(period)}; allowed "
                f"are periods up to {format_ns(T_GEN_CAM_MIN_NS)}"
            )
        if parameters.congestion_control and (
            parameters.radio is None or parameters.triggering != "cam"
        ):
            raise ConfigurationError(
                f"{context.where}.congestion_control: found without radio or triggering cam; "
                "allowed is to give both"
            )
        if period is not None:
            _check_period(context.where, parameters, period)
        if parameters.radio is not None and period is None:
            raise ConfigurationError(
                f"{context.where}.radio: found without a period of the participant; allowed is one"
            )
        if parameters.contents == "cam":
            check_installation(f"{context.where}.contents: cam")
        if parameters.denm is not None:
            check_installation(f"{context.where}.denm")
        scene = scene_settings(context)
        scene_vehicles(context)
        ports: set[str] = set()
        for number, link in enumerate(parameters.links):
            where = f"{context.where}.links.{number}"
            for vehicle in link:
                scene.require_vehicle(vehicle, where)
            sender, receiver = link
            port = link_port(sender, receiver)
            if sender == receiver or port in ports:
                raise ConfigurationError(
                    f"{where}: found link '{sender}' to '{receiver}'"
                    f" {'twice' if port in ports else 'to itself'}; allowed is each pair of two"
                    " vehicles once"
                )
            ports.add(port)
            heard_at = f"odometry/{receiver}"
            if parameters.radio and context.input_types and heard_at not in context.input_types:
                raise ConfigurationError(
                    f"{where}: found no input {heard_at}; allowed is to connect it: the radio "
                    "needs the place of the receiver"
                )

    def __init__(self, context: ModelContext, parameters: ChannelParameters) -> None:
        self.check_settings(context, parameters)
        vehicles = scene_vehicles(context)
        self._senders = {sender: Sender(sender, vehicles[sender]) for sender, _ in parameters.links}
        self._links: list[tuple[str, str, PacketLoss]] = []
        for sender, receiver in parameters.links:
            stream = RandomStream(context.run_seed, context.name, f"loss/{sender}/{receiver}")
            loss = make_loss(parameters.loss, stream)
            self._links.append((sender, link_port(sender, receiver), loss))
        self._triggering: dict[str, CamTriggering] = {}
        if parameters.triggering == "cam":
            self._triggering = {sender: CamTriggering() for sender in self._senders}
        self._reacts = parameters.congestion_control in (True, "reactive")
        self._controls: dict[str, AdaptiveControl] = {}
        if parameters.congestion_control == "adaptive":
            assert context.period_ns is not None
            self._controls = {s: AdaptiveControl(context.period_ns) for s in self._senders}
        infos = {sender: vehicles[sender] for sender in self._senders}
        self._cams: _Cams | None = None
        if parameters.contents == "cam":
            self._cams = _Cams(parameters.origin, infos, context.output_types)
        self._vehicles = tuple(vehicles)
        self._places = frozenset(context.output_types)
        self._air: Air | None = None
        if parameters.radio is not None:
            self._air = Air(context, parameters.radio, parameters.links)
        self._events: EventMessages | None = None
        if parameters.denm is not None or any(p.startswith(MANOEUVRE) for p in context.input_types):
            self._events = EventMessages(context, parameters.denm, parameters.origin, infos)
        #: Beacons that never arrive, so far, and those that do.
        self.lost: int = 0
        self.received: int = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send one beacon on each link whose sender is due."""
        time, latest = step.time, step.latest
        messages: dict[str, V2VMessage] = {}
        for name, vehicle in self._senders.items():
            if not self._triggering or self._is_due(step, name, vehicle):
                beacon = vehicle.beacon(time, latest)
                if beacon is not None:
                    messages[name] = beacon
        outputs: dict[str, Any] = {}
        sizes: Mapping[str, int | None] = dict.fromkeys(messages)
        if self._cams is not None:
            messages, sizes = self._cams.encode(step, messages, outputs)
        events = [] if self._events is None else self._events.due(step)
        if self._air is not None:
            self._air.begin(step, self._vehicles, sizes, events)
            for sender, control in self._controls.items():
                control.hear(self._air.channel.busy[sender])
                if sender in messages:
                    control.sent(self._air.lengths[sender])
        for number, event in enumerate(events):
            for index, (sender, port, loss) in enumerate(self._links):
                if event.sender == sender:
                    lost = loss.next_is_lost()
                    if self._air is not None and not self._air.carries(index, number):
                        lost = True
                    place = f"{event.kind}/{port}"
                    if not lost and place in self._places:
                        outputs[place] = DEFAULT.record(BYTES)(data=event.data)
        for index, (sender, port, loss) in enumerate(self._links):
            message = messages.get(sender)
            if message is None:
                continue
            lost = loss.next_is_lost()
            if self._air is not None and not self._air.carries(index):
                lost = True
            if lost:
                self.lost += 1
            else:
                self.received += 1
                outputs[port] = message
        return outputs

    def report(self) -> Report:
        """With a radio or CAMs: beacons that arrived and that did not; how busy, and how long."""
        figures: dict[str, Any] = {}
        if self._air is not None or self._cams is not None:
            figures = {"received": self.received, "lost": self.lost}
        if self._air is not None:
            figures["busy_ratio"] = self._air.mean_busy
        if self._controls:
            shares = [control.delta for control in self._controls.values()]
            figures["duty_cycle"] = total(shares) / len(shares)
        if self._air is not None and self._air.channel.saturated is not None:
            figures["others_duty_cycle"] = self._air.channel.saturated.control.delta
        if self._events is not None:
            figures |= self._events.figures
        if self._cams is not None:
            figures |= {"cams": self._cams.count, "cam_bytes": self._cams.mean_bytes}
        return Report(figures=figures)

    def save_state(self) -> Any:
        """Beacons that were lost, and the state of each link."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)

    def _is_due(self, step: Step, name: str, sender: Sender) -> bool:
        """Whether the motion of a vehicle asks for a beacon."""
        triggering = self._triggering.get(name)
        odometry = step.latest[sender.odometry]
        if triggering is None or odometry is None:
            return True
        least = T_GEN_CAM_MIN_NS
        if self._reacts and self._air is not None:
            least = dcc_interval(self._air.channel.busy[name])
        elif self._controls:
            least = max(least, self._controls[name].interval)
        return triggering.is_due(step.time, odometry.value, least)


class _Cams:
    """What vehicles say in encoded CAMs."""

    def __init__(
        self, origin: MapOrigin, senders: Mapping[str, VehicleInfo], ports: Container[str]
    ) -> None:
        self._writers = {sender: CamWriter(info, origin) for sender, info in senders.items()}
        self._place = CamPlace(origin)
        self._ports = {s: f"cam/{s}" for s in senders if f"cam/{s}" in ports}
        #: CAMs so far, and their bytes.
        self.count = self._bytes = 0

    @property
    def mean_bytes(self) -> float:
        """Length of a CAM, the mean of all [byte]."""
        return self._bytes / self.count if self.count else 0.0

    def encode(
        self, step: Step, beacons: Mapping[str, V2VMessage], outputs: dict[str, Any]
    ) -> tuple[dict[str, V2VMessage], dict[str, int | None]]:
        """What receivers get instead of the beacons, and the bytes of each CAM.

        :param outputs: of the channel; the bytes that the scenario asks for are added
        """
        found: dict[str, V2VMessage] = {}
        sizes: dict[str, int | None] = {}
        for sender, beacon in beacons.items():
            odometry = step.latest[f"odometry/{sender}"]
            assert odometry is not None
            cam = self._writers[sender].cam(
                step.time, odometry.value, beacon.acceleration, beacon.braking
            )
            data = encoded(cam)
            said = decoded(data)
            message = None if said is None else self._place.beacon(said, step.time)
            assert message is not None  # a CamWriter gives place, heading and speed
            found[sender] = message
            sizes[sender] = len(data)
            self.count += 1
            self._bytes += len(data)
            port = self._ports.get(sender)
            if port is not None:
                outputs[port] = DEFAULT.record(BYTES)(data=data)
        return found, sizes


def _check_period(where: str, parameters: ChannelParameters, period: int) -> None:
    """Check whether adaptive congestion control can measure with a period [ns].

    :raises ConfigurationError: it cannot
    """
    radio = parameters.radio
    saturated = radio is not None and radio.others_rate == "saturated"
    if (parameters.congestion_control == "adaptive" or saturated) and WINDOW_NS % period:
        raise ConfigurationError(
            f"{where}: found period {format_ns(period)} with adaptive congestion control; allowed "
            f"are whole parts of {format_ns(WINDOW_NS)}"
        )
    if saturated and period > SHORTEST_NS:
        raise ConfigurationError(
            f"{where}.radio.others_rate: found saturated with period {format_ns(period)}; allowed "
            f"are periods up to {format_ns(SHORTEST_NS)}"
        )


_STATE = SavedAttributes(
    parts=(BernoulliLoss, GilbertElliottLoss, CamTriggering, SharedChannel, Air, _Cams)
    + (CamWriter, PathHistory, AdaptiveControl, SaturatedStations, EventMessages, DenmSender),
    values=(RadioFrame, Attempt, Denm),
    constants=(Radio, Section, Sender, VehicleInfo, CamPlace),
)
