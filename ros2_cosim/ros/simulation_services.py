# SPDX-License-Identifier: Apache-2.0
"""The services of ``simulation_interfaces``, the common way to control simulators in ROS 2.

They are offered where that package is installed (version 2 of its definitions), below
``/cosim/``, and do what the run's own services do:

======================  ==================================================================
GetSimulatorFeatures    what of the following there is
GetSimulationState      playing or paused; stopped once the run is over
SetSimulationState      playing: resume; paused: pause; stopped: begin anew, paused, where
                        the run can; quitting: end the run in order
StepSimulation          so many steps of the clock; the run has to be paused
SimulateSteps           the same as an action, with feedback, where the package has it
ResetSimulation         begin anew, where the run can; scopes default, time and all
======================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from rclpy.node import Node

from ros2_cosim.realtime.run_control import Answer, Command, Request, RunControl
from ros2_cosim.ros.deferred_service import deferred_service
from ros2_cosim.ros.simulate_steps import SimulateSteps

#: The package, and where its services are offered.
PACKAGE = "simulation_interfaces"
PREFIX = "/cosim"

Ask = Callable[[Request, Callable[[Answer], None]], None]
Send = Callable[[], None]


class SimulationServices:
    """The standard services on top of the run's own.

    :param node: the ROS node that owns the clock
    :param ask: hands a request on to the run
    :param control: the run's control, for its state
    """

    @staticmethod
    def offer(node: Node, ask: Ask, control: RunControl) -> SimulationServices | None:
        """Offer the services if the package is installed."""
        if find_spec(PACKAGE) is None:
            return None
        try:
            return SimulationServices(node, ask, control)
        except (ImportError, AttributeError) as error:
            print(f"{PACKAGE}: its services are not offered ({error})", flush=True)
            return None

    def __init__(self, node: Node, ask: Ask, control: RunControl) -> None:
        from simulation_interfaces import msg, srv

        self._ask = ask
        self._control = control
        self._result = msg.Result
        self._state = msg.SimulationState
        self._features = msg.SimulatorFeatures
        self._already = srv.SetSimulationState.Response.ALREADY_IN_TARGET_STATE
        for kind, name, handle in (
            (srv.GetSimulatorFeatures, "get_simulator_features", self._get_features),
            (srv.GetSimulationState, "get_simulation_state", self._get_state),
            (srv.SetSimulationState, "set_simulation_state", self._set_state),
            (srv.StepSimulation, "step_simulation", self._step),
            (srv.ResetSimulation, "reset_simulation", self._reset),
        ):
            deferred_service(node, kind, f"{PREFIX}/{name}", handle)
        self._action = self._offer_action(node)

    def _offer_action(self, node: Node) -> SimulateSteps | None:
        try:
            from simulation_interfaces.action import SimulateSteps as Kind
        except ImportError:
            return None  # the package is older than the action
        return SimulateSteps(node, f"{PREFIX}/simulate_steps", Kind, self._ask, self._result)

    def _get_features(self, asked: Any, response: Any, send: Send) -> None:
        kinds = self._features
        found = [
            kinds.SIMULATION_STATE_GETTING,
            kinds.SIMULATION_STATE_SETTING,
            kinds.SIMULATION_STATE_PAUSE,
            kinds.STEP_SIMULATION_SINGLE,
            kinds.STEP_SIMULATION_MULTIPLE,
        ]
        if self._action is not None:
            found.append(kinds.STEP_SIMULATION_ACTION)
        if self._control.can_reset:
            found += [kinds.SIMULATION_RESET, kinds.SIMULATION_RESET_TIME]
        response.features.features = [int(feature) for feature in found]
        response.features.custom_info = "a step is one clock_step of the scenario"
        send()

    def _get_state(self, asked: Any, response: Any, send: Send) -> None:
        response.state.state = self._present()
        response.result.result = self._result.RESULT_OK
        send()

    def _set_state(self, asked: Any, response: Any, send: Send) -> None:
        wanted = asked.state.state
        kinds = self._state
        if wanted == self._present():
            self._finish(response, send, self._already)(Answer(True, "already in this state"))
            return
        commands = {
            kinds.STATE_PLAYING: Command.RESUME,
            kinds.STATE_PAUSED: Command.PAUSE,
            kinds.STATE_STOPPED: Command.RESET,
            kinds.STATE_QUITTING: Command.STOP,
        }
        command = commands.get(wanted)
        if command is None:
            code = self._result.RESULT_FEATURE_UNSUPPORTED
            self._finish(response, send, code)(Answer(True, f"state {wanted} is not known"))
        else:
            # To be stopped is to be at the start, and paused.
            steps = int(command is Command.RESET)
            self._ask(Request(command, steps), self._finish(response, send))

    def _step(self, asked: Any, response: Any, send: Send) -> None:
        if not self._control.paused:
            code = self._result.RESULT_INCORRECT_STATE
            answer = Answer(True, "the run is not paused; a step needs a paused run")
            self._finish(response, send, code)(answer)
            return
        steps = min(asked.steps, 2**32 - 1)
        if not steps:
            self._finish(response, send)(Answer(True, ""))
            return
        self._ask(Request(Command.STEP, steps), self._finish(response, send))

    def _reset(self, asked: Any, response: Any, send: Send) -> None:
        request = type(asked)
        if asked.scope not in (request.SCOPE_DEFAULT, request.SCOPE_TIME, request.SCOPE_ALL):
            code = self._result.RESULT_FEATURE_UNSUPPORTED
            answer = Answer(True, f"scope {asked.scope}: a reset is of the whole run only")
            self._finish(response, send, code)(answer)
            return
        self._ask(Request(Command.RESET), self._finish(response, send))

    def _present(self) -> int:
        if self._control.is_over:
            return int(self._state.STATE_STOPPED)
        paused = self._control.paused
        return int(self._state.STATE_PAUSED if paused else self._state.STATE_PLAYING)

    def _finish(
        self, response: Any, send: Send, code: int | None = None
    ) -> Callable[[Answer], None]:
        """A reply that fills in the result; ``code`` replaces that of success."""

        def reply(answer: Answer) -> None:
            done = self._result.RESULT_OK if code is None else code
            failed = self._result.RESULT_OPERATION_FAILED
            response.result.result = done if answer.success else failed
            plain = answer.success and code is None
            response.result.error_message = "" if plain else answer.message
            send()

        return reply
