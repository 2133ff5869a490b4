# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A C function as an FMU: what its signature says, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from fractions import Fraction
from pathlib import Path

import pytest
from fmpy import read_model_description
from fmpy.validation import validate_fmu

from ros2_cosim.dcp.slave.c_source import c_fmu, read_c_function
from ros2_cosim.dcp.slave.fmu import describe_fmu, load_fmu
from ros2_cosim.dcp.slave.slave_model import StepInfo
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.slave_description import Causality

FILTER = """\
#include <stdbool.h>
#define WRONG double wrong(double x) {
/* double other(double x) { */
double lag = 0.5;   // [s] of the filter
int steps = 3;
static double state;
static const double factors[2] = {2.0, 3.0};

static double product(const double *x) { return factors[0] * x[0] + factors[1] * x[1]; }

void reset(void) { state = 0.0; }

/* Returns the filtered value [m/s]. */
double filtered(double dt, double u, /* [km/h] of the
                                      * wheel */
                bool on, const double pair[2], int number,
                double *doubled /* [1] */, int *next, double ramp[3])
{
  const char *text = "{ ( ;";
  (void)text;
  if (on) state += dt / (lag + dt) * (u - state);
  *doubled = product(pair);
  *next = number + steps;
  for (int i = 0; i < 3; ++i) ramp[i] = i * u;
  return state;
}
"""


def source(directory: Path, text: str = FILTER) -> Path:
    path = directory / "filter.c"
    path.write_text(text)
    return path


def test_the_signature_is_the_description(tmp_path: Path) -> None:
    description = describe_fmu(source(tmp_path))
    names = {c: [v.name for v in description.of(c)] for c in Causality}
    assert names[Causality.INPUT] == ["u", "on", "pair[0]", "pair[1]", "number"]
    assert names[Causality.OUTPUT] == [
        "doubled", "next", "ramp[0]", "ramp[1]", "ramp[2]", "filtered",
    ]  # fmt: skip
    assert names[Causality.PARAMETER] == ["lag", "steps"]
    by_name = {v.name: v for v in description.variables}
    assert by_name["u"].attributes.unit == "km/h" and by_name["u"].description == "of the wheel"
    assert by_name["lag"].attributes.unit == "s" and by_name["lag"].start == 0.5
    assert by_name["filtered"].attributes.unit == "m/s"
    assert by_name["steps"].data_type.name == "int32"


def test_the_function_computes(tmp_path: Path) -> None:
    slave, description = load_fmu(source(tmp_path), step=Fraction(1, 10))
    slave.bind(description)
    for _ in range(2):  # the second run begins anew: with the file's own values
        slave.configure({})
        slave.set("u", 6.0)
        slave.set("on", 1)
        slave.set("pair[0]", 1.0)
        slave.set("pair[1]", 10.0)
        slave.set("number", 4)
        slave.initialise()
        for ticks in (0, 1):
            slave.do_step(StepInfo(ticks, 1, Fraction(1, 10)))
        share = 0.1 / (0.5 + 0.1)
        first = share * 6.0
        assert slave.get("filtered") == first + share * (6.0 - first)
        assert slave.get("doubled") == 32.0
        assert slave.get("next") == 7
        assert [slave.get(f"ramp[{i}]") for i in range(3)] == [0.0, 6.0, 12.0]
        slave.stop()
    slave.close()


def test_two_instances_share_nothing(tmp_path: Path) -> None:
    slaves = []
    for u in (1.0, 5.0):
        slave, description = load_fmu(source(tmp_path))
        slave.bind(description)
        slave.configure({})
        slave.set("u", u)
        slave.set("on", 1)
        slaves.append(slave)
    for slave in slaves:
        slave.do_step(StepInfo(0, 1, Fraction(1, 2)))
    assert [slave.get("filtered") for slave in slaves] == [0.5, 2.5]
    for slave in slaves:
        slave.close()


def test_other_tools_accept_it(tmp_path: Path) -> None:
    fmu = tmp_path / "filter.fmu"
    fmu.write_bytes(c_fmu(source(tmp_path), starts={"lag": 0.25}))
    assert validate_fmu(str(fmu)) == []
    lag = next(v for v in describe_fmu(fmu).variables if v.name == "lag")
    assert lag.start == 0.25
    with pytest.raises(DescriptionError, match="found parameter 'lagg'; there are lag, steps"):
        c_fmu(source(tmp_path), starts={"lagg": 1.0})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("static double f(double x) { return x; }", "found functions none; allowed is one"),
        ("double f(double x) { return x; }\nint g(int i) { return i; }", "found functions f, g"),
        ("double f(float x) { return x; }", "found parameter 'float x'; allowed are double x"),
        ("double f(const double *x) { return *x; }", r"found parameter 'const double \*x'"),
        ("double f(double x[0]) { return 0; }", "allowed are arrays of 1 to 1000"),
        ("void f(bool *x) { *x = 1; }", "bool as single input"),
        ("char *f(double x) { return 0; }", "returns 'char"),
        (
            "double f(double x) {\n  static int n = 0;\n  return x + n++;\n}",
            "line 2: found a static",
        ),
        ("double k = 2 * 3;\ndouble f(double x) { return k * x; }", r"line 1: found k = 2 \* 3"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        read_c_function(source(tmp_path, text))


def test_the_compilers_first_error_is_told(tmp_path: Path) -> None:
    path = source(tmp_path, "double f(double x) { return y; }")
    assert describe_fmu(path).name == "f"
    with pytest.raises(DescriptionError, match=r"cannot make the library of 'filter\.c': .*'y'"):
        load_fmu(path)


def test_a_compiler_that_is_missing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(DescriptionError, match=r"compiler: found none; .* needs gcc .* CC names"):
        load_fmu(source(tmp_path))


NOTED = """\
double a = 1.5; // [m] wide
int n = -2;
double b = 3; /* [] none */ // second
// [s] of nothing
/* Returns [m] first */
/* It returns the speed [ m/s ] of it. */
double f(double u, // [1/s] u of
         double v  /* v alone */,
         int w) // [kg] w
{ return u; }
"""


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("int f(int i) { return i; }", "input int i, output int f"),
        ("bool f(void) { return 1; }", "output bool f"),
        ("void f() { }", ""),
        (
            "void f(double dt, double x[2], const double y[2], int *z, bool on) { }",
            "output float x[0], output float x[1], input float y[0], input float y[1], "
            "output int z, input bool on",
        ),
        (
            NOTED,
            "input float u [1/s] u of, input float v [None] v alone, input int w [kg] w, "
            "output float f [m/s], parameter float a [m] wide = 1.5, parameter int n = -2, "
            "parameter float b [None] none = 3.0",
        ),
        (
            "/* Returns [N] */\nstatic double g(double x) { return x; }\n"
            "/* None. */\ndouble f(double x) { return g(x); }",
            "input float x, output float f",
        ),
    ],
)
def test_each_part_of_a_file_has_its_meaning(tmp_path: Path, text: str, variables: str) -> None:
    found = []
    for v in read_c_function(source(tmp_path, text)).variables:
        words = f"{v.causality} {v.kind.__name__} {v.name}"
        if v.unit or v.description:
            words += f" [{v.unit}] {v.description}"
        found.append(words.strip() + ("" if v.start is None else f" = {v.start}"))
    assert ", ".join(found) == variables


def test_arrays_have_at_most_a_thousand_elements(tmp_path: Path) -> None:
    function = read_c_function(source(tmp_path, "void f(const double x[1000]) { }"))
    assert len(function.variables) == 1000
    with pytest.raises(DescriptionError, match="allowed are arrays of 1 to 1000 and bool as"):
        read_c_function(source(tmp_path, "void f(const double x[1001]) { }"))


KINDS = """\
#include <stdbool.h>
int steps = 5;
int next(int i, bool on, const int pair[2], double *seconds, double dt)
{ *seconds = dt; return (on ? i : -i) + pair[0] * pair[1] + steps; }
"""


def test_whole_numbers_and_truth_values_are_passed_as_they_are(tmp_path: Path) -> None:
    slave, description = load_fmu(source(tmp_path, KINDS), step=Fraction(1, 4))
    slave.bind(description, {}, {v.value_reference: 9 for v in description.of(Causality.PARAMETER)})
    slave.configure({})
    for on, result in ((1, 13), (0, 11)):
        for name, value in (("i", 1), ("on", on), ("pair[0]", 1), ("pair[1]", 3)):
            slave.set(name, value)
        slave.do_step(StepInfo(0, 1, Fraction(1, 4)))
        assert (slave.get("next"), slave.get("seconds")) == (result, 0.25)
    slave.close()
    assert describe_fmu(source(tmp_path, KINDS)).fixed_resolution() == Fraction(1, 100)
    slave, description = load_fmu(source(tmp_path, "_Bool is_up(double x) { return x > 0.5; }"))
    slave.bind(description)
    slave.configure({})
    for x, result in ((0.25, 0), (0.75, 1)):
        slave.set("x", x)
        slave.do_step(StepInfo(0, 1, Fraction(1, 100)))
        assert slave.get("is_up") == result
    slave.close()


#: Drives the library of an FMU as an importer does, and prints what comes out, to the bit.
HARNESS = """\
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
typedef int (*Get)(void *, const unsigned *, size_t, double *, size_t);
typedef int (*Step)(void *, double, double, bool, bool *, bool *, bool *, double *);
typedef int (*Begin)(void *, bool, double, double, bool, double);
typedef void *(*Make)(const char *, const char *, const char *, bool, bool, bool, bool,
                      const unsigned *, size_t, void *, void *, void *);
int main(int count, char **words) {
  void *library = dlopen(words[1], RTLD_NOW);
  if (!library) return puts(dlerror()), 1;
  Get set = dlsym(library, "fmi3SetFloat64"), get = dlsym(library, "fmi3GetFloat64");
  Step step = dlsym(library, "fmi3DoStep");
  Begin begin = dlsym(library, "fmi3EnterInitializationMode");
  Make make = dlsym(library, "fmi3InstantiateCoSimulation");
  void *c = make("a", words[2], "", 0, 0, 0, 0, 0, 0, 0, 0, 0);
  if (!c) return 2;
  begin(c, 0, 0, 0, 0, 0);
  for (int i = 0; i < 5; i++) {
    unsigned in = 0, out[2] = {1, 4000000000u};
    double u = i / 3.0, y[2], last;
    bool a, b, d;
    set(c, &in, 1, &u, 1);
    if (step(c, i * 0.1, 0.1, true, &a, &b, &d, &last)) return 3;
    get(c, out, 2, y, 2);
    printf("%a %a %a\\n", y[0], y[1], last);
  }
}
"""
ROOT = (
    "#include <math.h>\ndouble lag = 0.3;\ndouble f(double u) { return sqrt(u) * lag + u * u; }\n"
)


def test_a_library_for_another_machine_computes_the_same_bits(tmp_path: Path) -> None:
    compilers = {"x86_64": "gcc", "aarch64": "aarch64-linux-gnu-gcc"}
    needed = [*compilers.values(), "qemu-aarch64"]
    missing = [name for name in needed if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    (tmp_path / "harness.c").write_text(HARNESS)
    fmu = tmp_path / "both.fmu"
    fmu.write_bytes(c_fmu(source(tmp_path, ROOT), fmi="3.0", machines=tuple(compilers)))
    token = read_model_description(str(fmu)).guid
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(tmp_path)
    printed = []
    for machine, compiler in compilers.items():
        program = str(tmp_path / machine)
        command = [compiler, "-o", program, str(tmp_path / "harness.c"), "-ldl"]
        subprocess.run(command, check=True)
        emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"] if machine == "aarch64" else []
        library = str(tmp_path / "binaries" / f"{machine}-linux" / "f.so")
        done = subprocess.run(
            [*emulator, program, library, token], capture_output=True, text=True, check=True
        )
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) == 5


def test_a_machine_that_a_version_does_not_know_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = source(tmp_path)
    with pytest.raises(DescriptionError, match="found aarch64; FMI 2.0 has names for x86_64"):
        c_fmu(path, machines=("aarch64",))
    monkeypatch.setenv("CC_aarch64", "no-such-compiler")
    with pytest.raises(DescriptionError, match="needs aarch64-linux-gnu-gcc"):
        c_fmu(path, fmi="3.0", machines=("x86_64", "aarch64"))
