# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
r"""The catalogue: ROS message type <-> record class, definition text and codec.

>>> codec = catalogue.codec("nav_msgs/msg/Odometry", frame_id="map", child_frame_id="a/base_link")
>>> stamp_ns, seq, record = codec.decode(codec.encode(10_000_000, 0, record))

Every type that is installed, or of which a scenario names the definition, has a record class made
from its definition. A class of one's own is tied to a type once, before the scenario is loaded::

    class Hit(NamedTuple):
        range: float
        ring: int

    catalogue.register("my_msgs/msg/Hit", Hit,
                       "std_msgs/Header header\nuint64 seq\nfloat64 range\nuint16 ring")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Final

from ros2_cosim.core.documents.installed import PACKAGE
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.membership import Presence
from ros2_cosim.core.messages import protocol, records
from ros2_cosim.core.messages.binding import Text, bind
from ros2_cosim.core.messages.cdr import CdrCodec, WireCodec
from ros2_cosim.core.messages.definitions import (
    EMPTY,
    SCALAR,
    Field,
    find_definition,
    parse_constants,
    parse_definition,
)
from ros2_cosim.core.messages.generated import make_record
from ros2_cosim.core.messages.layout import Layout
from ros2_cosim.core.messages.packages import how_to_install
from ros2_cosim.core.messages.raw import CarrierCodec, RawCodec

_HEADER = "std_msgs/msg/Header"
_TIME = "builtin_interfaces/msg/Time"


class Catalogue:
    """A set of message types; :data:`DEFAULT` is the one that the suite uses.

    Own, installed and standard types are read when they are first asked for.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._fields: dict[str, tuple[Field, ...]] = {}
        self._reading: set[str] = set()
        self._records: dict[str, type] = {}
        self._names: dict[type, str] = {}
        self._offered: dict[str, str] = {}
        self._made: dict[str, type] = {}
        self._parts: dict[str, type] = {}
        self._paths: dict[str, Mapping[str, str] | None] = {}
        #: Type -> the module of the record that a user has tied to it.
        self._registered: dict[str, str] = {}
        self._codecs: dict[tuple[str, str, int, tuple[tuple[str, str], ...]], CdrCodec] = {}

    def define(self, type_name: str, text: str) -> None:
        """Make a message type known that is not installed, e.g. one that others are built of.

        Defining it again the same way is allowed.

        :raises ConfigurationError: the text is not understood, differs from the known
            definition or names a type that is not known
        """
        fields = parse_definition(type_name, text)
        if not fields:
            raise ConfigurationError(f"message type {type_name} has no fields")
        if self._known(type_name) not in (None, fields):
            raise ConfigurationError(f"message type {type_name} is already defined differently")
        self._add(type_name, text, fields)

    def offer(self, texts: Mapping[str, str]) -> None:
        """Make message types known by their definitions; each is read when it is first asked for.

        They may be built of each other, and of types that are installed.

        :param texts: full type name -> definition
        :raises ConfigurationError: a type is known already, by another definition
        """
        for type_name, text in texts.items():
            read = self._texts.get(type_name, text)
            if read != text and parse_definition(type_name, text) != self._fields[type_name]:
                raise ConfigurationError(f"message type {type_name} is already defined differently")
        self._offered.update(texts)

    def register(
        self,
        type_name: str,
        record: type,
        text: str | None = None,
        *,
        paths: Mapping[str, str] | None = None,
    ) -> None:
        """Tie a NamedTuple class to a message type.

        A leading ``std_msgs/Header`` (or ``builtin_interfaces/Time``) carries the stamp, a
        ``uint64 seq`` right behind a header the sequence number; neither is in the record.

        :param text: the definition, unless the type is known already
        :param paths: record field -> dotted path of the message field, for messages of
            another shape than the record; everything else in the message is sent as zero
        :raises ConfigurationError: record and message do not fit, or are taken already
        """
        if text is not None:
            self.define(type_name, text)
        taken = self._records.get(type_name, record)
        if taken is not record:
            raise ConfigurationError(f"message type {type_name} already has record {taken}")
        if self._names.get(record, type_name) != type_name:
            raise ConfigurationError(f"{record} is already tied to {self._names[record]}")
        _, _, skip = self._lead(type_name)
        bind(type_name, record, self.fields, paths=paths, skip=skip)
        self._tie(type_name, record, paths)
        self._registered[type_name] = record.__module__

    def registered_in(self, type_name: str) -> str:
        """The module of the record that :meth:`register` has tied to a type; empty: none."""
        return self._registered.get(type_name, "")

    def tie(self, type_name: str, module: str) -> None:
        """Import the module that ties a record to a type, unless that is known.

        :raises ConfigurationError: it does not
        """
        if type_name not in self._records:
            import_module(module)
        if type_name not in self._records:
            raise ConfigurationError(f"module {module} ties no record to message type {type_name}")

    def fields(self, type_name: str) -> tuple[Field, ...]:
        """The fields of a type that is known here or installed.

        :raises ConfigurationError: the type is not known, or its definition is not understood
        """
        found = self._known(type_name)
        if found is None:
            raise ConfigurationError(
                f"message type {type_name} is not known; {how_to_install(type_name)}, or name its "
                "definitions by 'messages' in the scenario"
            )
        return found

    def record(self, type_name: str) -> type:
        """The record class of a type: the one tied to it, or one made from its definition.

        The class is a NamedTuple with the fields of the message, all of which have the default
        that ROS gives them; see :mod:`ros2_cosim.core.messages.generated`. Stamp and sequence
        number are not in it, see :meth:`register`.

        :raises ConfigurationError: the type is not known
        """
        fields = self.fields(type_name)
        tied = self._records.get(type_name)
        if tied is not None:
            return tied
        if type_name not in self._made:
            skip = self._lead(type_name)[2]
            self._made[type_name] = (
                self._make_record(type_name, fields[skip:]) if skip else self.part(type_name)
            )
        return self._made[type_name]

    def part(self, type_name: str) -> type:
        """The record class of a message within another: as :meth:`record`, its header included.

        :raises ConfigurationError: the type is not known
        """
        if type_name not in self._parts:
            self._parts[type_name] = self._make_record(type_name, self.fields(type_name))
        return self._parts[type_name]

    def _make_record(self, type_name: str, fields: Sequence[Field]) -> type:
        constants = parse_constants(type_name, self._texts[type_name])
        return make_record(type_name, fields, constants, self.part)

    def type_name(self, record: type) -> str:
        """The message type of a record class.

        :raises ConfigurationError: it is tied to none
        """
        try:
            return self._names[record]
        except KeyError:
            raise ConfigurationError(f"no message type is tied to {record}") from None

    def __iter__(self) -> Iterator[str]:
        """Names of all types that a record is tied to, sorted."""
        return iter(sorted(self._records))

    def codec(
        self, type_name: str, *, frame_id: str = "", start_ns: int = 0, **constants: str
    ) -> CdrCodec:
        """A codec for one port; ports with equal messages share it, for it keeps nothing.

        :param frame_id: written to the header
        :param start_ns: when the run starts, as ROS counts [ns]; stamps and the times in records
            count from there, those in messages do not. A time of 0 in a record was not set, and
            is 0 there, too, unless the message is sent at the start
        :param constants: values of other texts that the record lacks, by their path with
            ``.`` as ``__`` (``child_frame_id=...``)
        :raises ConfigurationError: unknown type, or a constant that the message lacks
        """
        key = type_name, frame_id, start_ns, tuple(sorted(constants.items()))
        if key not in self._codecs:
            self._codecs[key] = self._make_codec(type_name, frame_id, start_ns, constants)
        return self._codecs[key]

    def _make_codec(
        self,
        type_name: str,
        frame_id: str,
        start_ns: int,
        constants: Mapping[str, str],
        *,
        at_start: bool = False,
    ) -> CdrCodec:
        record = self.record(type_name)
        has_header, has_seq, skip = self._lead(type_name)
        paths = self._paths.get(type_name)
        structure = bind(
            type_name,
            record,
            self.fields,
            paths=paths,
            skip=skip,
            start_ns=start_ns,
            at_start=at_start,
        )
        first = None
        if start_ns and not at_start:
            first = self._make_codec(type_name, frame_id, start_ns, constants, at_start=True)
        given = {name.replace("__", "."): value for name, value in constants.items()}
        texts = {i.path for i in structure.items if isinstance(i, Text) and not i.bound}
        for path in given:
            if path not in texts:
                raise ConfigurationError(f"message type {type_name} has no free text {path!r}")
        raw = cache(partial(self._raw, type_name, start_ns=start_ns))
        return CdrCodec(
            type_name,
            record,
            structure,
            has_stamp=skip > 0,
            has_seq=has_seq,
            frame_id=frame_id if has_header else None,
            constants=given,
            encode_raw=lambda stamp_ns, seq, message: raw().encode(stamp_ns, seq, message),
            start_ns=start_ns,
            at_start=first,
        )

    def _raw(self, type_name: str, *, start_ns: int, **constants: str) -> RawCodec:
        """The codec of whole messages of a type."""
        _, has_seq, lead = self._lead(type_name)
        return RawCodec(
            Layout(type_name, self.fields),
            has_stamp=lead > 0,
            has_seq=has_seq,
            record_codec=self.codec(type_name, start_ns=start_ns, **constants),
            start_ns=start_ns,
        )

    def wire_codec(
        self,
        type_name: str,
        *,
        whole: bool = False,
        numbered: bool = False,
        start_ns: int = 0,
        **constants: str,
    ) -> WireCodec:
        """A codec for one port of any type that is known here or installed.

        Types with a header travel as they are; all others in a carrier that has one.

        :param whole: keep what a record does not hold (the writer is not one of ours)
        :param numbered: a type without sequence number travels in a carrier that has one, too
        :param start_ns: see :meth:`codec`
        :param constants: see :meth:`codec`; unused where messages pass through whole
        :raises ConfigurationError: the type is not known, or cannot be read
        """
        codec: WireCodec
        if type_name in self._records and not whole:
            codec = self.codec(type_name, start_ns=start_ns, **constants)
        else:
            codec = self._raw(type_name, start_ns=start_ns, **constants)
        carried = not codec.has_stamp or (numbered and not codec.has_seq)
        return CarrierCodec(codec, start_ns) if carried else codec

    def definitions(self, type_name: str) -> dict[str, str]:
        """Texts of a type and of all types that it is built of (the type itself first)."""
        texts: dict[str, str] = {}
        pending = [type_name]
        while pending:
            name = pending.pop(0)
            if name in texts:
                continue
            fields = self.fields(name)
            texts[name] = self._texts[name]
            pending.extend(field.type for field in fields if "/" in field.type)
        return texts

    def _known(self, type_name: str) -> tuple[Field, ...] | None:
        """The fields of a type, read now if it is installed; None: it is not known."""
        if type_name not in self._fields and type_name not in self._reading:
            text = self._find_text(type_name)
            if text is not None:
                self._reading.add(type_name)  # it is not part of itself
                try:
                    self._add(type_name, text, parse_definition(type_name, text))
                finally:
                    self._reading.discard(type_name)
        return self._fields.get(type_name)

    def _find_text(self, type_name: str) -> str | None:
        """The definition that was offered, or the one that is installed."""
        there = find_definition(type_name)
        offered = self._offered.get(type_name)
        if offered is None:
            return there
        text = offered if parse_definition(type_name, offered) else EMPTY
        fields = parse_definition(type_name, text)
        if there is not None and parse_definition(type_name, there) != fields:
            raise ConfigurationError(
                f"message type {type_name} differs from the installed one; build package "
                f"{type_name.partition('/')[0]} again: cosim messages build"
            )
        return text

    def _add(self, type_name: str, text: str, fields: tuple[Field, ...]) -> None:
        for field in fields:
            if "/" in field.type and self._known(field.type) is None:
                raise ConfigurationError(
                    f"message type {type_name}: field {field.name!r} is of type {field.type}, "
                    "which is not known (define it first)"
                )
        self._texts[type_name] = text
        self._fields[type_name] = fields

    def _tie(self, type_name: str, record: type, paths: Mapping[str, str] | None = None) -> None:
        self._records[type_name] = record
        self._names[record] = type_name
        self._codecs.clear()
        self._paths[type_name] = paths

    def _lead(self, type_name: str) -> tuple[bool, bool, int]:
        """(starts with a header, carries seq, number of leading fields outside the record)."""
        fields = self.fields(type_name)
        first = fields[0]
        if first.length != SCALAR or first.type not in (_HEADER, _TIME):
            return False, False, 0
        has_header = first.type == _HEADER
        has_seq = has_header and fields[1:2] == (Field("seq", "uint64", SCALAR),)
        return has_header, has_seq, 1 + has_seq


#: Records of the project's own message types, which have the same names.
OWN_RECORDS: tuple[type, ...] = (
    records.ControlCommand,
    records.ControllerStatus,
    records.DetectedObject,
    records.ObjectList,
    records.V2VMessage,
    records.StaticObject,
    records.StaticObjects,
    records.RoadUser,
    records.RoadUsers,
    records.TrafficLightAhead,
    records.RedLightsPassed,
    records.CollisionEvent,
    records.PlatoonStatus,
    protocol.PortPromise,
    protocol.Completion,
    Presence,
    protocol.RunChange,
    protocol.Horizon,
    protocol.ParticipantState,
    protocol.SystemState,
    protocol.Heartbeat,
    protocol.ParticipantStatus,
    protocol.RunStatus,
    protocol.ParticipantReport,
)


def _standard() -> Catalogue:
    """The catalogue of the suite; a test binds each record, so that none is missing here."""
    catalogue = Catalogue()
    pose, twist = "pose.pose.", "twist.twist."
    catalogue._tie(
        "nav_msgs/msg/Odometry",
        records.Odometry,
        {
            **{axis: f"{pose}position.{axis}" for axis in "xyz"},
            **{f"q{axis}": f"{pose}orientation.{axis}" for axis in "xyzw"},
            **{f"v{axis}": f"{twist}linear.{axis}" for axis in "xyz"},
            **{f"w{axis}": f"{twist}angular.{axis}" for axis in "xyz"},
        },
    )
    catalogue._tie(
        "geometry_msgs/msg/AccelStamped",
        records.Acceleration,
        {f"a{axis}": f"accel.linear.{axis}" for axis in "xyz"},
    )
    for own in OWN_RECORDS:
        catalogue._tie(f"{PACKAGE}/msg/{own.__name__}", own)
    return catalogue


DEFAULT: Final = _standard()

codec = DEFAULT.codec
define = DEFAULT.define
definitions = DEFAULT.definitions
offer = DEFAULT.offer
part: Final = DEFAULT.part
record: Final = DEFAULT.record
register: Final = DEFAULT.register
type_name = DEFAULT.type_name
