# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Values of attributes: ``$name`` stands for a parameter, ``${...}`` for an expression.

The grammar is that of OpenSCENARIO 1.1 and later: numbers, ``pi``, parameters, ``+ - * / %``, ``not
and or``, and the functions of :data:`_FUNCTIONS`. Python's parser reads it; it executes only what
this module defines.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ros2_cosim.core.kernel import exactmath
from ros2_cosim.core.kernel.exactmath import exp, log

#: Characters of an expression: longer ones are written by no hand.
MAX_LENGTH: Final = 500
#: Size of an integer exponent that is multiplied out.
_MAX_EXPONENT: Final = 64

_PARAMETER = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_EXPRESSION = re.compile(r"\$\{([^{}]*)\}")
_PREFIX: Final = "_parameter_"


def _power(base: float, exponent: float) -> float:
    """A power with the same bits everywhere."""
    if float(exponent).is_integer() and abs(exponent) <= _MAX_EXPONENT:
        product = 1.0
        for _ in range(abs(int(exponent))):
            product *= base
        return product if exponent >= 0 else 1.0 / product
    return exp(exponent * log(base))


#: ``pi`` is none of the standard's: public files use it, and tools know it.
_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "pi": math.pi}
_BINARY: Final[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: math.fmod,
}
_UNARY: Final[dict[type[ast.AST], Callable[[Any], Any]]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_FUNCTIONS: Final[dict[str, tuple[int, Callable[..., Any]]]] = {
    "abs": (1, abs),
    "acos": (1, exactmath.acos),
    "asin": (1, exactmath.asin),
    "atan": (1, exactmath.atan),
    "ceil": (1, math.ceil),
    "cos": (1, exactmath.cos),
    "floor": (1, math.floor),
    "max": (2, max),
    "min": (2, min),
    "pow": (2, _power),
    "round": (1, lambda x: math.floor(x + 0.5)),
    "sign": (1, lambda x: (x > 0) - (x < 0)),
    "sin": (1, exactmath.sin),
    "sqrt": (1, math.sqrt),
    "tan": (1, exactmath.tan),
}


def substituted(text: str, parameters: Mapping[str, str]) -> str:
    """The value of an attribute with parameters and expressions resolved.

    :param parameters: name -> value, a text
    :raises ValueError: a parameter is unknown, or an expression is wrong; the message says which
    """
    if "$" not in text:
        return text
    text = _EXPRESSION.sub(lambda found: _as_text(evaluated(found[1], parameters)), text)
    return _PARAMETER.sub(lambda found: _value(found[1], parameters), text)


def evaluated(expression: str, parameters: Mapping[str, str]) -> float | bool:
    """The value of an expression, without its ``${`` and ``}``.

    :raises ValueError: as :func:`substituted`
    """
    if len(expression) > MAX_LENGTH:
        raise ValueError(
            f"found an expression of {len(expression)} characters; allowed are {MAX_LENGTH}"
        )
    source = _PARAMETER.sub(lambda found: _PREFIX + found[1], expression.strip())
    wrong = ValueError(f"found the expression {expression.strip()!r}, which is not an expression")
    try:
        tree = ast.parse(source, mode="eval")
        result = _value_of(tree.body, parameters)
    except (SyntaxError, RecursionError, MemoryError, TypeError):
        raise wrong from None
    except (ArithmeticError, ValueError) as error:
        raise ValueError(f"expression {expression.strip()!r}: {error}") from None
    if not math.isfinite(result):
        raise ValueError(f"expression {expression.strip()!r}: found {result}, no finite number")
    return result


def _value_of(node: ast.AST, parameters: Mapping[str, str]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value if isinstance(node.value, bool) else float(node.value)
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return _CONSTANTS[node.id]
    if isinstance(node, ast.Name) and node.id.startswith(_PREFIX):
        return _number(_value(node.id.removeprefix(_PREFIX), parameters))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        sides = _value_of(node.left, parameters), _value_of(node.right, parameters)
        return _BINARY[type(node.op)](*sides)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_value_of(node.operand, parameters))
    if isinstance(node, ast.BoolOp):
        values = [_value_of(value, parameters) for value in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        count, function = _FUNCTIONS.get(node.func.id, (-1, None))
        if function is not None and len(node.args) == count:
            return function(*(_value_of(value, parameters) for value in node.args))
    raise SyntaxError


def _value(name: str, parameters: Mapping[str, str]) -> str:
    if name not in parameters:
        raise ValueError(
            f"found parameter ${name}; allowed are {', '.join(sorted(parameters)) or 'none'}"
        )
    return parameters[name]


def _number(text: str) -> float | bool:
    if text in ("true", "false"):
        return text == "true"
    return float(text)


def _as_text(value: float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if float(value).is_integer() else repr(value)
