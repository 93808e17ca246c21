"""The operators of ONNX of which transformers are made: Attention, RotaryEmbedding and their kin.

In: a node (values.py).  Out: the text of an expression, of procedures of stdlib/onnx-attention.vlad, for which an input that is
left out is #f.
"""

from __future__ import annotations

from vlad.onnx.values import Node, list_text, number_text


def _truth(given: object) -> str:
    return "#t" if given else "#f"


def _heads(n: Node, place: int, name: str) -> str:
    """An input as (batch heads steps size), which it may be already."""
    text = n.text(place)
    return text if n.rank(place) == 4 else f"(%onnx-heads {text} {_count(n, name)})"


def _count(n: Node, name: str) -> int:
    heads = n.attribute(name)
    if heads is None:
        raise n.refused(f"the attribute {name} is missing")
    return int(heads)


def attended(n: Node) -> str:
    q, k, v = [_heads(n, place, f"{'q' if place == 0 else 'kv'}_num_heads") for place in range(3)]
    mask = n.text(3, "#f")
    if n.has(3) and n.value(3).kind == "boolean":
        mask = f"(where {mask} 0 -inf.0)"
    scale, precision = n.attribute("scale"), n.attribute("softmax_precision")
    left, right = n.attribute("left_window_size", -1), n.attribute("right_window_size", -1)
    kind = {1: "'float32", 11: "'float64"}.get(precision, "#f")
    ways = (
        f"{'#f' if scale is None else number_text(scale)} {number_text(n.attribute('softcap', 0))} "
        f"{_truth(n.attribute('is_causal', 0))} {left} {right} {n.attribute('qk_matmul_output_mode', 0)} {kind}"
    )
    text = (
        f"(%onnx-attention {q} {k} {v} {mask} {n.text(4, '#f')} {n.text(5, '#f')} {n.text(6, '#f')} {ways})"
    )
    if n.rank() == 4:
        return text
    return f"(let (((cons y rest) {text})) (cons (%onnx-merged y) rest))"


def rotated(n: Node) -> str:
    x = n.text(0) if n.rank() == 4 else f"(%onnx-heads {n.text(0)} {_count(n, 'num_heads')})"
    angles = [n.text(place) if not n.has(3) else f"(gather {n.text(place)} {n.text(3)})" for place in (1, 2)]
    text = (
        f"(%onnx-rotated {x} {' '.join(angles)} {n.attribute('rotary_embedding_dim', 0)} "
        f"{_truth(n.attribute('interleaved', 0))})"
    )
    return text if n.rank() == 4 else f"(%onnx-merged {text})"


def linear(n: Node) -> str:
    rule = n.attribute("update_rule", "gated_delta")
    decay = n.text(4) if "gated" in rule else "#f"
    rate = n.text(5) if "delta" in rule else "#f"
    heads = f"{_count(n, 'q_num_heads')} {_count(n, 'kv_num_heads')}"
    inputs = f"{n.text(0)} {n.text(1)} {n.text(2)} {n.text(3, '#f')} {decay} {rate}"
    return f"(%onnx-linear-attention {inputs} {heads} {n.number('scale', 0)})"


def causal(n: Node) -> str:
    """A convolution over the past; silu and swish are two names of one activation."""
    bends = n.attribute("activation", "none") != "none"
    return f"(%onnx-causal-conv {n.text(0)} {n.text(1)} {n.text(2, '#f')} {n.text(3, '#f')} {_truth(bends)})"


def gated(n: Node) -> str:
    a = n.text(0)
    return f"(* {a} (sigmoid (* {n.number('alpha', 1)} {a})) {n.text(1)})"


def cached(n: Node) -> str:
    """New entries along an axis of a cache, for each of the batch at a place of its own."""
    axis = n.axis(n.attribute("axis", -2))
    circular = _truth(n.attribute("mode", "linear") == "circular")
    order = [0, axis, *[k for k in range(1, n.rank()) if k != axis]]
    back = list_text([order.index(k) for k in range(n.rank())])
    past, new = [f"(transpose {n.text(place)} #:axes {list_text(order)})" for place in (0, 1)]
    return f"(transpose (%onnx-cached {past} {new} {n.text(2, '#f')} {circular}) #:axes {back})"
