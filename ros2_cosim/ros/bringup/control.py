# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Talking to a run under way: finding it and sending it requests."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError, ConnectionFailedError
from ros2_cosim.core.messages.namespaces import inside, remapping
from ros2_cosim.core.process.seal import RUN_SECRET
from ros2_cosim.core.realtime.run_control import Answer, Command, Request
from ros2_cosim.core.run.output_directory import repetitions, shown
from ros2_cosim.ros.bringup.dds import dds_settings
from ros2_cosim.ros.bringup.domain_lock import ActiveRun, active_runs, own_domain

if TYPE_CHECKING:
    from ros2_cosim.core.scenario.changes import Changeable
    from ros2_cosim.ros.node.session import Session

#: Wall time [s] in which a run has to be found by the middleware.
FIND_S = 30.0
_POLL_S = 0.1
#: Finding a service wakes no wait: how often to look for it [s].
_LOOK_S = 0.01
#: Wall time [s] after which a request without an answer is sent again; each time twice as long.
_REPEAT_S = 5.0
#: After these requests a run may end at once.
_ENDING = (Command.RESUME, Command.STOP, Command.ABORT)


def find_run(output: Path | None, told: Callable[[str], None] = lambda text: None) -> ActiveRun:
    """The run of an output directory; None: the only one of this user on this machine.

    :param told: gets a line that names the run, if nothing said which one is meant
    :raises ConfigurationError: there is none, or there are several
    """
    # It was set on purpose: a run in another domain must not be taken instead.
    is_set = output is None and os.environ.get("ROS_DOMAIN_ID")
    domain = own_domain() if is_set else None
    runs = [
        run
        for run in active_runs()
        if domain in (None, run.domain)
        and (output is None or run.output.resolve() == output.resolve())
    ]
    if not runs:
        where = "" if domain is None else f" in ROS domain {domain}"
        where = where if output is None else f" with its results in {shown(output)}"
        raise ConfigurationError(f"no run is under way on this machine{where}")
    if len(runs) > 1:
        found = ", ".join(f"{shown(run.output)} ({run.scenario})" for run in runs)
        raise ConfigurationError(f"several runs are under way; choose one by --out: {found}")
    if domain is None and output is None:
        told(f"run '{runs[0].scenario}' in {runs[0].place}, results in {runs[0].output}")
    return runs[0]


def current_output(run: ActiveRun) -> Path:
    """Where a run under way writes: its output directory, or that of the time it goes on anew."""
    return [run.output, *repetitions(run.output)][-1]


def changeable_now(run: ActiveRun) -> list[Changeable]:
    """What may be changed in a run under way, with the values of the last changes by hand."""
    # Other commands read no scenario: what reads one takes half of their time to import.
    from ros2_cosim.core.scenario.changes import changeable, changed
    from ros2_cosim.core.scenario.changes_by_hand import recorded_changes
    from ros2_cosim.core.scenario.schema import load_scenario

    output = current_output(run)
    scenario = load_scenario(output / RESOLVED_SCENARIO)
    for change in recorded_changes(output):
        scenario = changed(scenario, change.set, change.to)
    return list(changeable(scenario))


class Visit:
    """A command's visit to a run: its ROS session.

    It outlasts what the command does with it, for the middleware may hang while a session is given
    up: by then everything has to be said, and the exit code has to be known.
    """

    def __init__(self) -> None:
        self._session: Session | None = None

    def join(self, run: ActiveRun, name: str) -> Session:
        """A session instead of a run, with its DDS settings; once."""
        os.environ["ROS_DOMAIN_ID"] = str(run.domain)
        # Nothing else of what its lock file says enters this process.
        os.environ.update(dds_settings(run.environment))
        os.environ[RUN_SECRET] = run.secret
        from ros2_cosim.ros.node.session import Session

        arguments = ["cosim", "--ros-args", *remapping(run.namespace)]
        self._session = Session(f"{name}_{os.getpid()}", arguments, standard=False)
        return self._session

    def leave(self, code: int | None) -> None:
        """Give up the session, if there is one.

        :param code: exit code of the process, which ends within seconds now, whatever the
            middleware does; None: the process goes on
        """
        if self._session is None:
            return
        if code is not None:
            self._session.ends_with(code)
        self._session.close()


def ask(
    visit: Visit,
    request: Request,
    output: Path | None,
    told: Callable[[str], None] = lambda text: None,
) -> Answer:
    """Send a request to a run, and wait until it is done.

    :param visit: gets the session
    :param output: see :func:`find_run`
    :param told: see :func:`find_run`
    :raises ConfigurationError: there is no such run
    :raises ConnectionFailedError: the run does not answer, or has ended meanwhile
    """
    run = find_run(output, told)
    session = visit.join(run, "control")
    from ros2_cosim.ros.node.control_services import CONTROL, as_message
    from ros2_cosim.srv import ControlRun

    client = session.node.create_client(ControlRun, inside(session.node, CONTROL))
    began = time.monotonic()
    while not client.service_is_ready():
        if time.monotonic() - began > FIND_S:
            raise ConnectionFailedError(f"found no clock in {run.place} within {FIND_S:g} s")
        _check(run, began)
        session.wait(_LOOK_S)
    begun = repetitions(run.output)
    message = as_message(request, secrets.randbits(63) + 1)
    answers = [client.call_async(message)]
    began = time.monotonic()
    again = _REPEAT_S
    while not any(answer.done() for answer in answers):
        if request.command in _ENDING and run not in active_runs():
            # It ended faster than its answer arrived.
            return Answer(True, "the run has ended")
        if request.command is Command.RESET and repetitions(run.output) > begun:
            # Its nodes were given up faster than their answer arrived.
            return Answer(True, "reset accepted")
        _check(run, began)
        if time.monotonic() - began > again:
            # The run may have answered before its middleware knew the reader of this session.
            answers.append(client.call_async(message))
            again *= 2
        session.wait(_POLL_S)
    response = next(answer.result() for answer in answers if answer.done())
    return Answer(response.success, response.message)


def _check(run: ActiveRun, began: float) -> None:
    if time.monotonic() - began > 1.0 and run not in active_runs():
        raise ConnectionFailedError(f"the run in {run.place} has ended meanwhile")
