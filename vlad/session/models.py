"""Models of ONNX in a session: `vlad.from_onnx`, and `import-onnx` of the language.

In: a file, or a model.  Out: a procedure of the session, and its parameters. vlad/onnx writes the procedure's text, which is
evaluated in the library's module, so that names that a program defines anew mean here what they mean everywhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vlad.data.source import Source
from vlad.data.values import NIL, String, Value, list_of
from vlad.onnx.translation import Translated, translated
from vlad.python.arrays import tensor_of
from vlad.python.convert import to_python
from vlad.python.structures import tuple_of

if TYPE_CHECKING:
    from vlad.session.session import Session


def imported(session: Session, source: Any) -> tuple[Value, Translated]:
    """The procedure of a model, and what it was made of. Raises VladError."""
    model = translated(source)
    top_level = session._top_level
    maker = top_level.procedure(model.names, Source(model.name, model.text), session.library)
    constants = tuple_of([tensor_of(array) for array in model.constants]) if model.constants else NIL
    return session.machine.apply(maker, constants), model


def pair_of(session: Session, path: str) -> Value:
    """The pair of the procedure and its parameters, a list of pairs (name . tensor): the value of `import-onnx`."""
    procedure, model = imported(session, path)
    return procedure, list_of([(String(name), _tensor(array)) for name, array in model.parameters.items()])


def _tensor(array: Any) -> Value:
    return tensor_of(array) if array.ndim else float(array)


def from_onnx(source: Any, session: Session | None = None) -> tuple[Any, dict[str, Any]]:
    """Import a model of ONNX: a path, its bytes, or a model of the package onnx. Returns a procedure and its parameters, a dict
    of arrays by the names of the model's initial values, in order. The procedure takes such a dict, then the model's inputs, and
    returns its output, or a list of several; so it has derivatives by its parameters and inputs. It belongs to `session`, by
    default to that of `vlad.function`. Raises VladError for a file that is no model, or inconsistent, and for what is not
    imported, which the message names; and MissingPackage, which is an ImportError, without the package onnx.
    """
    if session is None:
        from vlad.session.default import default_session

        session = default_session()
    with session._lock:
        procedure, model = imported(session, source)
        return to_python(procedure, session._calls), dict(model.parameters)
