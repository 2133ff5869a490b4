# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The plan of a configuration: data PDUs, and the configuration requests in their order.

Many variables travel in one data PDU: one for all inputs that the master feeds, one for all outputs
it reads (per communication step, and one for outputs that are constant after initialization), one
per pair of wired slaves. A PDU that is larger than a slave takes is split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ros2_cosim.dcp.master.order import Stepping, delayed_in, step_order
from ros2_cosim.dcp.master.relay import Relays
from ros2_cosim.dcp.master.remote import RemoteSlave, codec_for
from ros2_cosim.dcp.master.routes import common_protocol
from ros2_cosim.dcp.master.wiring import Wire, check_wire, common_step
from ros2_cosim.dcp.standard.data_path import HEADER, InputPdu, OutputPdu
from ros2_cosim.dcp.standard.enums import PduType, Scope, TransportProtocol
from ros2_cosim.dcp.standard.errors import WiringError
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    Variable,
    element_count,
    resized,
)
from ros2_cosim.dcp.standard.values import SIZED, SIZES

ConfigurationRequest = tuple[PduType, dict[str, object]]
"""A configuration request: its type and its fields behind the receiver."""


@dataclass
class DataGroup:
    """Variables that travel together in one data PDU from ``source`` to ``target``.

    ``source`` or ``target`` None is the master. ``pairs`` holds (output, input) variables;
    one of the two is None where the master is that side.
    """

    data_id: int = field(init=False)
    source: RemoteSlave | None
    target: RemoteSlave | None
    pairs: list[tuple[Variable | None, Variable | None]]
    scope: Scope = Scope.INITIALIZATION_RUN_NRT
    steps: int = 1

    @property
    def sent(self) -> list[Variable]:
        """The outputs that it carries, where the master is not their source."""
        return [output for output, _ in self.pairs if output is not None]

    @property
    def taken(self) -> list[Variable]:
        """The inputs that it carries, where the master is not their target."""
        return [given for _, given in self.pairs if given is not None]

    @property
    def protocol(self) -> TransportProtocol:
        """How the PDU travels; two slaves with a group have a protocol in common."""
        if self.source is not None and self.target is not None:
            found = common_protocol(self.source, self.target)
            assert found is not None
            return found
        slave = self.source or self.target
        assert slave is not None
        return slave.protocol


@dataclass
class CouplingPlan:
    """The plan that one configuration of a master follows.

    :ivar groups: data PDUs between slaves, and between slaves and the master
    :ivar relays: wires whose values the master passes on itself
    :ivar batches: slaves that step together, one batch after the other
    :ivar step: length of one master step [s]
    """

    groups: list[DataGroup]
    relays: Relays
    batches: list[list[RemoteSlave]]
    step: Fraction
    stepping: Stepping = Stepping.PARALLEL

    @property
    def initial_batches(self) -> list[list[RemoteSlave]]:
        """Slaves that initialise together: all, unless an order follows from the wiring."""
        if self.stepping is Stepping.DEPENDENCY:
            return self.batches
        return [[slave for batch in self.batches for slave in batch]]


def make_plan(
    slaves: Mapping[str, RemoteSlave],
    wires: Sequence[Wire],
    stepping: Stepping,
    *,
    by_data: bool,
) -> CouplingPlan:
    """Check the wiring and lay out all data PDUs.

    :param by_data: data-PDU synchronisation; there are no data PDUs between slaves then, because
        with them the slaves would make each other step
    :raises WiringError: there is no slave, or a wire or a step size does not fit
    """
    if not slaves:
        raise WiringError("the master has no slaves")
    for slave in slaves.values():
        slave.tuned.clear()
    groups = make_groups(slaves, wires)
    batches = step_order(list(slaves), wires, stepping)
    relayed = list(wires) if by_data else relayed_wires(slaves, wires, batches)
    if relayed:
        groups = make_groups(slaves, [wire for wire in wires if wire not in relayed])
    prepare_data_path(groups)
    if by_data:
        _check_data_synchronisation(slaves.values())
    step = common_step({s.name: (s.resolution, s.steps, s.every) for s in slaves.values()})
    order = [[slaves[name] for name in batch] for batch in batches]
    return CouplingPlan(groups, Relays(relayed, slaves), order, step, stepping)


def _check_data_synchronisation(slaves: Iterable[RemoteSlave]) -> None:
    """Each data PDU makes its slave compute one resolution, and without one it never does."""
    for slave in slaves:
        if not slave.sent_pdus:
            raise WiringError(
                f"slave {slave.name!r} has no inputs; with data_synchronisation nothing would make "
                "it step"
            )
        for key, value in (("every", slave.every), ("steps", slave.steps)):
            if value != 1:
                raise WiringError(
                    f"slave {slave.name!r}: {key} is {value}; with data_synchronisation only 1 is "
                    "allowed, for every data PDU makes a slave compute one resolution"
                )


def make_groups(slaves: Mapping[str, RemoteSlave], wires: Sequence[Wire]) -> list[DataGroup]:
    """All data PDUs of the co-simulation.

    :raises WiringError: a wire does not fit, or an input has two sources
    """
    fed: dict[tuple[str, str], Wire] = {}
    groups: list[DataGroup] = []
    bundles: dict[tuple[str, str, Scope, int], list[tuple[Variable | None, Variable | None]]] = {}
    for wire in wires:
        for name in (wire.source, wire.target):
            if name not in slaves:
                known = ", ".join(slaves)
                raise WiringError(f"{wire}: there is no slave {name!r}; there are {known}")
        source, target = slaves[wire.source], slaves[wire.target]
        sender, receiver = check_wire(wire, source.description, target.description)
        former = fed.setdefault((wire.target, wire.input), wire)
        if former is not wire:
            raise WiringError(f"{wire}: the input is already fed by {former}")
        counts = (
            element_count(sender, source.structural()),
            element_count(receiver, target.structural()),
        )
        if counts[0] != counts[1]:
            texts = ["a scalar" if n is None else f"{n} elements" for n in counts]
            raise WiringError(f"{wire}: {texts[0]} cannot feed {texts[1]}")
        key = (wire.source, wire.target, _scope(sender), sender.default_steps)
        bundles.setdefault(key, []).append((sender, receiver))
    for (source_name, target_name, scope, steps), pairs in bundles.items():
        source, target = slaves[source_name], slaves[target_name]
        if common_protocol(source, target) is None:
            continue  # these wires are relayed
        groups += [
            DataGroup(source, target, part, scope, steps) for part in _parts(pairs, source, target)
        ]
    for slave in slaves.values():
        groups += _with_master(slave, {name for target, name in fed if target == slave.name})
    for number, group in enumerate(groups, start=1):
        group.data_id = number
    return groups


def _scope(output: Variable) -> Scope:
    return Scope.INITIALIZATION if output.initialization else Scope.INITIALIZATION_RUN_NRT


def _with_master(slave: RemoteSlave, wired: set[str]) -> Iterable[DataGroup]:
    """The data PDUs between one slave and the master."""
    slave.input_variables = tuple(
        v for v in slave.description.of(Causality.INPUT) if v.name not in wired
    )
    slave.reset_values()
    for part in _parts([(None, v) for v in slave.input_variables], None, slave):
        yield DataGroup(None, slave, part)
    bundles: dict[tuple[Scope, int], list[tuple[Variable | None, Variable | None]]] = {}
    for output in slave.output_variables:
        bundles.setdefault((_scope(output), output.default_steps), []).append((output, None))
    for (scope, steps), pairs in bundles.items():
        for part in _parts(pairs, slave, None):
            yield DataGroup(slave, None, part, scope, steps)


_Pairs = list[tuple[Variable | None, Variable | None]]


def _parts(pairs: _Pairs, source: RemoteSlave | None, target: RemoteSlave | None) -> list[_Pairs]:
    """Cut pairs into data PDUs that fit; a variable that fits into none gets its own."""
    limit = _size_limit(source, target)
    parts: list[_Pairs] = []
    size = HEADER.size
    for output, given in pairs:
        owner, variable = (source, output) if output is not None else (target, given)
        assert owner is not None
        assert variable is not None
        needed = payload_size(owner, variable)
        if not parts or size + needed > limit:
            parts.append([])
            size = HEADER.size
        parts[-1].append((output, given))
        size += needed
    return parts


def _size_limit(source: RemoteSlave | None, target: RemoteSlave | None) -> int:
    """Bytes of the largest data PDU that both sides take over their way."""
    protocol = DataGroup(source, target, []).protocol
    return min(slave.pdu_limit(protocol) for slave in (source, target) if slave is not None)


def payload_size(slave: RemoteSlave, variable: Variable) -> int:
    """Bytes of a variable in a data PDU; for a string or binary the maximum."""
    if variable.data_type in SIZED:
        return 4 + (slave.description.attributes(variable).max_size or 0)
    count = element_count(variable, slave.structural())
    return SIZES[variable.data_type] * (1 if count is None else count)


def relayed_wires(
    slaves: Mapping[str, RemoteSlave], wires: Sequence[Wire], batches: Sequence[Sequence[str]]
) -> list[Wire]:
    """Wires whose values pass through the master.

    The receiver converts no types, or the two slaves have no transport protocol in common, or the
    wire is delayed and its source steps first.
    """
    late = delayed_in(batches, wires)
    found = []
    for wire in wires:
        source, target = slaves[wire.source], slaves[wire.target]
        sent = source.description.variable(wire.output).data_type
        taken = target.description.variable(wire.input).data_type
        unlike = target.exact_types and sent is not taken
        if unlike or wire in late or common_protocol(source, target) is None:
            found.append(wire)
    return found


def prepare_data_path(groups: Sequence[DataGroup]) -> None:
    """Make the master's codecs of all data PDUs that it sends or receives."""
    for slave in {id(s): s for g in groups for s in (g.source, g.target) if s}.values():
        slave.sent_pdus, slave.received = [], {}
        slave.run_pdus, slave.init_pdus = [], []
        slave.data_on_udp = any(
            g.protocol is TransportProtocol.UDP_IPv4
            for g in groups
            if slave in (g.source, g.target)
        )
        slave.slower_sources = frozenset(
            g.data_id
            for g in groups
            if g.target is slave and g.source is not None and slave.every % g.source.every
        )
    for group in groups:
        if group.source is None:
            _send_from_master(group)
        elif group.target is None:
            _receive_at_master(group, group.source)


def _send_from_master(group: DataGroup) -> None:
    slave, variables = group.target, group.taken
    assert slave is not None
    indices = [slave.input_names.index(v.name) for v in variables]
    slave.sent_pdus.append(OutputPdu(group.data_id, codec_for(slave, variables), indices))


def _receive_at_master(group: DataGroup, slave: RemoteSlave) -> None:
    variables = group.sent
    indices = [slave.output_names.index(v.name) for v in variables]
    codec, plain = codec_for(slave, variables), [None] * len(variables)
    pdu = InputPdu(group.data_id, codec, indices, plain, group.scope)
    slave.received[group.data_id] = pdu
    slave.init_pdus.append(pdu)
    if group.scope is not Scope.INITIALIZATION:
        slave.run_pdus.append(pdu)


def resize_data_path(slave: RemoteSlave, groups: Sequence[DataGroup]) -> None:
    """A structural parameter was tuned: give the same PDUs arrays of the new sizes."""
    sent = {pdu.data_id: pdu for pdu in slave.sent_pdus}
    for group in groups:
        if group.target is slave and group.data_id in sent:
            sent[group.data_id].codec = codec_for(slave, group.taken)
        elif group.source is slave and group.data_id in slave.received:
            slave.received[group.data_id].codec = codec_for(slave, group.sent)
    sizes = slave.structural()
    for values, described in (
        (slave.inputs, slave.input_variables),
        (slave.outputs, slave.output_variables),
    ):
        for at, variable in enumerate(described):
            count = element_count(variable, sizes)
            if count is not None:
                values[at] = resized(tuple(values[at]), count)


def data_settings(
    slave: RemoteSlave,
    groups: Sequence[DataGroup],
    address_of: Callable[[RemoteSlave | None, TransportProtocol, int], bytes],
) -> list[ConfigurationRequest]:
    """Configuration requests for the data PDUs of one slave.

    :param address_of: gives the address on which a receiver listens for a data PDU; None is the
        master as this slave reaches it
    """
    mine = [group for group in groups if slave in (group.source, group.target)]
    settings = [
        _setting(PduType.CFG_scope, data_id=group.data_id, scope=group.scope) for group in mine
    ]
    for group in mine:
        if group.source is slave:
            settings += _sending(group)
        if group.target is slave:
            settings += _receiving(group)
    for group in mine:
        protocol = group.protocol
        where = _setting(
            PduType.CFG_source_network_information,
            data_id=group.data_id,
            transport_protocol=protocol,
            address=address_of(group.target, protocol, group.data_id),
        )
        if group.target is slave:
            settings.append(where)
        if group.source is slave:
            settings.append((PduType.CFG_target_network_information, where[1]))
    return settings


def _setting(kind: PduType, **fields: object) -> ConfigurationRequest:
    return kind, fields


def _sending(group: DataGroup) -> list[ConfigurationRequest]:
    outputs = [
        _setting(PduType.CFG_output, data_id=group.data_id, pos=pos, source_vr=v.value_reference)
        for pos, v in enumerate(group.sent)
    ]
    return [*outputs, _setting(PduType.CFG_steps, data_id=group.data_id, steps=group.steps)]


def _receiving(group: DataGroup) -> list[ConfigurationRequest]:
    return [
        _setting(
            PduType.CFG_input,
            data_id=group.data_id,
            pos=pos,
            target_vr=receiver.value_reference,
            source_data_type=(sender or receiver).data_type,
        )
        for pos, (sender, receiver) in enumerate(group.pairs)
        if receiver is not None
    ]


def parameter_settings(slave: RemoteSlave) -> list[ConfigurationRequest]:
    """CFG_parameter for every parameter that was set, structural ones first."""
    chosen = [slave.description.variable(name) for name in slave.parameters]
    chosen.sort(key=lambda v: v.causality is not Causality.STRUCTURAL)
    return [
        _setting(
            PduType.CFG_parameter,
            parameter_vr=v.value_reference,
            source_data_type=v.data_type,
            payload=codec_for(slave, [v]).pack([slave.parameters[v.name]]),
        )
        for v in chosen
    ]


def tunable_settings(
    slave: RemoteSlave, protocol: int, address: bytes
) -> list[ConfigurationRequest]:
    """Configuration of one parameter PDU (param_id 1) with the tunable parameters."""
    settings = [
        _setting(
            PduType.CFG_tunable_parameter,
            param_id=1,
            pos=pos,
            parameter_vr=v.value_reference,
            source_data_type=v.data_type,
        )
        for pos, v in enumerate(map(slave.description.variable, tunable_names(slave)))
    ]
    kind, place = PduType.CFG_param_network_information, {"transport_protocol": protocol}
    return settings and [*settings, _setting(kind, param_id=1, **place, address=address)]


def tunable_names(slave: RemoteSlave) -> list[str]:
    """Parameters that may change during a run."""
    return [
        v.name
        for v in slave.description.of(Causality.PARAMETER, Causality.STRUCTURAL)
        if v.variability == "tunable"
    ]
