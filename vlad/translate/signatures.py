"""What is known of functions and classes of Python's that a translation meets: signatures, and parts of classes.

In: a value outside, or a nested function.  Out: what its calls may leave out, and its attributes.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

from vlad.data.python_functions import is_translated, python_of
from vlad.translate.names import Function
from vlad.translate.reads import MISSING


def is_of_class(value: Any) -> bool:
    """Is it a class method, of a class?"""
    is_method = isinstance(value, types.MethodType) and isinstance(value.__self__, type)
    return is_method and isinstance(value.__func__, types.FunctionType)


def is_flexible(node: Function) -> bool:
    """Has a function parameters that a call may leave out, or more?"""
    own = node.args
    return bool(own.defaults or own.kwonlyargs or own.vararg or own.kwarg)


def static_part(kind: type, attribute: str) -> Any:
    """An attribute of a class: a function or data; MISSING if it has none."""
    found = inspect.getattr_static(kind, attribute, MISSING)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, classmethod):
        return types.MethodType(found.__func__, kind)
    is_plain = isinstance(found, types.FunctionType) or is_translated(found) or not hasattr(found, "__get__")
    return found if is_plain else MISSING


def has_defaults(value: Any) -> bool:
    """Does a call of a Python function, by place, leave something out?"""
    signature = signature_of(value)
    if signature is None:
        return False
    return any(
        one.default is not one.empty or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL, one.VAR_KEYWORD)
        for one in signature.parameters.values()
    )


def signature_of(value: Any) -> inspect.Signature | None:
    """The signature of a Python function that is translated in turn."""
    function = python_of(value)
    if not isinstance(function, types.FunctionType) and not is_of_class(function):
        return None
    return own_signature(function)


def own_signature(function: Any) -> inspect.Signature:
    """The signature of a function itself, not of what it wraps (functools.wraps)."""
    return inspect.signature(function, follow_wrapped=False)
