# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Both workloads with HELICS: one process per federate, and one for the broker."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection
from typing import Any

from speed_baselines import START, Timed, measure, relay
from speed_result import STEP_S, STEPS_PER_CYCLE, Result
from speed_systems import plant_step

#: A network of shared names on this host; one broker per run.
_CORE = "zmq"


def _broker(pipe: Connection, federates: int, port: int) -> None:
    import helics

    broker = helics.helicsCreateBroker(
        _CORE, "", f"-f {federates} --localport={port} --loglevel=no_print"
    )
    with Timed(pipe):
        helics.helicsBrokerWaitForDisconnect(broker, -1)
    helics.helicsCloseLibrary()


def _federate(name: str, port: int, period: float) -> Any:
    import helics

    info = helics.helicsCreateFederateInfo()
    helics.helicsFederateInfoSetCoreTypeFromString(info, _CORE)
    helics.helicsFederateInfoSetCoreInitString(
        info, f"--federates=1 --brokeraddress=tcp://127.0.0.1:{port} --loglevel=no_print"
    )
    if period:
        helics.helicsFederateInfoSetTimeProperty(info, helics.HELICS_PROPERTY_TIME_PERIOD, period)
    return helics.helicsCreateValueFederate(name, info)


def _publish(federate: Any, topic: str) -> Any:
    import helics

    return helics.helicsFederateRegisterGlobalPublication(
        federate, topic, helics.HELICS_DATA_TYPE_VECTOR, ""
    )


def _enter_and_run(pipe: Connection, federate: Any, steps: Any) -> None:
    import helics

    with Timed(pipe):
        helics.helicsFederateEnterExecutingMode(federate)
        steps()
        helics.helicsFederateDisconnect(federate)
    helics.helicsCloseLibrary()


def _plant(pipe: Connection, port: int, end: float) -> None:
    import helics

    federate = _federate("plant", port, STEP_S)
    output = _publish(federate, "state")
    inputs = [helics.helicsFederateRegisterSubscription(federate, f"control{i}") for i in (1, 2)]
    for control_input in inputs:
        helics.helicsInputSetDefaultVector(control_input, [0.0])

    def run() -> None:
        values, now = START, 0.0
        while True:
            # A control sent at t is here with the next step after t.
            control = sum(helics.helicsInputGetVector(i)[0] for i in inputs)
            values = plant_step(values, control)
            helics.helicsPublicationPublishVector(output, list(values))
            if now >= end:
                return
            now = helics.helicsFederateRequestTime(federate, now + STEP_S)

    _enter_and_run(pipe, federate, run)


def _relay(
    pipe: Connection, port: int, name: str, source: str, target: str, gain: float, end: float
) -> None:
    """A sensor (with a period) or a controller (woken by what it reads)."""
    import helics

    timed = name.startswith("sensor")
    period = STEP_S * STEPS_PER_CYCLE
    federate = _federate(name, port, period if timed else 0.0)
    if timed:
        helics.helicsFederateSetFlagOption(federate, helics.HELICS_FLAG_UNINTERRUPTIBLE, True)
    output = _publish(federate, target)
    reader = helics.helicsFederateRegisterSubscription(federate, source)

    def run() -> None:
        now = 0.0
        while now < end:
            now = helics.helicsFederateRequestTime(
                federate, now + period if timed else helics.HELICS_TIME_MAXTIME
            )
            if now < helics.HELICS_TIME_MAXTIME and helics.helicsInputIsUpdated(reader):
                values = relay(tuple(helics.helicsInputGetVector(reader)), gain)
                helics.helicsPublicationPublishVector(output, list(values))

    _enter_and_run(pipe, federate, run)


def _idle(pipe: Connection, port: int, name: str, end: float) -> None:
    import helics

    federate = _federate(name, port, STEP_S)
    # Without data no federate would wait: each subscribes to what the next one never sends.
    _publish(federate, f"{name}/out")
    index, count = map(int, name.split("_")[1:])
    helics.helicsFederateRegisterSubscription(federate, f"idle_{(index + 1) % count}_{count}/out")

    def run() -> None:
        now = 0.0
        while now < end:
            now = helics.helicsFederateRequestTime(federate, now + STEP_S)

    _enter_and_run(pipe, federate, run)


def _port() -> int:
    """A port per process, below those that the system hands out; HELICS takes some above it."""
    return 23500 + 20 * (os.getpid() % 400)


def helics_loop(size: int, sim_s: float) -> Result:
    """Five federates and a broker."""
    port = _port()
    workers: list[tuple[Any, ...]] = [(_broker, size, port), (_plant, port, sim_s)]
    for i in (1, 2):
        workers.append((_relay, port, f"sensor{i}", "state", f"seen{i}", 0.5, sim_s))
        workers.append((_relay, port, f"controller{i}", f"seen{i}", f"control{i}", -0.5, sim_s))
    return measure("loop", "helics", size, sim_s, workers)


def helics_lockstep(size: int, sim_s: float) -> Result:
    """Federates in a ring of subscriptions, without data."""
    port = _port()
    workers: list[tuple[Any, ...]] = [(_broker, size, port)]
    workers += [(_idle, port, f"idle_{i}_{size}", sim_s) for i in range(size)]
    return measure("lockstep", "helics", size, sim_s, workers)
