"""Every behaviour has a test, and every test that names a behaviour names one that exists."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("contracts", "chassis", "services", "deploy", "tests")
IDS = r"[CRTVOLE]\d{1,2}"
LEADING_IDS = re.compile(rf"(?:{IDS}[,.:]?\s+)+")
SCRIPT_TEST = re.compile(rf"""\b(?:test|it)\(\s*["'`]((?:{IDS}[,.:]?\s+)+)""")


def behaviours() -> dict[str, dict[str, object]]:
    return tomllib.loads((ROOT / "tests" / "behaviours.toml").read_text(encoding="utf-8"))


def named() -> dict[str, list[str]]:
    """Each id that a test names, with the tests that do."""
    found: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if "node_modules" in path.parts or path == Path(__file__):
                continue
            if path.name.startswith("test_") and path.suffix == ".py":
                names = in_python(path)
            elif path.name.endswith((".test.js", ".test.mjs")):
                names = in_script(path)
            else:
                continue
            for test, behaviour in names:
                found.setdefault(behaviour, []).append(f"{path.relative_to(ROOT)}::{test}")
    return found


def in_python(path: Path) -> Iterator[tuple[str, str]]:
    """The ids of the marks of tests, and those that their docstrings begin with."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            leading = LEADING_IDS.match(f"{ast.get_docstring(node) or ''} ")
            ids = re.findall(IDS, leading[0]) if leading else []
            yield from ((node.name, behaviour) for behaviour in (*ids, *marks(node)))


def marks(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.behaviour":
            yield from (str(ast.literal_eval(argument)) for argument in decorator.args)


def in_script(path: Path) -> Iterator[tuple[str, str]]:
    """The ids that the titles of ``node --test`` begin with."""
    for title in SCRIPT_TEST.finditer(path.read_text(encoding="utf-8")):
        yield from (("test", behaviour) for behaviour in re.findall(IDS, title[1]))


def test_every_behaviour_has_a_test() -> None:
    proven = named()
    missing = [id_ for id_, said in behaviours().items() if not said.get("planned") and id_ not in proven]
    assert not missing, f"no test names {', '.join(missing)}"


def test_every_test_names_behaviours_that_exist() -> None:
    known = behaviours()
    unknown = {id_: tests for id_, tests in named().items() if id_ not in known}
    assert not unknown


def test_every_behaviour_is_one_sentence() -> None:
    for id_, said in behaviours().items():
        sentence = said["says"]
        assert isinstance(sentence, str), id_
        assert sentence.endswith("."), id_
        assert set(said) <= {"says", "planned"}, id_
