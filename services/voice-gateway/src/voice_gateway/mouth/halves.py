"""Kokoro's graph in two halves: what is to be heard when, which costs little, and the sound of any stretch of it.

::

    tokens, style, speed -> [ planning ] -> frames of each token, and for each frame what is heard in it
                                                 | any stretch of frames, with some beside it
                                                 v
                               style -> [ sounding ] -> 600 samples a frame

The planning is a twentieth of the work. The sounding is made of convolutions, which see 0.1 s to each side, and of
normalisations over all that they are given: so a stretch alone sounds as it does in its phrase, but for its level.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import onnx
from onnx import TensorProto, helper

LENGTHS: Final = "/encoder/Clip_output_0"
FEATURES: Final = {
    "/encoder/MatMul_1_output_0": (1, 512, "frames"),
    "/decoder/decoder/Unsqueeze_output_0": (1, 1, "halves of frames"),
    "/decoder/decoder/Unsqueeze_1_output_0": (1, 1, "halves of frames"),
    "/decoder/decoder/generator/Squeeze_output_0": (1, "samples"),
}
"""Between the halves, with their shapes: the sounds, the pitch, the energy, and the source that the pitch makes."""
STYLE: Final = "style"


def halves(model: bytes) -> tuple[bytes, bytes]:
    """The two models; the first gives :data:`FEATURES` and :data:`LENGTHS`, the second takes the first of these."""
    whole = onnx.ModelProto.FromString(model)
    given = list(whole.graph.input)
    between = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in FEATURES.items()]
    style = [one for one in given if one.name == STYLE]
    audio = [one.name for one in whole.graph.output]
    return _part(whole, given, (*FEATURES, LENGTHS)), _part(whole, [*between, *style], audio)


def _part(whole: onnx.ModelProto, inputs: list[Any], outputs: Iterable[str]) -> bytes:
    """What of a model is needed to make ``outputs`` of ``inputs``."""
    maker = {name: place for place, node in enumerate(whole.graph.node) for name in node.output}
    known, wanted = {one.name for one in inputs}, list(outputs)
    needed, places = set[str](), set[int]()
    while wanted:
        name = wanted.pop()
        if name in known or name in needed:
            continue
        needed.add(name)
        place = maker.get(name)
        if place is not None and place not in places:
            places.add(place)
            wanted += whole.graph.node[place].input
    graph = helper.make_graph(
        [whole.graph.node[place] for place in sorted(places)],
        "part",
        inputs,
        [onnx.ValueInfoProto(name=name) for name in outputs],
        initializer=[one for one in whole.graph.initializer if one.name in needed],
    )
    part = helper.make_model(graph, opset_imports=whole.opset_import, ir_version=whole.ir_version)
    return part.SerializeToString()
