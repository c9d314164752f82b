"""Kokoro's graph in two halves: what is to be heard when, which costs little, and the sound of any stretch of it.

::

    tokens, style, speed -> [ planning ] -> frames of each token, and for each frame what is heard in it
                                                 | any stretch of frames, with some beside it
                                                 v
                               style -> [ sounding ] -> 600 samples a frame

The planning is a twentieth of the work. The sounding is made of convolutions, which see little beside it, and of
normalisations over all that they are given: so a stretch alone sounds as it does in its phrase, but for its level.
"""

from __future__ import annotations

from typing import Final

import onnx
from onnx import TensorProto, helper
from onnx.utils import Extractor

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
    given, made = ([one.name for one in side] for side in (whole.graph.input, whole.graph.output))
    between = {**FEATURES, LENGTHS: None}
    # What is cut needs a type, which the graph does not give to what is inside of it.
    whole.graph.value_info.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in between.items()
    )
    cutting = Extractor(whole)
    planning = cutting.extract_model(given, [*between])
    sounding = cutting.extract_model([*FEATURES, STYLE], made)
    return planning.SerializeToString(), sounding.SerializeToString()
