# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The kinds of faults that come with the package."""

import struct
from abc import abstractmethod
from collections import deque
from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field

from ros2_cosim.core.documents.offered import find_kind, offered
from ros2_cosim.core.documents.settings import Number, PositiveDuration, Whole
from ros2_cosim.core.faults.fields import values_of, with_field
from ros2_cosim.core.faults.settings import FAULT_GROUP, Act, FaultSettings
from ros2_cosim.core.kernel.errors import ConfigurationError, MissingWingError

_FLOAT = struct.Struct("<d")
_BITS = struct.Struct("<Q")


def fault_kinds() -> dict[str, type[FaultSettings]]:
    """Name -> class of all kinds that are offered.

    :raises ConfigurationError: one cannot be imported
    """
    found = {}
    for name in offered(FAULT_GROUP):
        with suppress(MissingWingError):
            found[name] = find_kind(FAULT_GROUP, name, "faults", "fault", FaultSettings)
    return found


class Drop(FaultSettings):
    """A message is lost."""

    loses = True

    def changed(self, value: Any, act: Act) -> Any:
        """Nothing."""
        return None


class Delay(FaultSettings):
    """A message arrives later."""

    delays = True
    delay: PositiveDuration = Field(description="by how much")

    @property
    def delay_ns(self) -> int:
        """As declared."""
        return self.delay

    def changed(self, value: Any, act: Act) -> Any:
        """The same."""
        return value


class Freeze(FaultSettings):
    """The port repeats the message from before the fault."""

    def changed(self, value: Any, act: Act) -> Any:
        """That one."""
        return act.kept


class FieldFault(FaultSettings):
    """A field of a message changes."""

    field: str = Field(description="field of the message; of lists: of all")

    def check_field(self, found: Any, where: str) -> None:
        """Check whether the field can be of a type.

        :param where: how messages call the fault
        :raises ConfigurationError: it cannot
        """


class Stuck(FieldFault):
    """A field keeps its value from before the fault; in a list, as far as it had as many."""

    def changed(self, value: Any, act: Act) -> Any:
        """The message with the former values of the field."""
        former = deque(values_of(act.kept, self.field))
        return with_field(value, self.field, lambda old: former.popleft() if former else old)


class Replace(FieldFault):
    """A field has a given value."""

    value: Any = Field(description="what the field is")

    def changed(self, value: Any, act: Act) -> Any:
        """The message with the value, as the type that the record has."""
        return with_field(value, self.field, self._alike)

    def _alike(self, old: Any) -> Any:
        return tuple(self.value) if isinstance(old, tuple) else type(old)(self.value)

    def check_field(self, found: Any, where: str) -> None:
        """Check whether the value is one of the field's type."""
        value = self.value
        if found is float:
            fits = isinstance(value, (int, float)) and not isinstance(value, bool)
            allowed = "a number"
        elif found in (int, bool, str):
            fits = type(value) is found
            allowed = {int: "a whole number", bool: "true or false", str: "a text"}[found]
        else:
            fits, allowed = value == [], "[], the empty list"
        if not fits:
            raise ConfigurationError(f"{where}.value: found {value!r}; allowed is {allowed}")


class NumberFault(FieldFault):
    """A field that is a number, not only a whole one, changes."""

    def changed(self, value: Any, act: Act) -> Any:
        """The message with the number changed."""
        return with_field(value, self.field, lambda old: self.changed_number(old, act))

    @abstractmethod
    def changed_number(self, old: float, act: Act) -> float:
        """The changed number."""

    def check_field(self, found: Any, where: str) -> None:
        """Check whether it is such a number."""
        if found is not float:
            raise ConfigurationError(
                f"{where}.field: found '{self.field}'; allowed for {self.kind} is a number that "
                "need not be whole"
            )


class Noise(NumberFault):
    """A field has a normally distributed number added."""

    std: Annotated[Number, Field(ge=0)] = Field(
        description="standard deviation, in the unit of the field"
    )

    def changed_number(self, old: float, act: Act) -> float:
        """With its noise."""
        return old + self.std * act.stream.normal()


class Bias(NumberFault):
    """A field has a fixed number added."""

    offset: Number = Field(description="what is added, in the unit of the field")

    def changed_number(self, old: float, act: Act) -> float:
        """With its offset."""
        return old + self.offset


class BitError(NumberFault):
    """A field has one bit turned."""

    bit: Annotated[Whole, Field(ge=0, le=63)] | None = Field(
        default=None, description="which bit turns, 63 is the sign; default: drawn"
    )

    def changed_number(self, old: float, act: Act) -> float:
        """With the bit turned."""
        bit = act.stream.integers(64) if self.bit is None else self.bit
        (bits,) = _BITS.unpack(_FLOAT.pack(old))
        turned: float = _FLOAT.unpack(_BITS.pack(bits ^ (1 << bit)))[0]
        return turned
