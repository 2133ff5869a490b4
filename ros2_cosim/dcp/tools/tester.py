# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Verifies a slave protocol step by protocol step and reports about it.

Example::

    report = verify_slave(read_description("slave.dcpx"), port=8080)
    print(report.text())
    Path("report.json").write_text(report.json())
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.dcp.standard.enums import TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpPeerLostError, WiringError
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.dcp.tools.tester_session import TesterSession
from ros2_cosim.dcp.tools.tester_steps import PROCEDURES, Procedure

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Outcome:
    """Result of one procedure; ``transcript`` lists its PDUs."""

    name: str
    about: str
    result: str
    message: str = ""
    transcript: tuple[str, ...] = ()


@dataclass
class TesterReport:
    """Results of all procedures."""

    slave: str
    uuid: str
    address: str
    transport: str
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing failed and something was tested."""
        results = [o.result for o in self.outcomes]
        return PASSED in results and FAILED not in results

    def json(self) -> str:
        """Everything, the transcripts of failed procedures included."""
        data = asdict(self) | {"passed": self.passed}
        for outcome in data["outcomes"]:
            if outcome["result"] != FAILED:
                del outcome["transcript"]
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"

    def text(self) -> str:
        """One line per procedure, the transcript of those that failed, and a summary."""
        lines = [f"{self.slave} ({self.uuid}) at {self.address} over {self.transport}"]
        for outcome in self.outcomes:
            detail = f": {outcome.message}" if outcome.message else ""
            lines.append(f"  {outcome.result:8s}{outcome.name} - {outcome.about}{detail}")
            if outcome.result == FAILED:
                lines += [f"            {line}" for line in outcome.transcript]
        counts = [f"{sum(o.result == r for o in self.outcomes)} {r}" for r in _RESULTS]
        lines.append(", ".join(counts))
        return "\n".join(lines)


_RESULTS = (PASSED, FAILED, SKIPPED)


def verify_slave(
    description: SlaveDescription,
    host: str | None = None,
    port: int | None = None,
    *,
    transport: TransportProtocol | None = None,
    only: Sequence[str] = (),
    hostile: bool = False,
    timeout_s: float = 5.0,
    progress: Callable[[Outcome], None] = lambda outcome: None,
) -> TesterReport:
    """Run all procedures that apply to a slave.

    :param host, port: control address, by default that of the description
    :param transport: by default TCP where the slave offers it
    :param only: names of procedures (or their first parts) to restrict the test to
    :param hostile: also try what slaves are known to crash at
    :raises WiringError: transport, port or a name in ``only`` is not there
    :raises DcpPeerLostError: no answer from the address
    """
    if transport is None:
        tcp = description.tcp is not None
        transport = TransportProtocol.TCP_IPv4 if tcp else TransportProtocol.UDP_IPv4
    offer = description.transport(transport)
    if offer is None:
        raise WiringError(f"slave {description.name!r} does not offer {transport.name}")
    port = port or offer.port
    if not port:
        raise WiringError(f"slave {description.name!r}: its description names no port; give one")
    host = host or offer.host or "127.0.0.1"
    chosen = [p for p in PROCEDURES if _wanted(p, only)]
    if not chosen:
        known = ", ".join(p.name for p in PROCEDURES)
        raise WiringError(f"no procedure {', '.join(only)}; there are {known}")
    report = TesterReport(description.name, description.uuid, f"{host}:{port}", transport.name)
    for number, procedure in enumerate(chosen):
        reason = procedure.needs(description)
        if procedure.hostile and not hostile and not only:
            reason = reason or "only where it is named (--only)"
        if reason:
            outcome = Outcome(procedure.name, procedure.about, SKIPPED, reason)
        else:
            try:
                session = TesterSession(description, host, port, transport, timeout_s)
            except DcpPeerLostError as error:
                if number == 0:
                    raise
                outcome = Outcome(procedure.name, procedure.about, FAILED, str(error))
            else:
                outcome = _run(procedure, session)
        report.outcomes.append(outcome)
        progress(outcome)
    return report


def _wanted(procedure: Procedure, only: Sequence[str]) -> bool:
    return not only or any(
        procedure.name == name or procedure.name.startswith(f"{name}.") for name in only
    )


def _run(procedure: Procedure, session: TesterSession) -> Outcome:
    try:
        session.recover()  # a former procedure may have failed half-way
        session.dialogue.transcript.clear()
        procedure.run(session)
    except CosimError as error:
        transcript = tuple(session.dialogue.transcript)
        try:
            session.recover()
        except CosimError as lost:
            return Outcome(
                procedure.name, procedure.about, FAILED, f"{error}; then {lost}", transcript
            )
        return Outcome(procedure.name, procedure.about, FAILED, str(error), transcript)
    finally:
        session.dialogue.close()
    return Outcome(procedure.name, procedure.about, PASSED)
