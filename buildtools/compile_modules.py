# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Compile the hot modules of the package with mypyc into one library (part of ``make setup``).

Run by the environment's own interpreter. The sources are the typed Python modules as they are;
``ros2_cosim/compiled.py`` explains when the library is used. Steps: mypyc writes a C file for each
module, ninja compiles those that changed, on all cores, and links them. The manifest, written
last, names the library and the digests of its sources.

The compiler must not contract multiplications and additions (``-ffp-contract=off``): every result
has the bits that CPython gives.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ros2_cosim.compiled import LIBRARY_MODULE, MANIFEST, digest_of, directory, stamp_of  # noqa: E402

PACKAGE = ROOT / "ros2_cosim"
GROUP = LIBRARY_MODULE.removesuffix("__mypyc")

#: What takes most of the time of a run. A module that is listed here is typed throughout, does not
#: have its names replaced from outside, and defines no base class of users' classes.
HOT = {
    "core/kernel": (
        "channel coordinator engine exactmath exactmath_slow latched lifecycle membership "
        "named_tuples normal_quantile participant participant_lifecycle random_streams runtime "
        "sample sequential time time_advance trace unsynchronised"
    ),
    "core/messages": "cdr cdr_parts raw",
    "core/record": "mcap waiting",
    "core/run": "observed",
    "core/scene": "simulator",
    "world/map": (
        "cubics encounters frames lane_boxes lane_frame lanes nearest network opendrive "
        "plan_view stations vehicle_info"
    ),
    "driving/sensors": "field_of_view object_detection",
    "driving/v2v": "beacons",
    "world/drivers": "lane_keeping leader_driver",
    "driving/controllers": "following safety supervision tracking",
    "world/vehicle": "levels on_road parameters pedals split_grip vehicle",
    "world/headless": (
        "ackermann actors body collisions contact gearbox signals skeleton snapshot standing_boxes "
        "server_wire sway walkers wire_types world"
    ),
    "lab/study": "free_running",  # a subclass of the runtime
    "world/carla": (
        "commands dcp_variables inprocess_world observation plant roster scene scene_vehicle "
        "traffic"
    ),
    # What every step of a run in several processes passes through.
    "ros/node": (
        "blocking clock_node composed_node courses inputs lane outputs participant_node progress "
        "receipts recorder_node short_forms state_topics time_topics writers"
    ),
    "core/realtime": "pacing run_control run_state sequential_run",
    "core/sockets": "board brief_waits framing",
    # What every step of a world behind a slave passes through.
    "dcp/standard": "values",
    "dcp/slave": "data_exchange request_checks run slave state_machine",
}

#: What mypyc cannot make quick, in C. The Python beside each gives the same bits, and runs where
#: nothing is compiled.
IN_C = ("world/headless/sensing/pixels.c",)
#: Their loops over pixels need wide registers, and no flags of errors in arithmetic.
LOOPS = "-O3 -fno-math-errno -fno-trapping-math"

# Speed differs little from -O3, which takes half as long again to compile.
OPTIMISATION = "-O2"
#: Of rooms whose time is rather that of calls into Python and its libraries: the same within 2 %,
#: compiled in 60 % of the time.
LIGHT = "-O1"
LIGHT_ROOMS = frozenset({"core/realtime", "lab/study", "ros/node", "world/carla", "world/headless"})
FLAGS = "-fPIC -g0 -DNDEBUG -ffp-contract=off -fno-fast-math -fwrapv -fvisibility=hidden -w"

#: Types of the last three do not matter to hot modules, and to analyse them takes three times as
#: long as all the rest. Only errors in hot modules are printed: ``make lint`` checks all modules.
ANALYSIS = """\
[mypy]
explicit_package_bases = True
namespace_packages = True
ignore_missing_imports = True
follow_imports = silent
[mypy-lxml.*,pydantic.*,rosbags.*]
follow_imports = skip
"""

STARTER = """\
#include <Python.h>

/* Calls the initialisation of a module that a library of mypyc gives in a capsule. */
static PyObject *start(PyObject *self, PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    void *function = name ? PyCapsule_GetPointer(capsule, name) : NULL;
    return function ? ((PyObject *(*)(void))function)() : NULL;
}

/* What tuple.__new__ makes of a class of named tuples and a tuple. A tuple that only this call
   holds lies in memory as it is wanted: it becomes the named one, without a copy. */
static PyObject *named(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    if (count == 2 && PyType_Check(given[0]) && PyTuple_CheckExact(given[1])) {
        PyTypeObject *kind = (PyTypeObject *)given[0];
        if (Py_REFCNT(given[1]) == 1 && PyType_HasFeature(kind, Py_TPFLAGS_HEAPTYPE)
            && PyType_FastSubclass(kind, Py_TPFLAGS_TUPLE_SUBCLASS)
            && kind->tp_basicsize == PyTuple_Type.tp_basicsize && kind->tp_dictoffset == 0
            && kind->tp_weaklistoffset == 0) {
            Py_INCREF(kind);
            Py_SET_TYPE(given[1], kind);
            return Py_NewRef(given[1]);
        }
    }
    PyObject *make = PyObject_GetAttrString((PyObject *)&PyTuple_Type, "__new__");
    PyObject *made = make ? PyObject_Vectorcall(make, given, count, NULL) : NULL;
    Py_XDECREF(make);
    return made;
}

static PyMethodDef methods[] = {
    {"start", start, METH_O, NULL},
    {"named", (PyCFunction)(void (*)(void))named, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "ros2_cosim_starter", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_ros2_cosim_starter(void) { return PyModule_Create(&definition); }
"""


class CompileError(Exception):
    """The modules cannot be compiled; the text says why."""


def hot_files() -> list[str]:
    """The source files, relative to the package."""
    return [
        f"{room}/{name}.py" if room else f"{name}.py"
        for room, names in HOT.items()
        for name in names.split()
    ]


def sources() -> dict[str, str]:
    """File relative to the package -> digest, of all that the generated code depends on.

    mypyc writes constants declared ``Final`` into the code that uses them, wherever they stand.
    """
    files = {*hot_files(), *IN_C}
    for path in PACKAGE.rglob("*.py"):
        if b"Final" in path.read_bytes():
            files.add(path.relative_to(PACKAGE).as_posix())
    return {name: digest_of(PACKAGE / name) for name in sorted(files)}


def recipe() -> str:
    """The digest of what the library depends on besides its sources: this file."""
    return sha256(Path(__file__).read_bytes()).hexdigest()


def is_current(place: Path) -> bool:
    """Whether there is a library of the present sources, made in the present way."""
    try:
        manifest = json.loads((place / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return False
    return (
        manifest.get("recipe") == recipe()
        and manifest.get("sources") == sources()
        and (place / str(manifest.get("library"))).is_file()
    )


def write_if_changed(path: Path, text: str) -> None:
    """Write a file; one with the same content keeps its time, so that ninja leaves it alone."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def generate(build: Path) -> list[Path]:
    """Let mypyc write C files.

    :returns: all C files to compile
    """
    from mypyc import build as mypyc
    from mypyc.options import CompilerOptions

    # Names relative to the root stand in tracebacks.
    os.chdir(ROOT)
    mypyc.setup_mypycify_vars()
    options = CompilerOptions(multi_file=True, target_dir=str(build), group_name=GROUP)
    settings = build / "mypy.ini"
    write_if_changed(settings, ANALYSIS)
    files = [f"ros2_cosim/{name}" for name in hot_files()]
    try:
        _, written, dependencies = mypyc.mypyc_build([f"--config-file={settings}", *files], options)
    except SystemExit as error:
        raise CompileError("mypyc refused the modules") from error
    runtime = Path(mypyc.include_dir())
    from mypyc.common import RUNTIME_C_FILES

    needed = [runtime / name for name in (*RUNTIME_C_FILES, *(d.path for d in dependencies))]
    starter = build / "starter.c"
    write_if_changed(starter, STARTER)
    own = [PACKAGE / name for name in IN_C]
    return [*(Path(name) for name in written[0][0]), *needed, starter, *own]


def ninja_text(c_files: Iterable[Path], build: Path, target: str) -> str:
    """The description of the build for ninja."""
    import mypyc

    # The include directory of the runtime library, and those of its parts.
    runtime = Path(mypyc.__file__).parent / "lib-rt"
    include = [build, runtime, Path(sysconfig.get_path("include"))]
    includes = " ".join(f"-I{shlex.quote(str(path))}" for path in include)
    compiler = os.environ.get("CC", "cc")
    lines = [
        f"cflags = {FLAGS} {includes}",
        "rule cc",
        f"  command = {compiler} $level $cflags -MMD -MF $out.d -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "rule link",
        f"  command = {compiler} -shared -o $out @$out.rsp",
        "  rspfile = $out.rsp",
        "  rspfile_content = $in",
    ]
    objects = []
    for path in c_files:
        objects.append(f"{path.stem}.o")
        lines.append(f"build {objects[-1]}: cc {_escaped(path)}")
        lines.append(f"  level = {_level(path)}")
    lines.append(f"build {target}: link {' '.join(objects)}")
    return "\n".join(lines) + "\n"


def _level(path: Path) -> str:
    """How much the compiler is to do for a C file."""
    if path.is_relative_to(PACKAGE):
        return LOOPS
    return LIGHT if _room(path) in LIGHT_ROOMS else OPTIMISATION


def _room(path: Path) -> str:
    """The room of the module that a C file was made of; empty for a file of mypyc's own."""
    _, is_module, names = path.stem.partition("__native_ros2_cosim___")
    return names.split("___")[0] if is_module else ""


def _escaped(path: Path) -> str:
    return str(path).replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def compile_all(build: Path, place: Path) -> None:
    """Bring the library in ``place`` up to date with the sources.

    :raises CompileError: that is impossible; there is no manifest, then
    """
    before = sources()
    # Only for the environment of these very files: a wheel has the same bytes wherever it is built.
    stamps = {"stamps": {n: stamp_of(PACKAGE / n) for n in before}} if place == directory() else {}
    (place / MANIFEST).unlink(missing_ok=True)
    compiler = shlex.split(os.environ.get("CC", "cc"))[0]
    if shutil.which(compiler) is None:
        raise CompileError(f"no compiler {compiler}")
    build.mkdir(parents=True, exist_ok=True)
    c_files = generate(build)
    write_if_changed(build / "build.ninja", ninja_text(c_files, build, "library.so"))
    done = subprocess.run(
        [sys.executable, "-m", "ninja", "-C", str(build)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        raise CompileError(f"the compiler failed:\n{done.stdout[-4000:]}{done.stderr[-1000:]}")
    if sources() != before:
        raise CompileError("a source file changed meanwhile")
    install(build / "library.so", place, {"sources": before, "recipe": recipe(), **stamps})


def install(built: Path, place: Path, facts: dict[str, object]) -> None:
    """Put a library in place, the manifest last; a running process keeps the one it has."""
    place.mkdir(parents=True, exist_ok=True)
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    name = f"{sha256(built.read_bytes()).hexdigest()[:16]}{suffix}"
    for old in set(place.glob("*.so")) - {place / name}:
        old.unlink()
    shutil.copyfile(built, place / (name + ".partial"))
    (place / (name + ".partial")).replace(place / name)
    modules = ["ros2_cosim." + file[:-3].replace("/", ".") for file in hot_files()]
    manifest = {"library": name, "suffix": suffix, "modules": modules, **facts}
    partial = place / (MANIFEST + ".partial")
    partial.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    partial.replace(place / MANIFEST)


def main(arguments: list[str]) -> int:
    """Compile, in a scratch directory, for the environment or into the place named second.

    ``--check`` only says whether that is due.
    """
    if len(arguments) not in (1, 2):
        print("usage: compile_modules.py BUILD_DIRECTORY [PLACE] | --check", file=sys.stderr)
        return 2
    if arguments == ["--check"]:
        return 0 if is_current(directory()) else 1
    place = Path(arguments[1]).resolve() if len(arguments) > 1 else directory()
    try:
        compile_all(Path(arguments[0]).resolve(), place)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
