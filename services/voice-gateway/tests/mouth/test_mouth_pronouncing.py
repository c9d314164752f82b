"""How words sound, by the dictionary, by their stems, by their letters, and by their place."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voice_gateway.mouth.cutting import breaths
from voice_gateway.mouth.lexicon import Lexicon, open_lexicon, plain_letters, with_ed, with_s
from voice_gateway.mouth.normalising import normalised
from voice_gateway.mouth.pronouncing import sounds_of
from voice_gateway.mouth.scoring import score_of
from voice_gateway.mouth.symbols import LONGEST, numbers_of


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return open_lexicon()


@pytest.mark.parametrize(
    ("spoken", "sounds"),
    [
        ("The valve.", "ðə vˈælv."),
        ("the amber valve", "ði ˈæmbəɹ vˈælv"),
        ("an hour", "ɐn ˈWəɹ"),
        ("to avoid", "tʊ əvˈYd"),
        ("to rinse", "tə ɹˈɪns"),
        ("the keeper's keys", "ðə kˈipəɹz kˈiz"),
        ("the record", "ðə ɹˈɛkəɹd"),
        ("Record the day", "ɹəkˈɔɹd ðə dˈA"),
        ("to record", "tə ɹəkˈɔɹd"),
        ("used to be", "jˈust tə bi"),
        ("is used to rinse", "ɪz jˈuzd tə ɹˈɪns"),
        ("the API", "ði ˌApˌiˈI"),
        ("the CPUs", "ðə sˌipˌijˈuz"),
        ("HTTP", "ˌAʧtˌitˌipˈi"),
        ("JSON", "ʤˈAsɑn"),
        ("do NOT press", "dˈu nˌɑt pɹˈɛs"),
        ("ORCHID", "ˈɔɹkɪd"),
        ("café", "kæfˈA"),
        ("lockfiles", "lˈɑkfˌIlz"),
    ],
)
def test_words_sound_as_people_say_them(lexicon: Lexicon, spoken: str, sounds: str) -> None:
    assert " ".join(said for _, said in sounds_of(spoken, lexicon)).replace("ɾ", "T") == sounds
    assert all(spoken[start].isalpha() for start, _ in sounds_of(spoken, lexicon))


def test_endings_follow_the_sound_before_them() -> None:
    assert [with_s(stem) for stem in ("kˈæt", "dˈɔɡ", "hˈWs")] == ["kˈæts", "dˈɔɡz", "hˈWsᵻz"]
    assert [with_ed(stem) for stem in ("wˈɔk", "klˈOz", "wˈAt", "ənd")] == ["wˈɔkt", "klˈOzd", "wˈATᵻd", "əndᵻd"]


def test_letters_of_other_alphabets_of_latin_become_plain() -> None:
    assert plain_letters("Ærøskøbing’s") == "Aeroskobing's"
    assert plain_letters("Straße") == "Strasse"


def test_a_word_that_nobody_wrote_down_is_guessed_from_its_letters(lexicon: Lexicon) -> None:
    sounds = lexicon.sounds_of("merrowctl", "DEFAULT")
    assert "m" in sounds
    assert len(numbers_of(sounds)) == len(sounds)


def test_a_word_without_a_vowel_is_spelled(lexicon: Lexicon) -> None:
    assert lexicon.sounds_of("xqrtz", "DEFAULT") == "ˌɛkskjˌuˌɑɹtˌizˈi"


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.sampled_from(list("abcdeinorstuyABSTé'’.,;!? ")), max_size=80))
def test_any_words_have_sounds_that_the_model_knows(lexicon: Lexicon, text: str) -> None:
    sounds = " ".join(said for _, said in sounds_of(text, lexicon))
    assert len(numbers_of(sounds)) == len(sounds)
    assert bool(numbers_of(sounds)) >= any(letter.isascii() and letter.isalpha() for letter in text)


def test_of_the_longest_breath_the_model_takes_every_word(lexicon: Lexicon) -> None:
    for text in ("extraordinarily " * 30, "The " + "WWW " * 60, "Key " + "XJDWKQWZ-" * 24 + " end"):
        of_every_word_something_is_said(text, lexicon)


def of_every_word_something_is_said(text: str, lexicon: Lexicon) -> None:
    for breath in breaths(text, normalised(text), hurried=False):
        score = score_of(breath, lexicon)
        assert len(score.numbers) <= LONGEST
        assert [word for word, _ in score.words] == list(range(len(breath.words)))
