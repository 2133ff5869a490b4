# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Each rule of a slave description that the XSD does not check: kept, and broken by one change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.dcp_session import box

from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.slave_model import StepInfo
from ros2_cosim.dcp.standard.check_description import check_description
from ros2_cosim.dcp.standard.data_path import DataCounters, Missing
from ros2_cosim.dcp.standard.data_report import data_figures, log_arguments, read_arguments
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.slave_description import (
    TCP_MAX_PDU_SIZE,
    UDP_MAX_PDU_SIZE,
    Bluetooth,
    Causality,
    DataPorts,
    Dependency,
    Dimension,
    DisplayUnit,
    IPv4Transport,
    LogCategory,
    LogTemplate,
    NonRealTime,
    Resolution,
    ResolutionRange,
    SimpleType,
    SlaveDescription,
    TypeAttributes,
    Unit,
    Usb2,
    Variable,
    element_count,
    start_value,
)

F64, TEXT = DataType.float64, DataType.string
SIZE = Variable("n", 7, Causality.STRUCTURAL, DataType.uint16, 3, "fixed")
INPUT = Variable("u", 1, Causality.INPUT, F64, 0.5)
OUTPUT = Variable("y", 2, Causality.OUTPUT, F64)
ARRAY = replace(INPUT, dimensions=(Dimension(linked_vr=7), Dimension(constant=2)))
LABEL = Variable("label", 5, Causality.PARAMETER, TEXT, "abcd", "tunable")


def faults(*variables: Variable, **changes: Any) -> str:
    """What is wrong with a description that has these variables alone."""
    description = replace(box(), variables=variables, **changes)
    try:
        check_description(description, "here")
    except DescriptionError as error:
        return str(error).removeprefix("here: ")
    return ""


def of_variable(variable: Variable, *others: Variable, **changes: Any) -> list[str]:
    """Each of the faults of one variable."""
    found = faults(variable, *others, **changes)
    return [part.strip("; ") for part in found.split(f"variable {variable.name!r}: ")[1:]]


def with_start(variable: Variable, start: Any, **attributes: Any) -> Variable:
    return replace(variable, start=start, attributes=TypeAttributes(**attributes))


@pytest.mark.parametrize(
    ("variable", "others", "found"),
    [
        (INPUT, (), []),
        (OUTPUT, (), []),
        (SIZE, (), []),
        (replace(INPUT, variability="discrete"), (), []),
        (replace(LABEL, variability="fixed"), (), []),
        (
            replace(INPUT, variability="fixed"),
            (),
            ["Input cannot be fixed, only discrete or continuous"],
        ),
        (
            replace(LABEL, variability="discrete"),
            (),
            ["Parameter cannot be discrete, only fixed or tunable"],
        ),
        (
            replace(SIZE, variability="continuous"),
            (),
            ["StructuralParameter cannot be continuous, only fixed or tunable"],
        ),
        (replace(INPUT, start=None), (), ["start is missing"]),
        (replace(OUTPUT, max_consec_missed_pdus=0), (), ["an Output has no maxConsecMissedPdus"]),
        (replace(OUTPUT, min_steps=1), (), ["minSteps or maxSteps although fixedSteps is true"]),
        (replace(OUTPUT, max_steps=4), (), ["minSteps or maxSteps although fixedSteps is true"]),
        (replace(OUTPUT, fixed_steps=False, min_steps=1, max_steps=2), (), []),
        *(
            (
                replace(OUTPUT, fixed_steps=False, min_steps=low, max_steps=high),
                (),
                ["fixedSteps is false, so minSteps and a greater maxSteps are needed"],
            )
            for low, high in ((None, 2), (1, None), (2, 2), (3, 2))
        ),
        (replace(OUTPUT, initialization=True), (), []),
        (replace(OUTPUT, dependencies_run=()), (), []),
        (
            replace(OUTPUT, initialization=True, dependencies_run=()),
            (),
            ["constant after initialization, yet it has Dependencies/Run"],
        ),
        (replace(LABEL, dimensions=(Dimension(2),)), (), ["string cannot have Dimensions"]),
        (ARRAY, (SIZE,), []),
        (replace(ARRAY, start=(1.0,) * 6), (SIZE,), []),
        (
            replace(ARRAY, start=(1.0,) * 5),
            (SIZE,),
            ["start has 5 values; the array has 6 elements"],
        ),
        (ARRAY, (replace(SIZE, value_reference=8),), ["linkedVR 7 is not a StructuralParameter"]),
        *(
            (
                replace(INPUT, dimensions=(wrong,)),
                (SIZE,),
                ["a Dimension has either constant or linkedVR"],
            )
            for wrong in (Dimension(), Dimension(2, 7))
        ),
        (
            replace(INPUT, start=(1.0, 2.0)),
            (),
            ["start has 2 values, but there are no Dimensions"],
        ),
        (replace(INPUT, start=float("nan")), (), ["start is not a finite number"]),
        (replace(INPUT, start=float("-inf")), (), ["start is not a finite number"]),
        (replace(SIZE, start=1), (), []),
        (replace(SIZE, start=0), (), ["a StructuralParameter starts at 1 or above"]),
        (with_start(LABEL, "abcd", max_size=4), (), []),
        (with_start(LABEL, "abcde", max_size=4), (), ["start has 5 bytes; maxSize is 4"]),
        # Bytes, not letters.
        (with_start(LABEL, "\u00e4\u00e4", max_size=3), (), ["start has 4 bytes; maxSize is 3"]),
    ],
)  # fmt: skip
def test_a_variable_keeps_each_rule(
    variable: Variable, others: Iterable[Variable], found: list[str]
) -> None:
    assert of_variable(variable, *others) == found


def test_a_start_that_its_type_cannot_hold_is_a_fault() -> None:
    (found,) = of_variable(replace(SIZE, start=70_000))
    assert found.startswith("start: ")


def test_units_and_types_are_declared_ones() -> None:
    in_metres = replace(INPUT, attributes=TypeAttributes(unit="m"))
    assert of_variable(in_metres, units=()) == []
    assert of_variable(in_metres, units=(Unit("m", {"m": 1}),)) == []
    assert of_variable(in_metres, units=(Unit("s", {"s": 1}),)) == [
        "unit 'm' is not among the UnitDefinitions"
    ]
    typed = replace(INPUT, declared_type="Length")
    right, other = SimpleType("Length", F64), SimpleType("Length", DataType.float32)
    assert of_variable(typed, types=(right,)) == []
    assert of_variable(typed) == ["declaredType 'Length' is not among the TypeDefinitions"]
    assert of_variable(typed, types=(other,)) == ["declaredType 'Length' is of another data type"]


@pytest.mark.parametrize(
    ("variables", "changes", "found"),
    [
        ((), {}, ["there is no variable; at least one is needed"]),
        ((INPUT, replace(OUTPUT, name="u")), {}, ["a variable name is used twice"]),
        ((INPUT, replace(OUTPUT, value_reference=1)), {}, ["a value reference is used twice"]),
        (
            (INPUT,),
            {"types": (SimpleType("u", F64),)},
            ["'u' names both a type and a variable"],
        ),
        ((INPUT,), {"non_real_time": NonRealTime(1, False, 2, 2)}, []),
        (
            (INPUT,),
            {"non_real_time": NonRealTime(1, False, 3, 2)},
            ["NonRealTime has maxSteps below minSteps"],
        ),
        *(
            (
                (INPUT,),
                {"non_real_time": NonRealTime(1, True, low, high)},
                ["NonRealTime has minSteps or maxSteps although fixedSteps is true"],
            )
            for low, high in ((1, None), (None, 2))
        ),
        ((INPUT,), {"resolutions": (Resolution(1, 5, False), Resolution(1, 7, False))}, []),
        (
            (INPUT,),
            {"resolutions": (Resolution(1, 5, True), Resolution(1, 7, False))},
            ["TimeRes has a fixed Resolution beside others"],
        ),
        ((INPUT,), {"resolutions": (Resolution(1, 0),)}, ["TimeRes has a denominator of 0"]),
        ((INPUT,), {"resolutions": (Resolution(0, 9),)}, ["TimeRes has a numerator of 0"]),
    ],
)
def test_a_description_keeps_each_rule(
    variables: tuple[Variable, ...], changes: dict[str, Any], found: list[str]
) -> None:
    assert faults(*variables, **changes) == "; ".join(found)


def monitored(heartbeat: Fraction | None, can_monitor: bool) -> str:
    flags = replace(box().capabilities, can_monitor_heartbeat=can_monitor)
    return faults(INPUT, heartbeat=heartbeat, capabilities=flags)


def test_a_heartbeat_is_positive_and_comes_with_its_capability() -> None:
    together = "canMonitorHeartbeat and the element Heartbeat must come together"
    assert monitored(None, False) == monitored(Fraction(1, 9), True) == ""
    assert monitored(None, True) == monitored(Fraction(1), False) == together
    assert monitored(Fraction(0), True) == "Heartbeat has an interval that is not positive"


@pytest.mark.parametrize(
    ("categories", "templates", "found"),
    [
        ((1, 2), ((1, 1, 0), (2, 2, 4)), []),
        ((1,), ((1, 2, 0),), ["log template 1 refers to category 2, which is not declared"]),
        ((0, 1), (), ["log category 0 is reserved for all categories"]),
        ((1,), ((3, 1, 5),), ["log template 3 has level 5; levels go from 0 to 4"]),
        ((1, 1), (), ["a log category id is used twice"]),
        ((1,), ((1, 1, 0), (1, 1, 1)), ["a log template id is used twice"]),
        ((), (), ["a log capability and the element Log must come together"]),
    ],
)
def test_logs_keep_each_rule(
    categories: tuple[int, ...], templates: tuple[tuple[int, int, int], ...], found: list[str]
) -> None:
    plain = replace(
        box().capabilities,
        can_provide_log_on_request=False,
        can_provide_log_on_notification=False,
    )
    for flag in ("can_provide_log_on_request", "can_provide_log_on_notification"):
        assert "; ".join(found) == faults(
            INPUT,
            capabilities=replace(plain, **{flag: True}),
            log_categories=tuple(LogCategory(number, "c") for number in categories),
            log_templates=tuple(LogTemplate(*numbers, "text") for numbers in templates),
        )
    together = "a log capability and the element Log must come together"
    one = (LogCategory(1, "c"),)
    assert faults(INPUT, capabilities=plain, log_categories=one, log_templates=()) == together


def test_all_faults_are_said_together() -> None:
    found = faults(replace(INPUT, start=None, variability="fixed"), SIZE, SIZE)
    assert found == (
        "a variable name is used twice; a value reference is used twice; "
        "variable 'u': Input cannot be fixed, only discrete or continuous; "
        "variable 'u': start is missing"
    )


def test_the_figures_of_data_are_sums_and_the_earliest_gap() -> None:
    one = DataCounters(10, 1, 2, 3, 4, 5, 6, 0)
    two = DataCounters(20, 0, 0, 0, 0, 1, 0, 8)
    three = DataCounters(1, 0, 0, 0, 0, 2, 0, 3)
    assert read_arguments(log_arguments(9, two)) == (9, two)
    assert log_arguments(9, one) == [9, 10, 1, 2, 3, 4, 5, 6, 0]
    nothing = data_figures(Missing.HOLD, ([], Fraction(1)), ({}, Fraction(1)))
    assert nothing == {"missing": "hold"}
    figures = data_figures(Missing.STOP, ([one, two], Fraction(1, 2)), ({4: three}, Fraction(1, 4)))
    assert figures == {
        "missing": "stop",
        "outputs": {
            "received": 30, "lost": 1, "duplicated": 2, "reordered": 3, "refused": 4, "held": 6,
            "extrapolated": 6,
        },
        "inputs": {
            "received": 1, "lost": 0, "duplicated": 0, "reordered": 0, "refused": 0, "held": 2,
            "extrapolated": 0,
        },
        "since_s": 0.75,
    }  # fmt: skip


def test_times_of_a_step() -> None:
    step = StepInfo(ticks=7, steps=3, resolution=Fraction(1, 3))
    assert (step.time, step.size, step.time_ns) == (Fraction(7, 3), Fraction(1), 2_333_333_333)


def test_the_box_of_these_tests_keeps_all_rules() -> None:
    description: SlaveDescription = box()
    check_description(description)


def test_what_is_not_said_has_these_values() -> None:
    plain = SlaveDescription("a", "", (), ())
    assert (plain.can, plain.soft_real_time, plain.hard_real_time) == (False, False, False)
    assert (plain.major_version, plain.minor_version) == (1, 0)
    assert not any(vars(plain.capabilities).values()) and len(vars(plain.capabilities)) == 6
    assert Resolution() == Resolution(1, 1000, True, None)
    assert NonRealTime() == NonRealTime(1, True, None, None)
    assert (Unit("m").factor, Unit("m").offset, Unit("m").has_base) == (1.0, 0.0, True)
    assert DisplayUnit("km") == DisplayUnit("km", 1.0, 0.0)
    assert Dependency(1) == Dependency(1, linear=False)
    assert (INPUT.default_steps, INPUT.fixed_steps, INPUT.initialization) == (1, True, False)
    assert IPv4Transport(9).has_control is True
    assert (UDP_MAX_PDU_SIZE, TCP_MAX_PDU_SIZE) == (65507, 4294967267)
    assert (Bluetooth("a", 1).max_pdu_size, Usb2().max_pdu_size) == (1011, 1024)
    flags = vars(describe([INPUT]).capabilities)
    assert [name for name, there in flags.items() if not there] == ["can_monitor_heartbeat"]
    options = SlaveOptions()
    assert (options.data_synchronisation, options.newest_only) == (False, False)
    assert (options.input_wait_s, options.acceptable_loss) == (0.0, None)
    assert options.missing is Missing.HOLD


@pytest.mark.parametrize(
    ("low", "high", "fixed", "allowed"),
    [
        (None, None, True, [2]),
        (1, 4, True, [2]),
        (None, None, False, [1, 2, 3, 4, 5]),
        (3, None, False, [3, 4, 5]),
        (None, 3, False, [1, 2, 3]),
        (3, 4, False, [3, 4]),
    ],
)
def test_steps_that_are_allowed(
    low: int | None, high: int | None, fixed: bool, allowed: list[int]
) -> None:
    steps = NonRealTime(2, fixed, low, high)
    assert [n for n in range(6) if steps.allows(n)] == allowed
    output = replace(OUTPUT, default_steps=2, fixed_steps=fixed, min_steps=low, max_steps=high)
    # What an output sends by default it may be asked for, too.
    assert [n for n in range(6) if output.allows_steps(n)] == sorted({2, *allowed})


def test_ports_for_data_are_those_of_the_ranges() -> None:
    ports = DataPorts(None, ((5, 5), (8, 10)))
    assert [port for port in range(12) if ports.allows(port)] == [5, 8, 9, 10]
    assert DataPorts().allows(1) and DataPorts().allows(65535)


def test_arrays_have_so_many_elements() -> None:
    assert element_count(INPUT) is None
    assert element_count(replace(INPUT, dimensions=(Dimension(4),))) == 4
    assert element_count(ARRAY, {7: 3}) == 6
    assert element_count(ARRAY) == 2  # its size is not known: at least one
    assert element_count(replace(LABEL, dimensions=(Dimension(4),))) is None
    with_start = replace(INPUT, start=(1.0, 2.0))
    assert start_value(with_start, 4) == (1.0, 2.0, 2.0, 2.0)
    assert start_value(with_start, 1) == (1.0,)
    assert start_value(INPUT, 3) == (0.5, 0.5, 0.5)
    assert start_value(replace(INPUT, start=None), None) == 0.0
    assert start_value(replace(LABEL, start=None), None) == ""


@pytest.mark.parametrize(
    ("resolutions", "holds"),
    [
        ((Resolution(1, 5, False), Resolution(1, 7, False)), None),
        ((Resolution(1, 5, False), Resolution(1, 7, False, True)), Fraction(1, 7)),
        ((Resolution(1, 5, False, True), Resolution(1, 7, True)), Fraction(1, 7)),
        ((ResolutionRange(1, 5, 10),), None),
    ],
)
def test_the_resolution_that_holds_unless_another_is_chosen(
    resolutions: tuple[Any, ...], holds: Fraction | None
) -> None:
    assert replace(box(), resolutions=resolutions).fixed_resolution() == holds


def test_resolutions_that_are_offered() -> None:
    offers = (Resolution(2, 10, False), Resolution(1, 0), ResolutionRange(3, 5, 100))
    description = replace(box(), resolutions=offers)
    asked = ((1, 5), (2, 10), (1, 10), (2, 100), (3, 100), (5, 100), (6, 100), (7, 200), (1, 0))
    assert [pair for pair in asked if description.allows_resolution(*pair)] == [
        (1, 5), (2, 10), (3, 100), (5, 100)
    ]  # fmt: skip


def test_the_template_of_an_error_is_of_its_level_and_takes_one_text() -> None:
    texts = [(2, "%string"), (1, "%uint8"), (1, "%string %string"), (1, "%string"), (0, "%string")]
    templates = tuple(LogTemplate(n, 1, level, msg) for n, (level, msg) in enumerate(texts))
    found = replace(box(), log_templates=templates).error_template()
    assert found is templates[3]
    assert replace(box(), log_templates=templates[:3]).error_template() is None


def test_a_type_completes_what_a_variable_does_not_say() -> None:
    typed = replace(INPUT, declared_type="T", attributes=TypeAttributes(min=0.0))
    kind = SimpleType("T", F64, TypeAttributes(min=5.0, max=9.0, unit="m"))
    description = replace(box(), types=(SimpleType("S", F64, TypeAttributes(unit="s")), kind))
    assert description.attributes(typed) == TypeAttributes(min=0.0, max=9.0, unit="m")
    assert description.attributes(INPUT) == INPUT.attributes
