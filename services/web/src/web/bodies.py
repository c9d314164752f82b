"""The bodies that web reads itself, described: each is refused in a sentence of its own, which FastAPI cannot do."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

NDJSON: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Frames of the answer, one a line, to its end",
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    }
}


def takes(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """What ``openapi_extra`` says of a route whose body is this model, as JSON."""
    schema = model.model_json_schema()
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": _inlined(schema)}}}}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions put where they are named, since a route has no place of its own for them."""
    definitions: dict[str, Any] = schema.pop("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, dict):
            fields: dict[str, Any] = part  # pyright: ignore[reportUnknownVariableType]
            if name := str(fields.get("$ref", "")).rpartition("/")[2]:
                rest = {key: value for key, value in fields.items() if key != "$ref"}
                return {**put(definitions[name]), **rest}
            return {key: put(value) for key, value in fields.items()}
        if isinstance(part, list):
            items: list[Any] = part  # pyright: ignore[reportUnknownVariableType]
            return [put(item) for item in items]
        return part

    return put(schema)
