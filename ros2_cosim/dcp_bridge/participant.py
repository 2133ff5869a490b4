# SPDX-License-Identifier: Apache-2.0
"""The model ``dcp_master``: a participant whose plant is any set of DCP slaves.

Example (part of a scenario)::

    plant:
      model: dcp_master
      node: participant
      period: 10ms
      parameters:
        slaves:
          engine: {description: engine.dcpx, host: 192.168.1.7, port: 8080, transport: udp}
          road: {fmu: road.fmu}
        connections: [engine.speed -> road.v]
        inputs:
          command: {engine.pedal: throttle, engine.brake: brake}
        outputs:
          odometry: {fields: {x: road.s, vx: engine.speed, yaw: {variable: road.heading,
                     factor: 0.017453292519943295}}}
          collision: {fields: road.collision.*, when: road.collision.count}
      inputs: {command: {from: driver.control, delayed: true}}
      outputs:
        odometry: {type: nav_msgs/msg/Odometry, topic: /odometry}
        collision: {type: ros2_cosim/msg/CollisionEvent, topic: /hits, schedule: sparse}

Slaves are given as for ``cosim dcp run``, with its keys ``check``, ``missing`` and
``acceptable_loss``. One with ``model`` or ``fmu`` and without ``port`` is served by this process;
in shape inproc all slaves are, so there each needs ``model`` or ``fmu``. In the other shapes the
run starts those with ``process: true`` or a ``command`` as processes of their own.
The first activation reports the outputs of the initialization; each later one steps all
slaves up to its time. A port with ``when`` is silent unless that variable has changed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any

from ros2_cosim.dcp.description.model import Causality
from ros2_cosim.dcp.master.cosimulation import CoSimulation, describe_slaves, prepared
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.wire.values import Value
from ros2_cosim.dcp_bridge.mapping import FieldWriter, RecordReader, find_variable
from ros2_cosim.documents.settings import read_section
from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.participant import ModelContext, Step

#: All processes of a run are started at once; slaves may take so long to listen.
CONNECT_WAIT_S = 30.0
_OWN = ("inputs", "outputs")


class DcpMaster:
    """A DCP master as a participant; the example of this module shows its parameters.

    :param context: of the participant
    :raises ConfigurationError: slaves, wiring or mapping are wrong
    """

    def __init__(self, context: ModelContext) -> None:
        self._where = f"participants.{context.name}.parameters"
        self._context = context
        self._settings = self._read(context)
        slaves = describe_slaves(self._settings)
        readers = self._ports("outputs")
        self._readers: dict[str, tuple[RecordReader, tuple[str, str] | None]] = {}
        for port, settings in readers.items():
            where = f"{self._where}.outputs.{port}"
            if port not in context.output_types:
                known = ", ".join(context.output_types) or "none"
                raise ConfigurationError(f"{where}: no such output port; there are {known}")
            if not isinstance(settings, Mapping) or not {"fields"} <= set(settings) <= {
                "fields",
                "when",
            }:
                raise ConfigurationError(
                    f"{where}: found {settings!r}; allowed are fields and when"
                )
            record = CATALOGUE.record(context.output_types[port])
            reader = RecordReader(record, settings["fields"], slaves, f"{where}.fields")
            when = None
            if "when" in settings:
                slave, variable = find_variable(
                    str(settings["when"]), slaves, f"{where}.when", Causality.OUTPUT
                )
                when = (slave, variable.name)
            self._readers[port] = (reader, when)
        self._writers = {
            port: FieldWriter(fields, slaves, f"{self._where}.inputs.{port}")
            for port, fields in self._ports("inputs").items()
        }
        self._running: AbstractContextManager[Master] | None = None
        self._master: Master | None = None
        self._former: dict[tuple[str, str], Value] = {}
        self._steps = 0
        #: Wall time [ns] of the DCP steps, the slaves' own time included.
        self.transport_ns = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Bring all slaves to the activation time and report their outputs.

        :raises DcpError: a slave refused something, failed or was lost
        """
        if self._master is None:
            self._begin(step)
        else:
            self._advance(step)
        outputs: dict[str, Any] = {}
        for port, (reader, when) in self._readers.items():
            if when is not None:
                value = self._output(*when)
                former = self._former.get(when, _start(value))
                self._former[when] = value
                if value == former:
                    continue
            outputs[port] = reader.read(self._output)
        return outputs

    def figures(self) -> Mapping[str, Any]:
        """What the network did to the data, on UDP; ends the run of the slaves to learn it."""
        self.finish()
        found = {} if self._master is None else self._master.data_figures()
        return {"dcp_data": {f"{self._context.name}.{k}": v for k, v in found.items()}}

    def finish(self) -> None:
        """The last activation is done: stop all slaves."""
        if self._master is not None:
            self._master.stop()

    def close(self) -> None:
        """Deregister the slaves as far as they still answer; end those of this process."""
        if self._running is not None:
            running, self._running = self._running, None
            running.__exit__(None, None, None)

    # -- inside --------------------------------------------------------------------------------

    def _read(self, context: ModelContext) -> CoSimulation:
        data = {k: v for k, v in context.parameters.items() if k not in _OWN}
        data |= {"steps": 0, "base_directory": context.base_directory}
        settings = read_section(CoSimulation, data, place=self._where)
        if settings.mode != "nrt":
            raise ConfigurationError(
                f"{self._where}.mode: found {settings.mode!r}; allowed is nrt, the kernel's time "
                "does not follow the clock"
            )
        if context.shape == "inproc":
            settings = settings.model_copy(
                update={
                    "slaves": {
                        name: slave.model_copy(update={"host": None, "port": None})
                        if slave.is_made
                        else slave
                        for name, slave in settings.slaves.items()
                    }
                }
            )
        return settings

    def _ports(self, key: str) -> Mapping[str, Any]:
        ports = self._context.parameters.get(key) or {}
        if not isinstance(ports, Mapping):
            raise ConfigurationError(f"{self._where}.{key}: found {ports!r}; allowed is port: ...")
        return ports

    def _begin(self, step: Step) -> None:
        settings = self._settings
        if self._context.shape == "inproc":
            for name, slave in settings.slaves.items():
                if not slave.is_made:
                    raise ConfigurationError(
                        f"{self._where}.slaves.{name}: shape inproc starts and reaches no other "
                        "process; give model or fmu, or use shape ros"
                    )
        self._running = prepared(settings, CONNECT_WAIT_S)
        self._master = master = self._running.__enter__()
        parameters = {n: s.parameters for n, s in settings.slaves.items() if s.parameters}
        master.configure(parameters)
        self._check_period(master.step_size)
        self._start_ns = step.time
        self._give_inputs(step)
        master.initialise(settings.initialise)
        master.run()

    def _check_period(self, size: Fraction) -> None:
        period = self._context.period_ns
        if period is None or (period / (size * 10**9)).denominator != 1:
            found = "none" if period is None else f"{period} ns"
            raise ConfigurationError(
                f"participants.{self._context.name}.period: found {found}; allowed are multiples "
                f"of the slaves' step, {float(size):g} s"
            )

    def _advance(self, step: Step) -> None:
        assert self._master is not None
        self._give_inputs(step)
        wanted = Fraction(step.time - self._start_ns, 10**9) / self._master.step_size
        count = int(wanted) - self._steps
        started = time.perf_counter_ns()
        self._master.do_step(count)
        self.transport_ns += time.perf_counter_ns() - started
        self._steps += count

    def _give_inputs(self, step: Step) -> None:
        assert self._master is not None
        inputs: dict[str, dict[str, Value]] = {}
        for port, writer in self._writers.items():
            sample = step.latest.get(port)
            if sample is not None:
                writer.write(sample.value, inputs)
        for slave, values in inputs.items():
            self._master.slaves[slave].set_inputs(values)

    def _output(self, slave: str, name: str) -> Value:
        assert self._master is not None
        return self._master.slaves[slave].output(name)


def _start(value: Value) -> Value:
    """What a variable counts as before its first value: nothing has happened."""
    return type(value)()


def make_dcp_master(context: ModelContext) -> DcpMaster:
    """Make the participant."""
    return DcpMaster(context)
