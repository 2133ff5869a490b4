# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""DCP slaves behind the ports of a participant: one master, stepped by activations.

Each activation is one or more NRT steps: inputs out, ``STC_do_step``, ``STC_send_outputs``,
outputs in. The first one reports the outputs of the initialization.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.hop_watch import HopWatch
from ros2_cosim.core.kernel.listening import Listening, PortUse
from ros2_cosim.core.kernel.model import Report
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.sockets.endpoints import address_towards
from ros2_cosim.dcp.bridge.mapping import RecordReader
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import RemoteSlave
from ros2_cosim.dcp.standard.errors import DcpError
from ros2_cosim.dcp.standard.values import Value

#: Any port will do: it carries no data.
_DISCARD = 9


def data_ports(slaves: Iterable[tuple[str, str]]) -> tuple[Listening, ...]:
    """Where a master listens for data of its slaves: one port for each own address and transport.

    :param slaves: host and transport (``tcp`` or ``udp``) of each
    """
    found: dict[Listening, None] = {}
    for host, transport in slaves:
        try:
            own = address_towards(host, _DISCARD)
        except OSError:  # no way leads there, at present
            own = f"address towards {host}"
        found[Listening(PortUse.DCP_DATA, transport, own)] = None
    return tuple(found)


class MappedOutput(NamedTuple):
    """What an output port sends.

    With ``when`` (slave, variable) it is silent unless that variable has changed, with ``once``
    it sends at the first activation only. ``convert`` makes what is sent of what was read.
    """

    reader: RecordReader
    when: tuple[str, str] | None = None
    once: bool = False
    convert: Callable[[Any], Any] | None = None


class _BoundOutput(NamedTuple):
    """An output of a run; ``read`` gives what it sends."""

    port: str
    read: Callable[[], Any]
    when: tuple[str, str] | None
    once: bool


class InputWriter(Protocol):
    """Gives the messages of an input port to inputs of slaves."""

    def give(self, sample: Sample | None, inputs: dict[str, dict[str, Value]]) -> None:
        """Add what the newest message says to ``inputs`` (slave -> variable -> value)."""


class PortMapping(NamedTuple):
    """How slaves are tied to ports."""

    outputs: Mapping[str, MappedOutput]
    inputs: Mapping[str, InputWriter]


class CoupledSlaves:
    """A master and its slaves, tied to the ports of a participant.

    :param name: of the participant
    :param ports: how variables are tied to ports
    :param opened: a master with all slaves added and wired, as a context
    :param parameters: slave -> its DCP parameters
    :param start: slave -> values of its inputs before the first message
    :param period_ns: of the participant
    :param initialise: loops of the initialization
    :param figure_prefix: stands before the names of slaves in figures
    :param clocked: the slaves step by their own clocks, from the first activation on
    """

    def __init__(
        self,
        name: str,
        ports: PortMapping,
        opened: Callable[[], AbstractContextManager[Master]],
        *,
        parameters: Mapping[str, Mapping[str, Any]],
        start: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        period_ns: int | None,
        initialise: int = 1,
        figure_prefix: str = "",
        clocked: bool = False,
    ) -> None:
        self._name = name
        self._ports = ports
        self._opened = opened
        self._parameters = parameters
        self._start = start
        self._period_ns = period_ns
        self._initialise = initialise
        self._figure_prefix = figure_prefix
        self._clocked = clocked
        #: Gives the next activation, if its inputs are known already: then its step is begun as
        #: soon as the one before is over, and the slave computes while others use its outputs.
        #: None: no step is begun before its activation.
        self.ahead: Callable[[], Step | None] | None = None
        self._running: AbstractContextManager[Master] | None = None
        self._master: Master | None = None
        self._watch: HopWatch | None = None
        self._at: dict[tuple[str, str], tuple[RemoteSlave, int]] = {}
        self._outputs: list[_BoundOutput] = []
        self._steps_per_ns = Fraction(0)
        self._begin_run()

    def _begin_run(self) -> None:
        #: Whether the slaves have their first outputs.
        self._is_ready = False
        self._former: dict[tuple[str, str], Value] = {}
        #: What each input port gave last; the slaves keep it.
        self._given: dict[str, Any] = {}
        self._start_ns: int | None = None
        #: Time of the activation whose step has been begun [ns].
        self._begun_ns: int | None = None
        self._steps = 0
        self._transport_ns = 0

    def begin(self, step: Step | None = None) -> None:
        """Connect to all slaves and bring them to their first outputs.

        :param step: the first activation, whose inputs they get before
        :raises DcpError: a slave refused something, failed or is not there
        """
        try:
            master = self._master or self._connected()
            for slave, values in self._start.items():
                master.slaves[slave].set_inputs(values)
            if step is not None:
                self._give_inputs(step)
            master.initialise(self._initialise)
            if not self._clocked:
                master.run()
        except BaseException:
            self.close()
            raise
        self._is_ready = True

    def _connected(self) -> Master:
        """A master whose slaves are configured."""
        running = self._opened()
        self._master = master = running.__enter__()
        self._running = running
        if self._watch is not None:
            self.watch(self._watch)
        master.configure(self._parameters)
        self._check_period(master.step_size)
        self._steps_per_ns = 1 / (master.step_size * 10**9)
        self._at = {
            (slave.name, name): (slave, index)
            for slave in master.slaves.values()
            for index, name in enumerate(slave.output_names)
        }
        self._outputs = [
            _BoundOutput(port, self._bound(found), found.when, found.once)
            for port, found in self._ports.outputs.items()
        ]
        return master

    def watch(self, watch: HopWatch | None) -> None:
        """Have noted what the exchange with the slaves consists of; None: nothing is."""
        self._watch = watch
        if self._master is None:
            return
        if watch is None:
            self._master.note(None, None, None)
        else:
            self._master.note(watch.sleeps, watch.woke, watch.sent)

    def reset(self, *, connected: bool = True) -> None:
        """Be as before :meth:`begin`, for another run.

        Slaves that can be reset stay connected, and are configured again; if there are others, all
        are deregistered, which every slave allows, and connected to once more.

        :param connected: whether they may stay so; those that are made with the master must not
        :raises DcpError: a slave refused something, failed or was lost
        """
        self._end_begun()
        self._begin_run()
        if self._master is None:
            return
        slaves = self._master.slaves.values()
        if connected and all(s.description.capabilities.can_handle_reset for s in slaves):
            self._master.reset(self._parameters)
        else:
            self.close()
            self._master = None

    def _bound(self, output: MappedOutput) -> Callable[[], Any]:
        read = output.reader.bound(self._output, lambda slave, name: self._at[slave, name])
        convert = output.convert
        return read if convert is None else lambda: convert(read())

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Bring all slaves to the activation time and report their outputs.

        :raises DcpError: a slave refused something, failed or was lost
        """
        if not self._is_ready:
            self.begin(step)
        first = self._start_ns is None
        if self._start_ns is None:
            self._start_ns = step.time
            if self._clocked and self._master is not None:
                self._master.run()
        else:
            self._advance(step, step.time - self._start_ns)
        if self.ahead is not None:
            self._begin_next(self.ahead, self._start_ns)
        outputs: dict[str, Any] = {}
        for port, read, when, once in self._outputs:
            if once and not first:
                continue
            if when is not None:
                value = self._output(*when)
                former = self._former.get(when, _start(value))
                self._former[when] = value
                if value == former:
                    continue
            outputs[port] = read()
        return outputs

    def set_inputs(self, slave: str, values: Mapping[str, Value]) -> None:
        """Give a slave inputs that no port has, from the next step on.

        :raises WiringError: it has no such input
        """
        assert self._master is not None
        self._master.slaves[slave].set_inputs(values)

    def report(self) -> Report:
        """What the network did to the data, on UDP; complete once the slaves have stopped.

        Of slaves that step by their own clocks also how often the master came late to a tick.
        """
        found = {} if self._master is None else self._master.data_figures()
        named = {f"{self._figure_prefix}{slave}": counts for slave, counts in found.items()}
        figures: dict[str, Any] = {"dcp_data": named}
        reason = None
        if self._clocked:
            reason = (self._start_ns or 0, "its DCP slaves step by their own clocks (SRT or HRT)")
            if self._master is not None:
                plan = self._master.plan
                figures["dcp_late_ticks"] = plan.overruns
                figures["dcp_worst_tick_s"] = plan.worst_s
        return Report(figures=figures, not_repeatable=reason, transport_ns=self._transport_ns)

    def finish(self) -> None:
        """The last activation is done: stop all slaves."""
        self._end_begun()
        if self._master is not None:
            self._master.stop()

    def close(self) -> None:
        """Deregister the slaves as far as they still answer; end those of this process."""
        if self._running is not None:
            running, self._running = self._running, None
            running.__exit__(None, None, None)

    def _check_period(self, size: Fraction) -> None:
        period = self._period_ns
        if period is None or (period / (size * 10**9)).denominator != 1:
            found = "none" if period is None else f"{period} ns"
            raise ConfigurationError(
                f"participants.{self._name}.period: found {found}; allowed are multiples "
                f"of the slaves' step, {float(size):g} s"
            )

    def _advance(self, step: Step, elapsed_ns: int) -> None:
        master = self._master
        assert master is not None
        begun, self._begun_ns = self._begun_ns, None
        if begun is None:
            self._give_inputs(step)
        elif begun != step.time or any(
            _record(sample) != self._given.get(port) for port, _, sample in self._news(step)
        ):
            raise RunError(f"{self._name}: the step to {format_ns(begun)} was begun too early")
        count = self._steps_to(elapsed_ns)
        started = time.perf_counter_ns()
        if begun is None:
            master.do_step(count)
        else:
            master.end_step()
        self._transport_ns += time.perf_counter_ns() - started
        self._steps += count

    def _steps_to(self, elapsed_ns: int) -> int:
        """Number of steps from the present state to this time after the start of the run."""
        whole = elapsed_ns * self._steps_per_ns.numerator // self._steps_per_ns.denominator
        return whole - self._steps

    def _begin_next(self, ahead: Callable[[], Step | None], start_ns: int) -> None:
        """Begin the step of the next activation, if its inputs are known."""
        master = self._master
        if master is None or not master.can_begin_step:
            return
        following = ahead()
        if following is not None and self._steps_to(following.time - start_ns) == 1:
            self._give_inputs(following)
            started = time.perf_counter_ns()
            master.begin_step()
            self._transport_ns += time.perf_counter_ns() - started
            self._begun_ns = following.time

    def _end_begun(self) -> None:
        """No activation follows for which a step has been begun: let it end."""
        begun, self._begun_ns = self._begun_ns, None
        if begun is not None and self._master is not None:
            with suppress(DcpError):
                self._master.end_step()

    def _news(self, step: Step) -> Iterator[tuple[str, InputWriter, Sample | None]]:
        """The input ports whose messages the slaves do not have, and these."""
        for port, writer in self._ports.inputs.items():
            sample = step.latest.get(port)
            # Most steps come between two messages: nothing has changed then.
            if port not in self._given or _record(sample) is not self._given[port]:
                yield port, writer, sample

    def _give_inputs(self, step: Step) -> None:
        assert self._master is not None
        inputs: dict[str, dict[str, Value]] = {}
        for port, writer, sample in self._news(step):
            writer.give(sample, inputs)
            self._given[port] = _record(sample)
        for slave, values in inputs.items():
            self._master.slaves[slave].set_inputs(values)

    def _output(self, slave: str, name: str) -> Value:
        remote, index = self._at[slave, name]
        return remote.outputs[index]


def _record(sample: Sample | None) -> Any:
    return None if sample is None else sample.value


def _start(value: Value) -> Value:
    """What a variable counts as before its first value: nothing has happened."""
    return type(value)()
