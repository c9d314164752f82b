"""What is taken from the folder and what is refused, and the sentence that says why.

Permissions are real: root, whom none hold back, becomes nobody for as long as such a test looks.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import shutil
import socket
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from ingestor.errors import FolderUnavailable
from ingestor.reading import FILE_LIMIT, Reading, read
from ingestor.scanning import Refusal, Scan, scan, shown

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may enter (pytest's own are closed to others)."""
    made = Path(tempfile.mkdtemp(prefix="talkdown-"))
    made.chmod(0o755)
    yield made.resolve()
    shutil.rmtree(made)


@contextmanager
def without_privileges() -> Generator[None]:
    """Root is held back by no permission: become nobody inside."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def write(folder: Path, path: str, text: str | bytes = "Text.\n") -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def names(found: Scan) -> list[str]:
    return [place.path for place in found.places]


def refused(found: Scan) -> dict[str, str]:
    return {refusal.path: refusal.reason for refusal in found.refusals}


def read_only(folder: Path, path: str = "a.md") -> Reading | Refusal:
    (place,) = [place for place in scan(folder).places if place.path == path]
    return read(place)


def reason(taken: Reading | Refusal) -> str:
    assert isinstance(taken, Refusal)
    return taken.reason


@pytest.mark.behaviour("C1")
def test_markdown_of_any_case_is_found_in_posix_order(folder: Path) -> None:
    for path in (
        "b.md",
        "B.MD",
        "a/z.markdown",
        "a/y.MarkDown",
        "a.md",
        "a-b.md",
        "notes.txt",
        "md",
        "x.mdx",
        "ä/ü.md",
    ):
        write(folder, path)
    for path in (".git/a.md", ".obsidian/b.md", ".trash/c.md", "a/.hidden/d.md", ".e.md"):
        write(folder, path)
    assert names(scan(folder)) == ["B.MD", "a-b.md", "a.md", "a/y.MarkDown", "a/z.markdown", "b.md", "ä/ü.md"]
    assert scan(folder).refusals == []


@pytest.mark.behaviour("C1")
def test_identity_is_the_path_and_change_is_the_hash_of_the_bytes(folder: Path) -> None:
    write(folder, "a.md", b"\xef\xbb\xbfText.\r\n")
    taken = read_only(folder)
    assert isinstance(taken, Reading)
    assert taken.text == "\ufeffText.\r\n", "nothing is translated: the text's bytes are the file's"
    assert taken.sha256 == hashlib.sha256(b"\xef\xbb\xbfText.\r\n").hexdigest()


@pytest.mark.behaviour("C2")
def test_a_file_of_the_limit_is_taken_and_one_byte_more_is_not(folder: Path) -> None:
    write(folder, "a.md", b"x" * FILE_LIMIT)
    assert isinstance(read_only(folder), Reading)
    write(folder, "a.md", b"x" * (FILE_LIMIT + 1))
    assert "over the limit of 262,144" in reason(read_only(folder))


@pytest.mark.behaviour("C3")
def test_links_out_are_refused_and_links_inside_are_taken_once(folder: Path, tmp_path: Path) -> None:
    write(tmp_path, "secret.md", "Secret.\n")
    write(tmp_path, "secrets/other.md", "Secret.\n")
    write(folder, "a/real.md")
    write(folder, "plain.txt")
    write(folder, ".hidden/kept.md")
    links = {
        "out.md": tmp_path / "secret.md",
        "out-folder": tmp_path / "secrets",
        "twin.md": folder / "a/real.md",
        "a-again": folder / "a",
        "text.md": folder / "plain.txt",
        "text-again.md": folder / "plain.txt",
        "shown": folder / ".hidden",
        "broken.md": folder / "nothing.md",
        "round.md": folder / "round.md",
        "out-text": tmp_path / "secret.md",
        "a/up": folder,
        "nowhere": folder / "nothing",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    found = scan(folder)
    assert names(found) == ["a/real.md", "shown/kept.md", "text-again.md"]
    assert found.linked
    out = "It is a link that leads out of the folder: copy what it leads to into the folder."
    assert refused(found) == {
        "broken.md": "It is a link that leads to nothing.",
        "out-folder": out,
        "out.md": out,
        "round.md": "It is a link that leads round in a circle.",
    }


@pytest.mark.behaviour("C3")
def test_a_path_that_leads_through_a_link_is_looked_at_as_the_link(folder: Path, tmp_path: Path) -> None:
    write(tmp_path, "secret.md", "Secret.\n")
    (folder / "out").symlink_to(tmp_path)
    found = scan(folder, ["out/secret.md"])
    assert names(found) == []
    assert list(refused(found)) == ["out"]


@pytest.mark.behaviour("C3")
def test_the_root_may_be_a_link(folder: Path) -> None:
    write(folder, "real/a.md")
    (folder / "link").symlink_to(folder / "real")
    (place,) = scan(folder / "link").places
    assert isinstance(read(place), Reading)


@pytest.mark.behaviour("C3")
def test_a_folder_that_becomes_a_link_after_the_look_gives_nothing_away(folder: Path, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "Secret.\n")
    write(folder, "sub/a.md", "Text.\n")
    (place,) = scan(folder).places
    shutil.rmtree(folder / "sub")
    (folder / "sub").symlink_to(tmp_path)
    assert "leads out" in reason(read(place))
    (folder / "sub").unlink()
    write(folder, "sub/b.md")
    (folder / "sub/a.md").symlink_to(tmp_path / "a.md")
    assert "turned into a link" in reason(read(place))


@pytest.mark.behaviour("C13")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (codecs.BOM_UTF16_LE + "Text".encode("utf-16-le"), "It is UTF-16 text: save it as UTF-8."),
        (codecs.BOM_UTF16_BE + "Text".encode("utf-16-be"), "It is UTF-16 text: save it as UTF-8."),
        (codecs.BOM_UTF32_LE + "Text".encode("utf-32-le"), "It is UTF-32 text: save it as UTF-8."),
        ("one\ncafé".encode("latin-1"), "It is not UTF-8 (byte 7, on line 2): save it as UTF-8."),
        (b"one\n\0two", "It has a NUL byte on line 2, so it is no text: save it as UTF-8."),
        (b"\xed\xa0\x80", "It is not UTF-8 (byte 0, on line 1): save it as UTF-8."),
    ],
    ids=["UTF-16 LE", "UTF-16 BE", "UTF-32", "Latin-1", "NUL", "a surrogate"],
)
def test_what_is_not_utf8_text_is_refused_with_a_remedy(folder: Path, data: bytes, expected: str) -> None:
    write(folder, "a.md", data)
    assert reason(read_only(folder)) == expected


@pytest.mark.behaviour("C13")
def test_a_file_without_permission_is_named_and_stops_no_other(folder: Path) -> None:
    write(folder, "a.md").chmod(0o000)
    write(folder, "b.md").chmod(0o644)
    write(folder, "closed/c.md")
    (folder / "closed").chmod(0o000)
    with without_privileges():
        found = scan(folder)
        taken = {place.path: read(place) for place in found.places}
    (folder / "closed").chmod(0o755)
    assert reason(taken["a.md"]) == "It may not be read: give its user the permission to (chmod +r)."
    assert isinstance(taken["b.md"], Reading)
    assert refused(found) == {"closed": "The folder may not be opened: give its user the permission to."}


@pytest.mark.behaviour("C13")
def test_a_file_that_vanished_is_named(folder: Path) -> None:
    write(folder, "a.md")
    (place,) = scan(folder).places
    (folder / "a.md").unlink()
    assert reason(read(place)) == "It vanished before it was read."


@pytest.mark.behaviour("C13")
def test_names_that_cannot_be_told_are_refused(folder: Path) -> None:
    for name in (b"caf\xe9.md", b"two\nlines.md", b"back\\slash.md", b"folder\x07/a.md"):
        file = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
        file.parent.mkdir(exist_ok=True)
        file.write_text("Text.\n")
    found = scan(folder)
    assert names(found) == []
    assert list(refused(found)) == ["back\\slash.md", "caf\\xe9.md", "folder\\x07", "two\\nlines.md"]
    assert all("rename it" in why for why in refused(found).values())
    assert shown("plain/ä.md") == "plain/ä.md"


@pytest.mark.behaviour("C13")
def test_what_is_no_regular_file_is_refused_and_never_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket.md"))
        found = scan(folder)
    assert refused(found) == {"pipe.md": "It is no regular file.", "socket.md": "It is no regular file."}
    write(folder, "later.md")
    (place,) = scan(folder).places
    (folder / "later.md").unlink()
    os.mkfifo(folder / "later.md")
    assert reason(read(place)) == "It is no regular file."


@pytest.mark.behaviour("C13")
def test_a_file_replaced_while_it_is_read_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(folder, "a.md", "Old.\n")
    (place,) = scan(folder).places
    opened = os.open
    replacements = iter(["New.\n"])

    def replacing(path: str, flags: int) -> int:
        descriptor = opened(path, flags)
        for text in replacements:
            write(folder, "b.tmp", text).replace(file)
        return descriptor

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", replacing)
        taken = read(place)
    assert isinstance(taken, Reading)
    assert taken.text == "New.\n"


@pytest.mark.behaviour("C13")
def test_a_file_that_never_rests_is_left_for_later(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(folder, "a.md", "0\n")
    (place,) = scan(folder).places
    fdopen = os.fdopen

    def growing(descriptor: int, mode: str, *, closefd: bool) -> IO[Any]:
        with file.open("a") as more:
            more.write("more\n")
        return fdopen(descriptor, mode, closefd=closefd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", growing)
        taken = read(place)
    assert isinstance(taken, Refusal)
    assert taken.passing
    assert "keeps changing" in taken.reason


@pytest.mark.behaviour("C13")
def test_a_folder_that_is_not_there_is_a_different_thing_from_an_empty_one(folder: Path) -> None:
    assert scan(folder).places == []
    with pytest.raises(FolderUnavailable, match="is not there"):
        scan(folder / "nothing")
    write(folder, "a.md")
    with pytest.raises(FolderUnavailable, match="is not a folder"):
        scan(folder / "a.md")
