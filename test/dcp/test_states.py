# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The state machine's tables against the standard's lists."""

from __future__ import annotations

from ros2_cosim.dcp.standard.enums import PduType, State
from ros2_cosim.dcp.standard.states import (
    ALLOWED,
    ERROR,
    NON_REAL_TIME,
    NORMAL_OPERATION,
    OVERTAKEN,
    STOPPABLE,
    TRANSITIONS,
    is_transition,
)

S, P = State, PduType


def test_a_notification_that_was_overtaken_is_known_as_such() -> None:
    assert {(State.COMPUTING, State.COMPUTED), (State.SENDING_D, State.RUNNING)} <= OVERTAKEN
    assert {(State.STOPPING, State.STOPPED), (State.SENDING_I, State.CONFIGURED)} <= OVERTAKEN
    assert not any(is_transition(later, earlier) for earlier, later in OVERTAKEN)


def test_nineteen_states_have_the_codes_of_the_standard() -> None:
    assert [(state.value, state.name) for state in State] == list(
        enumerate(
            "ALIVE CONFIGURATION PREPARING PREPARED CONFIGURING CONFIGURED INITIALIZING "
            "INITIALIZED SENDING_I SYNCHRONIZING SYNCHRONIZED RUNNING COMPUTING COMPUTED "
            "SENDING_D STOPPING STOPPED ERRORHANDLING ERRORRESOLVED".split()
        )
    )
    assert len(State) == 19
    assert {S.COMPUTING, S.COMPUTED, S.SENDING_D} == NON_REAL_TIME


def test_pdus_have_the_codes_of_the_standard() -> None:
    requests = (
        "register deregister prepare configure initialize run do_step send_outputs stop reset"
    )
    configuration = (
        "time_res steps input output clear target_network_information source_network_information "
        "parameter tunable_parameter param_network_information logging scope"
    )
    codes = {
        **{f"STC_{name}": 0x01 + n for n, name in enumerate(requests.split())},
        **{f"CFG_{name}": 0x20 + n for n, name in enumerate(configuration.split())},
        **{f"INF_{name}": 0x80 + n for n, name in enumerate(("state", "error", "log"))},
        **{
            f"RSP_{name}": 0xB0 + n
            for n, name in enumerate(("ack", "nack", "state_ack", "error_ack", "log_ack"))
        },
        **{f"NTF_{name}": 0xE0 + n for n, name in enumerate(("state_changed", "log"))},
        **{f"DAT_{name}": 0xF0 + n for n, name in enumerate(("input_output", "parameter"))},
    }
    assert {kind.name: kind.value for kind in PduType} == codes


def test_superstates_divide_the_states() -> None:
    assert {S.ALIVE} | NORMAL_OPERATION | ERROR == set(State)
    assert not NORMAL_OPERATION & ERROR
    assert {S.ALIVE, S.CONFIGURATION, S.STOPPING, S.STOPPED} | ERROR == set(State) - STOPPABLE


def test_allowed_states_of_requests() -> None:
    assert ALLOWED[P.STC_register] == {S.ALIVE}
    assert ALLOWED[P.STC_deregister] == {S.CONFIGURATION, S.STOPPED, S.ERRORRESOLVED}
    assert ALLOWED[P.STC_run] == {S.CONFIGURED, S.SYNCHRONIZED}
    assert ALLOWED[P.STC_do_step] == {S.SYNCHRONIZING, S.SYNCHRONIZED, S.RUNNING}
    assert ALLOWED[P.STC_send_outputs] == {S.INITIALIZED, S.COMPUTED}
    assert ALLOWED[P.STC_stop] == set(range(S.PREPARING, S.STOPPING))
    assert ALLOWED[P.STC_reset] == {S.STOPPED, S.ERRORRESOLVED}
    assert ALLOWED[P.CFG_scope] == {S.CONFIGURATION}
    assert ALLOWED[P.INF_state] == set(State)
    assert ALLOWED[P.INF_error] == ERROR
    assert ALLOWED[P.INF_log] == set(State) - {S.ALIVE}
    assert ALLOWED[P.DAT_input_output] == set(range(S.CONFIGURED, S.STOPPING))


def test_run_needs_two_requests() -> None:
    found = [(row.sources, row.target) for row in TRANSITIONS if row.request is P.STC_run]
    assert found == [({S.CONFIGURED}, S.SYNCHRONIZING), ({S.SYNCHRONIZED}, S.RUNNING)]


def test_every_state_can_be_reached_and_left() -> None:
    for state in set(State) - {S.ALIVE}:
        assert any(is_transition(other, state) for other in State)
    for state in State:
        assert any(state in row.sources for row in TRANSITIONS)
    assert is_transition(S.SENDING_D, S.SYNCHRONIZING)
    assert not is_transition(S.ALIVE, S.ERRORHANDLING)
    assert not is_transition(S.CONFIGURATION, S.STOPPING)


#: The arrows of the standard's figure, without those that lead to STOPPING and ERRORHANDLING.
ARROWS: dict[State, set[State]] = {
    S.ALIVE: {S.CONFIGURATION},
    S.CONFIGURATION: {S.ALIVE, S.PREPARING},
    S.PREPARING: {S.PREPARED},
    S.PREPARED: {S.CONFIGURING},
    S.CONFIGURING: {S.CONFIGURED},
    S.CONFIGURED: {S.INITIALIZING, S.SYNCHRONIZING},
    S.INITIALIZING: {S.INITIALIZED},
    S.INITIALIZED: {S.SENDING_I},
    S.SENDING_I: {S.CONFIGURED},
    S.SYNCHRONIZING: {S.SYNCHRONIZED, S.COMPUTING},
    S.SYNCHRONIZED: {S.RUNNING, S.COMPUTING},
    S.RUNNING: {S.COMPUTING},
    S.COMPUTING: {S.COMPUTED},
    S.COMPUTED: {S.SENDING_D},
    S.SENDING_D: {S.SYNCHRONIZING, S.SYNCHRONIZED, S.RUNNING},
    S.STOPPING: {S.STOPPED},
    S.STOPPED: {S.ALIVE, S.CONFIGURATION},
    S.ERRORHANDLING: {S.ERRORRESOLVED},
    S.ERRORRESOLVED: {S.ALIVE, S.CONFIGURATION},
}


def test_the_arrows_are_those_of_the_figure() -> None:
    stoppable = set(range(S.PREPARING, S.STOPPING))
    normal = set(State) - {S.ALIVE, S.ERRORHANDLING, S.ERRORRESOLVED}
    for source in State:
        targets = set(ARROWS[source])
        targets |= {S.STOPPING} if source in stoppable else set()
        targets |= {S.ERRORHANDLING} if source in normal else set()
        assert {target for target in State if is_transition(source, target)} == targets, source
