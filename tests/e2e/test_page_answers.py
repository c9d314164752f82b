"""Asking and reading, in a real browser on the real product."""

from __future__ import annotations

import re

import pytest
from page_window import Opens
from playwright.sync_api import Route, expect

CODE = "What is the amber valve recovery code?"


@pytest.mark.behaviour("T7", "T9", "R7")
def test_a_typed_question_is_answered_and_its_citation_opens_the_lines_lit(opens: Opens) -> None:
    window = opens()
    turn = window.answered(CODE)
    expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
    sentence = turn.locator('.sentence[data-verdict="supported"]', has_text="ORCHID-47").first
    citation = sentence.locator(".cite").first
    citation.click()
    lit = window.page.locator('#source-text [data-lit="lines"]')
    expect(lit.filter(has_text="ORCHID-47").first).to_be_in_viewport()
    expect(window.page.locator("#source-note")).to_contain_text("The answer rests on line")
    expect(citation).to_have_attribute("aria-current", "true")
    window.picture("answer-with-its-source")


@pytest.mark.behaviour("T12")
def test_a_question_that_the_notes_do_not_answer_is_said_to_have_no_answer(opens: Opens) -> None:
    window = opens()
    turn = window.answered("Which airline flew the first mail across the Andes in 1919?")
    expect(turn.locator(".meta")).to_contain_text("Your notes do not hold the answer.")
    expect(turn.locator(".doubt")).to_have_count(0)
    window.picture("abstention")


def test_the_passages_behind_an_answer_can_be_read_and_opened(opens: Opens) -> None:
    window = opens()
    turn = window.answered(CODE)
    passages = turn.locator("details")
    expect(passages.locator("li").first).to_be_hidden()
    passages.locator("summary").click()
    expect(passages.locator("blockquote").filter(has_text="ORCHID-47").first).to_be_visible()
    expect(passages.locator("summary")).to_have_text(re.compile(r"passages? looked at (is|are) cited$"))
    marked = passages.locator("li").evaluate_all("(rows) => rows.map((row) => row.hasAttribute('data-cited'))")
    cited = turn.locator(".answer .cite").evaluate_all("(links) => new Set(links.map((a) => a.textContent)).size")
    assert marked == [True] * cited + [False] * (len(marked) - cited)
    expect(passages.locator("li .cited")).to_have_count(cited)
    passages.get_by_role("link").first.click()
    expect(window.page.locator('#source-text [data-lit="lines"]').first).to_be_visible()


def test_the_chat_survives_a_reload_until_it_is_left(opens: Opens) -> None:
    window = opens()
    window.answered(CODE)
    window.page.reload()
    turn = window.page.locator(".turn")
    expect(turn.locator(".question")).to_have_text(CODE)
    expect(turn.locator(".answer")).to_contain_text("ORCHID-47")
    expect(turn.locator(".sentence[data-verdict]").first).to_be_visible()
    window.page.get_by_role("button", name="New chat").click()
    expect(window.page.locator(".turn")).to_have_count(0)
    window.page.reload()
    expect(window.page.get_by_role("heading", name="Ask your notes.")).to_be_visible()


def test_a_question_that_is_blank_or_too_long_is_said_to_be_so_and_is_not_lost(opens: Opens) -> None:
    window = opens()
    window.ask("   ")
    expect(window.page.get_by_role("alert")).to_have_text("Type a question first.")
    window.ask("x" * 2001)
    expect(window.page.get_by_role("alert")).to_contain_text("at most 2,000")
    expect(window.page.get_by_label("Your question")).to_have_value("x" * 2001)
    expect(window.page.locator(".turn")).to_have_count(0)


@pytest.mark.behaviour("C12")
def test_a_note_that_is_saved_and_removed_is_seen_without_a_reload(opens: Opens) -> None:
    window = opens(tolerated=("404 (Not Found)",))  # the browser says so itself when the removed note is asked for
    row = window.page.locator("#files li", has_text="zz-page/guests.md")
    file = window.product.save("zz-page/guests.md", "# Guests\n\nThe guest wifi password is plum-29.\n")
    try:
        expect(row).to_have_attribute("data-state", "current")
        turn = window.answered("What is the guest wifi password?")
        expect(turn.locator(".answer")).to_contain_text("plum-29")
    finally:
        file.unlink()
    expect(row).to_have_count(0)
    turn.locator(".cite").first.click()
    expect(window.page.locator("#source-note")).to_contain_text("no longer in the folder")
    expect(window.page.locator("#source-text")).to_contain_text("plum-29")


@pytest.mark.behaviour("C13")
def test_a_file_that_cannot_be_read_is_shown_with_its_reason(opens: Opens) -> None:
    window = opens()
    file = window.product.folder / "zz-broken.md"
    file.write_bytes(b"# Broken\n\n\xff\xfe\x00 no text\n")
    try:
        row = window.page.locator("#files li", has_text="zz-broken.md")
        expect(row).to_have_attribute("data-state", "rejected")
        expect(row).to_contain_text("Rejected: ")
        expect(window.page.locator("#state-words")).to_contain_text("rejected")
    finally:
        file.unlink()
    expect(row).to_have_count(0)


@pytest.mark.behaviour("C7", "C16")
def test_looking_again_reports_what_was_found(opens: Opens) -> None:
    window = opens()
    window.page.get_by_role("button", name="Look again now").click()
    expect(window.page.locator("#refresh-report")).to_contain_text("unchanged")


def test_what_a_note_holds_is_never_markup_in_the_page(opens: Opens) -> None:
    window = opens()
    evil = '<img src=x onerror="document.title=1"> <script>document.title=2</script> [click](javascript:alert(1))'
    file = window.product.save("zz-evil.md", f"# Zebrafinch\n\nThe zebrafinch password is {evil} and nothing else.\n")
    try:
        expect(window.page.locator("#files li", has_text="zz-evil.md")).to_have_attribute("data-state", "current")
        turn = window.answered("What is the zebrafinch password?")
        turn.locator("summary").click()
        turn.locator("details").get_by_role("link", name="zz-evil.md").first.click()
        expect(window.page.locator("#source-text")).to_contain_text("onerror=")
        assert window.page.title() == "Talkdown"
        assert window.page.locator("img, main script, aside script, [href^='javascript:']").count() == 0
    finally:
        file.unlink()


@pytest.mark.behaviour("E2")
def test_an_answer_links_to_its_trace(opens: Opens) -> None:
    window = opens()
    turn = window.answered(CODE)
    link = turn.get_by_role("link", name="How it was found")
    with window.context.expect_page() as opened:
        link.click()
    trace = opened.value
    trace.wait_for_load_state()
    assert trace.url.startswith("http://127.0.0.1:")
    assert len(trace.url.rsplit("/", 1)[1]) == 32
    expect(trace.locator("body")).to_contain_text("web")


@pytest.mark.behaviour("E2")
def test_an_earlier_answer_keeps_the_link_to_its_trace_over_a_reload(opens: Opens) -> None:
    window = opens()
    link = window.answered(CODE).get_by_role("link", name="How it was found")
    address = link.get_attribute("href")
    # The conversation is back before the folder is known, which names the address of traces.
    held: list[Route] = []
    window.page.route("**/api/corpus", lambda route: held.append(route))
    window.page.reload()
    expect(window.page.locator(".answer")).to_contain_text("ORCHID-47")
    expect(link).to_have_count(0)
    held[0].continue_()
    expect(link).to_have_attribute("href", str(address))


def test_a_note_s_path_is_shown_once(opens: Opens) -> None:
    window = opens()
    file = window.product.save("zz-once.md", "# Once\n\nThe once password is fern-12.\n")
    try:
        window.page.locator("#files").get_by_role("button", name="zz-once.md").click()
        expect(window.page.locator("#source-title")).to_have_text("zz-once.md")
        expect(window.page.locator("#source-where")).to_be_hidden()
        window.page.keyboard.press("Escape")
        window.page.locator("#files .file", has_text="/").first.click()
        expect(window.page.locator("#source-where")).to_contain_text("/")
    finally:
        file.unlink()


def test_the_page_says_what_leaves_the_machine(opens: Opens) -> None:
    window = opens()
    expect(window.page.locator("#mode")).to_have_text("local · nothing leaves this machine")
    for what in ("Notes: stay here", "Questions: stay here", "Voice: stay here"):
        expect(window.page.locator("#leaves")).to_contain_text(what)
