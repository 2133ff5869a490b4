# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Log entries: on request, by notification, by category and level."""

from __future__ import annotations

import pytest
from support.dcp_models import Offset, running
from support.dcp_session import P, Session
from support.patience import HANG_S

from ros2_cosim.dcp.master.log import LogEntry
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.log import SlaveLog
from ros2_cosim.dcp.slave.slave_model import Output, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.data_report import CATEGORY as DATA_CATEGORY
from ros2_cosim.dcp.standard.enums import LogLevel, LogMode, TransportProtocol
from ros2_cosim.dcp.standard.errors import PduError
from ros2_cosim.dcp.standard.slave_description import LogCategory, LogTemplate

DESCRIBE = {
    "log_categories": (LogCategory(1, "general"), LogCategory(7, "numbers")),
    "log_templates": (
        LogTemplate(1, 1, LogLevel.INFORMATION, "step %uint64 of %string"),
        LogTemplate(2, 7, LogLevel.DEBUG, "100%% of %float64"),
    ),
}


class Talking(SlaveModel):
    y = Output("float64", start=0.0)

    def do_step(self, step: StepInfo) -> None:
        self.log(1, step.ticks, "grün")
        self.log(2, step.ticks / 2)


def test_on_request_and_by_notification() -> None:
    description = describe(Talking, **DESCRIBE)
    notified: list[LogEntry] = []
    with (
        running(Talking(), description) as slave,
        Master(on_log=notified.append, timeout_s=HANG_S) as master,
    ):
        master.add_slave(description, port=slave.port)
        master.set_logging("Talking", LogLevel.INFORMATION, LogMode.ON_REQUEST)
        master.set_logging("Talking", LogLevel.DEBUG, LogMode.ON_NOTIFICATION, 7)
        master.configure()
        master.run()
        master.do_step(3)
        assert [e.text for e in notified] == [f"100% of {i / 2}" for i in range(3)]
        notified.clear()
        assert [e.text for e in master.request_log("Talking", 1, 2)] == [
            "step 0 of grün",
            "step 1 of grün",
        ]
        rest = master.request_log("Talking")
        assert [(e.text, e.category, e.level) for e in rest] == [("step 2 of grün", 1, 3)]
        assert master.request_log("Talking") == []
        master.stop()


def test_off_by_default() -> None:
    description = describe(Talking, **DESCRIBE)
    with running(Talking(), description) as slave, Master(timeout_s=HANG_S) as master:
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        master.do_step(2)
        assert master.request_log("Talking") == []
        master.stop()


@pytest.mark.parametrize(
    ("transport", "asked"),
    [(TransportProtocol.UDP_IPv4, [DATA_CATEGORY.id]), (TransportProtocol.TCP_IPv4, [])],
)
def test_counts_of_data_are_asked_for_only_where_data_can_be_lost(
    transport: TransportProtocol, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    categories: list[int] = []
    take = SlaveLog.take

    def noted(log: SlaveLog, category: int, most: int, room: int) -> bytes:
        categories.append(category)
        return take(log, category, most, room)

    monkeypatch.setattr(SlaveLog, "take", noted)
    description = describe(Offset)
    with running(Offset(), description) as slave, Master(timeout_s=HANG_S) as master:
        master.add_slave(description, port=slave.port, transport=transport)
        master.configure()
        master.run()
        master.do_step()
        master.stop()
    assert categories == asked


def test_the_oldest_entries_are_taken_first_as_far_as_there_is_room() -> None:
    """An entry without arguments has 9 bytes: its time and its template."""
    notified: list[bytes] = []
    description = describe(
        Talking,
        log_categories=(LogCategory(1, "a"), LogCategory(7, "b")),
        log_templates=(
            LogTemplate(1, 1, LogLevel.INFORMATION, "one"),
            LogTemplate(2, 7, LogLevel.DEBUG, "two"),
            LogTemplate(3, 7, LogLevel.INFORMATION, "%string"),
        ),
    )
    log = SlaveLog(description, lambda: 5.9, notified.append)
    log.write(1)
    assert log.take(0, 9, 900) == b""  # nothing is switched on
    log.modes = {
        (1, LogLevel.INFORMATION): LogMode.ON_REQUEST,
        (7, LogLevel.DEBUG): LogMode.ON_REQUEST,
        (7, LogLevel.INFORMATION): LogMode.ON_REQUEST,
    }
    one, two = ((5).to_bytes(8, "little") + bytes([template]) for template in (1, 2))
    for template in (1, 2, 1, 2, 1):
        log.write(template)
    assert log.take(7, 1, 900) == two
    assert log.take(0, 2, 900) == one + one
    # Room for one of the two that are left; the other one stays.
    assert log.take(0, 9, 17) == two
    assert log.take(7, 9, 900) == b""
    assert log.take(1, 9, 9) == one
    # One that is larger than any answer is dropped, if it is wanted.
    log.write(3, "x" * 100)
    log.write(1)
    log.write(2)
    assert log.take(1, 9, 50) == one
    assert log.take(7, 9, 50) == two
    assert (log.take(0, 9, 900), notified) == (b"", [])
    assert log.knows(0) and log.knows(7) and not log.knows(2)
    with pytest.raises(PduError, match="log template 4 is not in the description"):
        log.write(4)
    log.modes[7, LogLevel.DEBUG] = LogMode.ON_NOTIFICATION
    log.write(2)
    log.write(1)
    log.clear()
    log.write(1)
    assert notified == [two] and log.take(0, 9, 900) == b""


def test_a_cleared_configuration_has_no_log_entries_and_logs_nothing() -> None:
    session = Session()
    session.ok(P.CFG_logging, log_category=3, log_level=2, log_mode=LogMode.ON_REQUEST)
    session.bench.slave.model.log(1)
    session.ok(P.CFG_clear)
    session.bench.slave.model.log(1)
    (answer,) = session.ask(P.INF_log, log_category=3, log_max_num=9)
    assert (answer.kind, answer.entries) == (P.RSP_log_ack, b"")
