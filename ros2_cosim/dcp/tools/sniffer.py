# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Prints DCP traffic: one line per PDU, with values of data PDUs if their types are known.

The sniffer learns the content of data PDUs from the configuration before them: CFG_input names the
types of its values one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.dcp.standard.enums import DataType, PduType
from ros2_cosim.dcp.standard.errors import PduError, WiringError
from ros2_cosim.dcp.standard.pdu import Pdu, decode, decode_address
from ros2_cosim.dcp.standard.values import decode_value
from ros2_cosim.dcp.tools.capture import Captured, is_pdu
from ros2_cosim.dcp.tools.proxy import Proxy

_ADDRESSED = (
    PduType.CFG_target_network_information,
    PduType.CFG_source_network_information,
    PduType.CFG_param_network_information,
)
_DATA = {PduType.DAT_input_output: "data_id", PduType.DAT_parameter: "param_id"}


class Printer:
    """Writes PDUs as lines."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._begin: float | None = None
        self._types: dict[tuple[str, int], dict[int, DataType]] = {}
        self.shown = 0

    def show(self, found: Captured) -> None:
        """One PDU."""
        try:
            pdu = decode(found.data)
        except PduError:
            return
        if self._begin is None:
            self._begin = found.time
        source, target = (f"{host}:{port}" for host, port in (found.source, found.target))
        print(
            f"{found.time - self._begin:10.6f} {found.transport} {source} > {target} "
            f"{self.text(pdu)}",
            file=self._out,
            flush=True,
        )
        self.shown += 1

    def show_all(self, captured: Iterable[Captured]) -> None:
        """All PDUs of a file or an interface."""
        for found in captured:
            self.show(found)

    def text(self, pdu: Pdu) -> str:
        """The PDU as text: addresses readable, values of data PDUs where their types are known."""
        self._learn(pdu)
        if pdu.kind in _ADDRESSED and len(pdu.address) == 6:
            host, port = decode_address(pdu.address)
            return str(pdu).replace(f"address={pdu.address.hex()}", f"address={host}:{port}")
        name = _DATA.get(pdu.kind)
        types = self._types.get((name, pdu.fields[name])) if name else None
        if types and sorted(types) == list(range(len(types))):
            try:
                values, at = [], 0
                for pos in sorted(types):
                    value, at = decode_value(types[pos], pdu.payload, at)
                    values.append(value)
            except PduError:
                return str(pdu)
            if at == len(pdu.payload):
                text = ", ".join(repr(value) for value in values)
                return str(pdu).replace(f"payload={pdu.payload.hex()}", f"values=({text})")
        return str(pdu)

    def _learn(self, pdu: Pdu) -> None:
        if pdu.kind in (PduType.CFG_input, PduType.CFG_tunable_parameter):
            name = "data_id" if pdu.kind is PduType.CFG_input else "param_id"
            if pdu.source_data_type in DataType.__members__.values():
                slots = self._types.setdefault((name, pdu.fields[name]), {})
                slots[pdu.pos] = DataType(pdu.source_data_type)
        elif pdu.kind is PduType.STC_register:
            self._types.clear()  # a new co-simulation numbers its data anew


def sniff_proxy(text: str, printer: Printer) -> None:
    """Run a proxy and show its PDUs, until interrupted.

    :param text: ``LISTEN_PORT=HOST:PORT``
    :raises WiringError: the text is of another form, or the port cannot be used
    """
    listen, _, target = text.partition("=")
    host, _, port = target.rpartition(":")
    if not (listen.isdigit() and port.isdigit() and host):
        raise WiringError(f"proxy {text}: allowed is LISTEN_PORT=HOST:PORT")

    def see(found: Captured) -> None:
        if is_pdu(found.data):
            printer.show(found)

    try:
        with Proxy("127.0.0.1", int(listen), host, int(port), see) as proxy:
            print(f"listening on 127.0.0.1:{proxy.port} for {host}:{port}", flush=True)
            proxy.run()
    except OSError as error:
        raise WiringError(f"proxy {text}: {cause_of(error)}") from None
