"""The language of a text is found by the product itself, and words are compared by their stems."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.language import all_terms, detect, majority, stop_words, terms, words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I reset the amber valve?", "en"),
        ("Wie viele Punkte gab die Verteidigung ab?", "de"),
        ("Quelle est la capitale du pays ?", "fr"),
        ("¿Dónde está la llave de la caldera?", "es"),
        ("Dov'è la chiave della caldaia?", "it"),
        ("Onde está a chave do prédio?", "pt"),
        ("Waar is de sleutel van het gebouw?", "nl"),
        ("Var är nyckeln till dörren?", "sv"),
        ("Gdzie jest klucz do drzwi?", "pl"),
        ("Anahtar nerede ve kim aldı?", "tr"),
        ("Где находится ключ от двери?", "ru"),
        ("Де знаходиться ключ від будинку, який її?", "uk"),
        ("黑豹队的防守丢了多少分？", "zh"),
        ("鍵はどこにありますか。", "ja"),
        ("열쇠는 어디에 있나요?", "ko"),
        ("أين المفتاح؟", "ar"),
        ("चाबी कहाँ है?", "hi"),
        ("Πού είναι το κλειδί;", "el"),
    ],
)
@pytest.mark.behaviour("R5")
def test_a_question_shows_its_language(text: str, language: str) -> None:
    assert detect(text, fallback="xx") == language


@pytest.mark.behaviour("R5")
def test_a_text_without_common_words_is_taken_for_the_language_of_its_corpus() -> None:
    assert detect("Jared Allen Sacks", fallback="de") == "de"
    assert detect("", fallback="zh") == "zh"
    assert detect("12345 !!!", fallback="fr") == "fr"
    assert detect("Was war das Ziel?", fallback="de") == "de"


def test_a_corpus_has_the_language_of_most_of_its_documents() -> None:
    assert majority(["de", "en", "de"]) == "de"
    assert majority(["zh", "en"]) == "en"
    assert majority([], fallback="fr") == "fr"


def test_terms_are_stems_without_common_words_case_accents_and_thousands() -> None:
    assert terms("What are the Müllers' 100,000 valves at 1.6 GB?", "en") == ["muller", "100000", "valv", "1.6", "gb"]
    assert terms("die Häuser der Straße", "de") == terms("das Haus an Straßen", "de") == ["haus", "strass"]
    assert terms("C++ or C# in snake_case: ORCHID-47", "en") == ["c++", "c#", "snake", "case", "orchid", "47"]


def test_scripts_without_spaces_are_read_in_pairs_and_their_numbers_stay_whole() -> None:
    assert terms("黑豹队 Super Bowl 丢了308分", "zh") == ["黑豹", "豹队", "super", "bowl", "丢了", "308", "分"]


def test_a_question_of_common_words_alone_keeps_them() -> None:
    assert terms("who is it", "en") == ["who", "is", "it"]
    assert "who" in stop_words("en")


@given(st.text(max_size=200), st.sampled_from(["en", "de", "zh", "tr", "xx"]))
def test_any_text_has_words_within_it_and_in_order(text: str, language: str) -> None:
    position = 0
    for word in words(text, language):
        assert position <= word.start < word.end <= len(text)
        assert word.term
        position = word.start
    assert detect(text, fallback=language)


@given(st.text(), st.sampled_from(["en", "de", "tr", "zh", "th", "xx"]))
def test_all_terms_are_those_of_the_words_and_no_line_is_cut_otherwise_beside_another(text: str, language: str) -> None:
    lines = [f"It's 1,000.5 {line} C++ No.1,\r" for line in text.split("\n")]
    whole = "\n".join(["3", *lines, "#4"])

    expected = [word.term for word in words(whole, language)]

    assert all_terms(whole, language) == expected
    assert [term for line in whole.split("\n") for term in all_terms(line, language)] == expected
