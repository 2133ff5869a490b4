# SPDX-License-Identifier: Apache-2.0
"""Log entries: on request, by notification, by category and level."""

from __future__ import annotations

from support.dcp_models import running
from support.patience import HANG_S

from ros2_cosim.dcp.description.slave_description import LogCategory, LogTemplate
from ros2_cosim.dcp.master.log import LogEntry
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.slave_model import Output, SlaveModel, StepInfo
from ros2_cosim.dcp.wire.enums import LogLevel, LogMode

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
