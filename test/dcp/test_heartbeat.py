# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The heartbeat of a master: INF_state in time, whatever else it sends."""

from __future__ import annotations

import time
from fractions import Fraction
from threading import Event, RLock
from threading import enumerate as enumerate_threads
from types import SimpleNamespace

import pytest
from support.dcp_models import Offset, running
from support.patience import HANG_S

from ros2_cosim.dcp.master.heartbeat import HeartbeatThread
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import PendingRequest, RemoteSlave
from ros2_cosim.dcp.master.requests import Requests
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.registration import Registration
from ros2_cosim.dcp.standard.enums import PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpPeerLostError, DcpTimeoutError

TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
INTERVAL_S = 1000.0
"""No test lasts so long: what the slave misses is told by the clock of the test alone."""
STEP_S = 40.0
STEPS = 200


class HandClock:
    """The master's clock, which stands still but for :meth:`pass_time`."""

    def __init__(self) -> None:
        self.now = 1.0

    def pass_time(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("transport", [TCP, UDP])
@pytest.mark.parametrize("slaves", [1, 3])
def test_no_interval_passes_without_inf_state_while_stepping(
    transport: TransportProtocol, slaves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = HandClock()
    fake = SimpleNamespace(monotonic=lambda: clock.now, sleep=time.sleep)
    monkeypatch.setattr("ros2_cosim.dcp.master.requests.time", fake)
    beats: dict[int, list[float]] = {}
    beat = Registration.beat

    def counted(registration: Registration, now: float) -> None:
        beats.setdefault(registration.slave_id, []).append(clock.now)
        beat(registration, now)

    monkeypatch.setattr(Registration, "beat", counted)
    description = describe(Offset, heartbeat=Fraction(int(INTERVAL_S)))
    served = [running(Offset(), description) for _ in range(slaves)]
    started = [one.__enter__() for one in served]
    try:
        with Master(timeout_s=1e9, retry_s=1e9) as master:
            for number, one in enumerate(started):
                name = f"slave{number}"
                master.add_slave(description, port=one.port, transport=transport, name=name)
            master.configure()
            master.run()
            for _ in range(STEPS):
                clock.pass_time(STEP_S)
                master.do_step()
            master.stop()
    finally:
        for one in served:
            one.__exit__(None, None, None)
    assert len(beats) == slaves
    for times in beats.values():
        gaps = [later - now for now, later in zip(times, [*times[1:], clock.now], strict=True)]
        # A third of the interval, and the step in which it becomes due.
        assert max(gaps) <= INTERVAL_S / 3 + STEP_S


def test_an_answer_to_a_heartbeat_is_waited_for_as_long_as_any() -> None:
    """Over UDP, where it may be lost; what else waits has a time of its own."""
    description = describe(Offset, heartbeat=Fraction(1))
    slave = RemoteSlave("a", description, 1, "127.0.0.1", 9, UDP)
    requests = Requests({"a": slave}, timeout_s=5.0, retry_s=1.0)
    try:
        slave.pending[3] = PendingRequest(PduType.INF_state, b"", first=100.0)
        assert not requests._heartbeat(slave, 105.0)
        slave.pending[3] = PendingRequest(PduType.STC_run, b"", first=0.0)
        assert not requests._heartbeat(slave, 105.0)
        slave.pending[3] = PendingRequest(PduType.INF_state, b"", first=100.0)
        with pytest.raises(DcpTimeoutError, match="the answer to INF_state"):
            requests._heartbeat(slave, 105.1)
    finally:
        requests.sockets.close()


def test_a_wait_lasts_until_the_first_beat_is_due_and_no_longer() -> None:
    """Four seconds after the last one: a third of the interval."""
    slaves = {
        name: RemoteSlave(name, describe(Offset, heartbeat=interval), 1, "127.0.0.1", 9, TCP)
        for name, interval in (("a", None), ("b", Fraction(12)), ("c", Fraction(12)))
    }
    requests = Requests(slaves, timeout_s=5.0, retry_s=1.0)
    try:
        for now, slave in enumerate(slaves.values(), start=10):
            slave.beat_sent(float(now))
        assert requests.idle(10.5) == 3600.0  # none is registered
        for slave in slaves.values():
            slave.state = State.RUNNING
        assert requests.idle(11.5) == 3.5
        slaves["b"].state = State.ALIVE
        assert requests.idle(11.5) == 4.5
        slaves["a"].protocol = UDP
        assert requests.idle(11.5) == 1.0  # when a lost request would be repeated
    finally:
        requests.sockets.close()


def test_of_several_slaves_the_one_that_keeps_the_others_waiting_is_named() -> None:
    slaves = {name: RemoteSlave(name, describe(Offset), 1, "127.0.0.1", 9, TCP) for name in "abc"}
    requests = Requests(slaves, timeout_s=5.0, retry_s=1.0)
    a, b, c = slaves.values()
    b.state, c.state = State.PREPARED, State.CONFIGURATION

    def named() -> str:
        return str(requests._timeout([a, b, c], "PREPARED"))

    try:
        said = "PREPARED did not come within 5 s"
        assert named() == f"slave 'c' is in CONFIGURATION; {said}"
        c.state = State.PREPARED
        assert named() == f"slave 'a' is in no state yet; {said}"
        b.pending[3] = PendingRequest(PduType.STC_prepare, b"", first=0.0)
        assert named() == f"slave 'b' is in PREPARED; {said}; unanswered: STC_prepare"
    finally:
        requests.sockets.close()


def test_a_refused_connection_is_tried_again_for_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HandClock()
    fake = SimpleNamespace(monotonic=lambda: clock.now, sleep=clock.pass_time)
    monkeypatch.setattr("ros2_cosim.dcp.master.sockets.time", fake)
    tried: list[float] = []

    def refuse(host: str, port: int, timeout_s: float) -> None:
        tried.append(clock.now)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("ros2_cosim.dcp.master.sockets.tcp_connect", refuse)
    with Master(connect_wait_s=0.25) as master:
        slave = master.add_slave(describe(Offset), port=9)
        with pytest.raises(DcpPeerLostError, match="no connection to 127.0.0.1:9: Connection ref"):
            master._requests.sockets.open(slave)
    assert tried == pytest.approx([1.0, 1.1, 1.2, 1.3])


def test_a_heartbeat_that_is_under_way_is_waited_for_at_the_end() -> None:
    """It does not beat while the master is in use, and ends its wait for that."""
    lock, tried, beats = RLock(), Event(), list[float]()

    def acquire(timeout: float) -> bool:
        tried.set()
        return lock.acquire(timeout=timeout)

    watched = SimpleNamespace(acquire=acquire, release=lock.release)
    thread = HeartbeatThread(watched, beats.append)  # type: ignore[arg-type]
    before = set(enumerate_threads())
    with lock:
        thread.start(0.05)
        assert tried.wait(HANG_S)
        thread.stop()
        assert set(enumerate_threads()) <= before
    assert beats == []
