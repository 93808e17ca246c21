"""The operators of ONNX that choose entries, measure losses, or transform signals: NonMaxSuppression, DFT and their kin.

In: a node (values.py).  Out: the text of an expression, of procedures of stdlib/onnx-selections.vlad.
"""

from __future__ import annotations

from collections.abc import Callable

from vlad.onnx.values import Node, list_text, number_text


def _truth(given: object) -> str:
    return "#t" if given else "#f"


def scalar(n: Node, position: int, default: str = "#f") -> str:
    """The text of an input with one entry."""
    if not n.has(position):
        return default
    value = n.value(position)
    if value.constant is not None:
        return number_text(value.constant.reshape(-1)[0])
    return value.text if value.rank == 0 else f"(%onnx-scalar {value.text})"


def likelihood(n: Node) -> str:
    return _loss(n, n.text(0))


def cross_entropy(n: Node) -> str:
    """The loss, and the logarithms of the probabilities."""
    if len(n.outputs) > 1:
        return f"(let ((scores (log-softmax {n.text(0)} #:axis 1))) (list {_loss(n, 'scores')} scores))"
    return _loss(n, f"(log-softmax {n.text(0)} #:axis 1)")


def _loss(n: Node, scores: str) -> str:
    ignored = n.attribute("ignore_index")
    return (
        f"(%onnx-likelihood-loss {scores} {n.text(1)} {n.text(2, '#f')} "
        f"{'#f' if ignored is None else ignored} '{n.attribute('reduction', 'mean')})"
    )


def normalized(n: Node) -> str:
    axes, x = list_text([n.axis(axis) for axis in n.attribute("axes") or [0, 2, 3]]), n.text(0)
    off = f"(- {x} (mean {x} #:axis {axes} #:keep #t))"
    return f"(/ {off} (+ (sqrt (variance {x} #:axis {axes} #:keep #t)) 1e-9))"


def cumulative_product(n: Node) -> str:
    axis = n.axis(n.whole(1, "the axis")[0])
    return f"(%onnx-cumprod {n.text(0)} {axis} {_truth(n.attribute('reverse', 0))} {_truth(n.attribute('exclusive', 0))})"


def reversed_sequences(n: Node) -> str:
    return f"(%onnx-reversed {n.text(0)} {n.text(1)} {n.attribute('batch_axis', 1)} {n.attribute('time_axis', 0)})"


def compressed(n: Node) -> str:
    axis = n.attribute("axis")
    return f"(%onnx-compress {n.text(0)} {n.text(1)} {'#f' if axis is None else n.axis(axis)})"


def suppressed(n: Node) -> str:
    limits = f"{scalar(n, 2, '0')} {scalar(n, 3, '0')} {scalar(n, 4, '-inf.0')}"
    return f"(%onnx-suppressed {n.text(0)} {n.text(1)} {limits} {_truth(n.attribute('center_point_box', 0))})"


def window(a: float, b: float, c: float) -> Callable[[Node], str]:
    def rule(n: Node) -> str:
        numbers = " ".join([number_text(one) for one in (a, b, c)])
        made = f"(%onnx-window {scalar(n, 0)} {_truth(n.attribute('periodic', 1))} {numbers})"
        return f"(as-type {made} '{n.result_kind()})"

    return rule


def fourier(n: Node) -> str:
    if n.version < 20:
        axis = n.attribute("axis", 1)
    else:
        axis = n.whole(2, "the axis")[0] if n.has(2) else -2
    flags = f"{_truth(n.attribute('inverse', 0))} {_truth(n.attribute('onesided', 0))}"
    return f"(%onnx-dft {n.text(0)} {n.axis(axis)} {scalar(n, 1)} {flags})"


def short_time(n: Node) -> str:
    return f"(%onnx-stft {n.text(0)} {scalar(n, 1)} {n.text(2, '#f')} {scalar(n, 3)} {_truth(n.attribute('onesided', 1))})"
