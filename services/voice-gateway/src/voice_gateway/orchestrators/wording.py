"""What a value of a file must be, in words of the file: what pydantic says of it names types of Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic_core import ErrorDetails


def what_it_is(fault: ErrorDetails) -> str:
    """The sentence about a wrong value from its verb on, without the full stop."""
    given: object = fault["input"]
    bounds = cast("Mapping[str, object]", fault.get("ctx", {}))
    match fault["type"]:
        case "tuple_type" | "list_type" | "frozen_set_type" | "set_type":
            shown = f"`[{given}]`" if isinstance(given, str) and given and len(given) <= 60 else "`[one, two]`"
            return f"is a list; write {shown}"
        case "string_type" if isinstance(given, (list, tuple, Mapping)):
            return "is one text, and no list or group of fields"
        case "string_type":
            return "is text; write it in quotes" if given is not None else "is empty; write something, or leave it out"
        case "model_type" | "dict_type" | "mapping_type" | "model_attributes_type":
            return "is a group of fields, each a name and a value"
        case "string_too_short" | "too_short":
            least = bounds.get("min_length", 1)
            return "is empty; write something" if least == 1 else f"is too short; it has at least {least} characters"
        case "string_too_long":
            return f"is too long; it has at most {bounds.get('max_length')} characters"
        case "too_long":
            return f"has too many entries; at most {bounds.get('max_length')} may stand there"
        case "bool_type" | "bool_parsing":
            return "is either true or false"
        case "string_pattern_mismatch":
            return f"is no name that can stand here; it fits the pattern {bounds.get('pattern')}"
        case _:
            return f"cannot be this: {fault['msg'].removeprefix('Value error, ')[:200]}"
