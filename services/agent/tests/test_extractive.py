"""Extractive answers quote what answers, cite its lines, and say so when nothing does."""

import pytest
from quoted_notes import found, passage

from agent.answering import Conversation
from agent.extractive import answer
from agent.quoting import Extractive
from contracts.search import Passage, SearchResult

VALVE = passage(
    "The amber valve sits behind the boiler.\n\nTo open it after a shutdown, a recovery code is needed.",
    "valves.md",
    heading=("Amber valve",),
    score=0.1,
)
CODE = passage(
    "The recovery code of the amber valve is ORCHID-47.", "valves.md", ordinal=1, heading=("Codes",), score=0.15
)
VISITORS = passage("Visitors\n\nThe guest wifi password is plum-29.", "new.md", heading=("Visitors",), score=0.15)
TEA = passage("The tea is in the kitchen, and the guest towels are in the attic.", "house.md", score=0.1)


@pytest.mark.behaviour("T9")
@pytest.mark.parametrize(
    ("question", "passages", "holds", "place", "lines"),
    [
        ("What is the amber valve recovery code?", [VALVE, CODE, TEA], "ORCHID-47", 2, (1, 1)),
        ("What is the guest wifi password?", [TEA, VISITORS], "plum-29", 2, (3, 3)),
    ],
)
def test_the_sentence_that_answers_is_quoted_whole_with_its_source_and_lines(
    question: str, passages: list[Passage], holds: str, place: int, lines: tuple[int, int]
) -> None:
    written = answer(question, found(question, passages))

    first = written.quotes[0]
    assert not written.abstained
    assert holds in written.text[first.span[0] : first.span[1]]
    assert first.support.source_id == passages[place - 1].id
    assert first.support.lines == lines
    assert written.text[first.span[1] :].startswith(f" [{place}]")


def test_at_most_two_sentences_are_quoted_and_each_stands_in_its_source() -> None:
    question = "What is the amber valve recovery code?"
    passages = [VALVE, CODE, TEA]
    written = answer(question, found(question, passages))

    assert 1 <= len(written.quotes) <= 2
    for quote in written.quotes:
        assert written.text[quote.span[0] : quote.span[1]] in passages[quote.place - 1].text
    assert len(answer(question, found(question, passages), sentences=1).quotes) == 1


@pytest.mark.behaviour("T12")
@pytest.mark.parametrize(
    "question", ["What is the guest wifi password?", "Does it run on Kubernetes?", "When was the bridge built?"]
)
def test_what_the_notes_do_not_hold_is_said_with_the_nearest_passage(question: str) -> None:
    written = answer(question, found(question, [VALVE, CODE, TEA]))

    assert written.abstained
    assert written.quotes == ()
    assert written.text.startswith("The notes do not answer that.")
    assert any(f"{path} [" in written.text or f"{path} ›" in written.text for path in ("valves.md", "house.md"))


@pytest.mark.behaviour("T12")
@pytest.mark.parametrize(
    ("question", "language", "opening"),
    [
        ("Wie lautet das Passwort für das WLAN der Gäste?", "de", "Die Notizen beantworten das nicht."),
        ("访客无线网络的密码是什么？", "zh", "笔记里没有"),
        ("Quel est le mot de passe ?", "fr", "Les notes n'y répondent pas."),
        ("Mikä on salasana?", "fi", "The notes do not answer that."),
    ],
)
def test_an_abstention_speaks_the_language_of_the_question(question: str, language: str, opening: str) -> None:
    assert answer(question, found(question, [TEA], language)).text.startswith(opening)


@pytest.mark.behaviour("T12", "R4")
def test_nothing_found_is_an_abstention_without_a_passage() -> None:
    written = answer("Anything?", SearchResult(corpus_version=1, language="en", chunks=12))

    assert written.abstained
    assert "[" not in written.text


def test_before_any_note_is_read_nothing_is_said_about_the_notes() -> None:
    written = answer("Anything?", SearchResult(corpus_version=0, language="en"))
    assert written.text.startswith("There is no note to search yet.")
    assert written.abstained


def test_a_heading_that_asks_is_answered_by_what_stands_under_it_and_is_not_quoted_itself() -> None:
    question = "Should I commit the lock file?"
    asks = passage(
        "Should I commit the lock file?\n\nYes, so that everyone installs the same.\n\nA library may do otherwise.",
        "faq.md", heading=("FAQ", "Should I commit the lock file?"), score=0.15,
    )  # fmt: skip
    against = passage("If you do not want to commit the lock file, add it to the ignored files.", "git.md", score=0.15)

    written = answer(question, found(question, [asks, against]))

    assert written.text.startswith("Yes, so that everyone installs the same. [1]")


def test_a_row_of_a_table_is_read_with_its_header_and_an_item_without_its_mark() -> None:
    table = passage(
        "Device | Recovery code\n\nAmber valve | ORCHID-47\n\nDoor | 1234", "codes.md", heading=("Codes",), score=0.15
    )
    steps = passage("1. Turn the red lever down\n2. Wait", "steps.md", heading=("Boiler reset",), score=0.15)

    row = answer(
        "What is the recovery code of the amber valve?", found("What is the recovery code of the amber valve?", [table])
    )
    item = answer("Where does the red lever turn?", found("Where does the red lever turn?", [steps]), sentences=1)

    assert row.text.startswith("Amber valve: Recovery code ORCHID-47. [1]")
    assert item.text.startswith("Turn the red lever down. [1]")


@pytest.mark.behaviour("T14")
def test_two_of_one_name_are_both_given_with_their_sources_and_never_mixed() -> None:
    ada = passage("Ada Lee arrives on 3 May by train.", "guests.md", heading=("Guests",), score=0.15)
    bob = passage("Bob Lee arrives on 9 June by boat.", "crew.md", heading=("Crew",), score=0.149)

    both = answer("When does Lee arrive?", found("When does Lee arrive?", [ada, bob]))
    one = answer("When does Bob Lee arrive?", found("When does Bob Lee arrive?", [ada, bob]), sentences=1)

    assert both.text == (
        "The notes speak of more than one: Ada Lee arrives on 3 May by train. [1]"
        " Bob Lee arrives on 9 June by boat. [2]"
    )
    assert [quote.support.source_id for quote in both.quotes] == [ada.id, bob.id]
    assert one.text == "Bob Lee arrives on 9 June by boat. [2]"


SPRING = passage(
    "Dr. Amara Lee stays from 12 April to 3 May. She works in the Fern House. Her room is the Gull Room, and she eats"
    " no nuts.", "people/spring.md", heading=("Guests in spring",), score=0.15,
)  # fmt: skip
AUTUMN = passage(
    "Marcus Lee stays from 2 to 16 October. He photographs cacti. His room is the Tern Room, and he is allergic to bee"
    " stings.", "people/autumn.md", heading=("Guests in autumn",), score=0.149,
)  # fmt: skip


@pytest.mark.behaviour("T14")
def test_each_bearer_of_a_name_is_named_before_what_is_told_by_a_pronoun() -> None:
    marcus = "Marcus Lee stays from 2 to 16 October. [1]"
    amara = "Dr. Amara Lee stays from 12 April to 3 May. [2]"
    tern = "His room is the Tern Room, and he is allergic to bee stings. [1]"
    gull = "Her room is the Gull Room, and she eats no nuts. [2]"

    room = answer("Which room does Lee stay in?", found("Which room does Lee stay in?", [AUTUMN, SPRING]))
    allergy = answer("What is Lee allergic to?", found("What is Lee allergic to?", [AUTUMN, SPRING]))

    opening = "The notes speak of more than one:"
    assert room.text in (f"{opening} {marcus} {tern} {amara} {gull}", f"{opening} {amara} {gull} {marcus} {tern}")
    assert allergy.text.startswith(f"{opening} {marcus} {tern} {amara}")


@pytest.mark.behaviour("T14")
def test_a_question_that_says_the_whole_name_is_about_that_one_alone() -> None:
    question = "Which room does Amara Lee stay in?"
    written = answer(question, found(question, [AUTUMN, SPRING]))

    assert "Gull Room" in written.text
    assert "Marcus" not in written.text
    assert "Tern" not in written.text


TIMETABLE = passage(
    "Timetable\n\nhouse | days | start | litres\n\nFern House | every day | 06:10 | 420\n\nNursery | every day | 07:00"
    " | 150\n\nDry House | Monday, Thursday | 06:40 | 35",
    "irrigation.md", heading=("Irrigation", "Timetable"), score=0.15,
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "written"),
    [
        ("How many litres does the Nursery get?", "Nursery: days every day, start 07:00, litres 150. [1]"),
        ("How many litres for the Dry House?", "Dry House: days Monday, Thursday; start 06:40; litres 35. [1]"),
    ],
)
def test_a_question_in_the_words_of_a_header_is_answered_by_one_row_read_with_it(question: str, written: str) -> None:
    assert answer(question, found(question, [TIMETABLE])).text == written


def test_a_row_whose_cells_hold_full_stops_is_still_one_row() -> None:
    table = passage(
        "pest | remedy | hours\n\nMites | Rinse. Then dry them. | 3\n\nScale | Oil. | 5", "pests.md", score=0.15
    )
    question = "What is the remedy for mites?"

    assert answer(question, found(question, [table])).text == "Mites: remedy Rinse. Then dry them., hours 3. [1]"


def test_what_comes_first_in_the_note_is_said_before_a_sentence_that_begins_with_then() -> None:
    restart = passage(
        "Wait until the gauge of the amber valve has stood at 2.4 bar. Then enter the recovery code ORCHID-47 at the"
        " amber valve.", "valves.md", heading=("Valves",), score=0.15,
    )  # fmt: skip
    question = "What is the amber valve recovery code?"

    written = answer(question, found(question, [restart, TEA])).text
    alone = answer(question, found(question, [restart, TEA]), sentences=1).text

    assert "ORCHID-47" in alone
    assert written == alone or written.index("Wait until") < written.index("Then enter")


@pytest.mark.parametrize(
    ("question", "text", "heading", "language", "first", "second"),
    [
        (
            "What should I do if the boiler goes out?",
            "1. Look at the hopper first.\n2. Press the reset button once.\n3. If the boiler goes out again, ring 401.",
            ("Heating", "If the boiler goes out"), "en", "Look at the hopper first.", "Press the reset button once.",
        ),
        (
            "How do I take a seed packet out?",
            "Let it reach room temperature. A seed packet opened cold draws water.",
            ("The seed bank", "Taking a packet out"), "en", "Let it reach", "A seed packet opened cold",
        ),
        (
            "Was soll ich tun, wenn der Kessel ausgeht?",
            "1. Zuerst den Trichter ansehen.\n2. Den Knopf drücken.\n3. Wenn der Kessel ausgeht, 401 rufen.",
            ("Heizung", "Wenn der Kessel ausgeht"), "de", "Zuerst den Trichter ansehen.", "Den Knopf drücken.",
        ),
    ],
)  # fmt: skip
def test_a_question_what_to_do_is_answered_from_the_first_step_on(
    question: str, text: str, heading: tuple[str, ...], language: str, first: str, second: str
) -> None:
    steps = passage(text, "steps.md", heading=heading, language=language, score=0.15)

    written = answer(question, found(question, [steps], language)).text

    assert written.startswith(first)
    assert second in written


COMMANDS = "systemctl stop web\ncertbot renew --force. Now wait\n\tsystemctl start web"


def test_a_sentence_that_ends_with_a_colon_brings_the_code_after_it_line_by_line() -> None:
    note = passage(f"To renew the certificate:\n\n{COMMANDS}\n\nThe page is green.", "tls.md", score=0.15)
    question = "How do I renew the certificate?"

    written = answer(question, found(question, [note, TEA]))

    assert written.text == f"To renew the certificate: [1] {COMMANDS} [1]"
    assert [quote.support.lines for quote in written.quotes] == [(1, 1), (3, 5)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The guest wifi password is:\n\nPlum and blue\n\nThe door is shut.", "Plum and blue."),
        ("The guest wifi password is:\n\nplum and blue\n\nThe door is shut.", "plum and blue"),
        ("The guest wifi password is:\n\n1. Plum\n\n2. Pear", "Plum. [1] Pear."),
        ("The guest wifi password is:\n\n1. Plum\n\n2. Pear\n\nThe door is shut.", "Plum. [1] Pear."),
        ("The guest wifi password is:\n\nThis one:\n\nPlum.", "This one: [1] Plum."),
        ("The guest wifi password is:\n\nwifi --show | cut -f 2\n\nThe door is shut.", "wifi --show | cut -f 2"),
    ],
)
@pytest.mark.parametrize("sentences", [1, 2])
def test_a_sentence_that_ends_with_a_colon_brings_what_follows_it(text: str, said: str, sentences: int) -> None:
    note = passage(text, "wifi.md", score=0.15)
    question = "What is the guest wifi password?"

    written = answer(question, found(question, [note, TEA]), sentences=sentences)

    assert written.text == f"The guest wifi password is: [1] {said} [1]"


def test_a_list_is_said_to_its_end_though_its_marks_are_not_in_the_text() -> None:
    told = ["The keeper does these before ten.", "Read the board.", "Walk the houses.", "Empty the traps."]
    text = "\n\n".join([*told, "The door is shut."])
    places = [text.index(part) for part in text.split("\n\n")]
    runs = tuple(zip(places, places, (1, 3, 4, 5, 7), strict=True))
    note = passage(text, "day.md", score=0.15).model_copy(update={"runs": runs})
    question = "What does the keeper do before ten?"

    written = answer(question, found(question, [note, TEA]))

    assert "Empty the traps. [1]" in written.text
    assert "The door" not in written.text
    assert [quote.support.lines for quote in written.quotes] == [(1, 1), (3, 3), (4, 4), (5, 5)]


def test_a_heading_that_points_back_is_read_with_the_one_before_it() -> None:
    valve = passage("The amber valve stands in the pump room.", heading=("Valves", "The amber valve"), score=0.15)
    again = passage(
        "Wait until the gauge stands at 2.4 bar. Then enter the code. The flag turns white.",
        ordinal=1,
        heading=("Valves", "Starting it again"),
        score=0.14,
    )
    question = "How do I restart the amber valve?"

    written = answer(question, found(question, [valve, again, TEA]))

    assert written.text == "Wait until the gauge stands at 2.4 bar. [2] Then enter the code. [2]"


def test_a_sentence_that_ends_with_a_colon_and_leads_to_nothing_is_not_chosen() -> None:
    ends = passage("The guest towels are blue. The guest wifi password is:", "wifi.md", score=0.15)
    alone = passage("The guest wifi password is:", "wifi.md", score=0.15)
    question = "What is the guest wifi password?"

    assert "password is:" not in answer(question, found(question, [ends, VISITORS])).text
    assert answer(question, found(question, [alone])).abstained


@pytest.mark.parametrize(
    "code", ["certbot renew --force", "wifi --show | cut -f 2 # the certbot", "cp certbot.ini\n  to the shed"]
)
def test_code_is_quoted_as_it_stands(code: str) -> None:
    note = passage(f"The page is green.\n\n{code}\n\nThe door is shut.", "tls.md", score=0.15)
    question = "certbot"

    written = answer(question, found(question, [note]), sentences=1)

    assert written.text == f"{code} [1]"


def test_a_line_of_code_that_stands_among_others_gets_no_full_stop() -> None:
    note = passage("The page is green.\n\ncp certbot.ini\n  - shed", "tls.md", score=0.15)

    assert answer("certbot.ini", found("certbot.ini", [note]), sentences=1).text == "cp certbot.ini [1]"


def test_a_number_in_brackets_in_a_source_does_not_become_a_citation() -> None:
    noted = passage("The bridge was built in 1931 [7] by hand", "b.md", score=0.15)
    question = "When was the bridge built by hand?"

    assert answer(question, found(question, [noted])).text == "The bridge was built in 1931 (7) by hand. [1]"


async def test_the_answerer_writes_the_same_piece_by_piece() -> None:
    question = "What is the guest wifi password?"
    result = found(question, [TEA, VISITORS])
    answerer = Extractive()
    conversation = Conversation(question)
    plan = await answerer.plan(conversation)

    pieces = [piece async for piece in answerer.write(conversation, plan, result)]

    assert "".join(piece.text for piece in pieces) == answer(question, result).text
    assert pieces[-1].abstained is False
