"""What the words of an utterance tell: whether the sentence is open, only signals listening, or is nothing at all."""

from __future__ import annotations

import math
import re
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")

_ENDLESS: Final = """
    a an the and or but nor so because although though if unless until while whereas whether that which who whose
    of to for from with without in on at by into onto about between among over under during before after than as
    like is are was were am be been being do does did has have had can could will would shall should may might must
    my your his her its our their this these those some any every each no not very more most
    isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't
    what's where's who's how's it's that's there's i'm you're we're they're i've i'd i um uh er erm
    what when where why how
"""
_OPEN: Final = frozenset(_ENDLESS.split())
"""Words after which an English sentence goes on as a rule."""
_OPEN_ENDS: Final = (",", "-", "—", "–", "…", "...", ":")
_PAIRS: Final = """
    what for,who with,like that,and that,is this,is that,was that,do that,did that,how so,why not,of it,like this,
    about that,about this,i do,after that,before that,or not,do this,mean that,means that,look like,looks like,
    come from,comes from,goes on,going on,turn on,log in,made of,is for,are for,used for,looking for,stand for,
    stands for,belong to
"""
_CLOSED: Final = frozenset(pair.strip() for pair in _PAIRS.split(","))
"""Ends that a sentence may have all the same."""
_QUESTION_WORDS: Final = "what when where why how which who whom whose"
_PREPOSITIONS: Final = "to for from with without in on at by into about between under over after before like than"
_ASKING: Final = frozenset(_QUESTION_WORDS.split())
_STRANDED: Final = frozenset(_PREPOSITIONS.split())
_COPULAS: Final = frozenset(("is", "are", "was", "were", "do", "does", "did", "can"))
_OPEN_AT_MOST: Final = 0.15
_LISTENING: Final = """
    mhm mm mmm mmhm mmhmm hm hmm hmmm uh-huh uhhuh uhuh uh-hum mm-hmm mm-hm mm-mm m-hm mhmm huh ah aha ahh oh ooh okay
    ok kay yeah yea yep yup yes right sure alright well um uh er erm eh ugh ahem good great cool nice wow exactly
"""
_BACKCHANNELS: Final = frozenset(_LISTENING.split())
_BACKCHANNEL_PHRASES: Final = frozenset(
    ("i see", "got it", "all right", "of course", "makes sense", "uh huh", "mm hmm", "oh i see", "i know")
)
_INVENTED: Final = frozenset(("you", "thank you", "thanks", "bye", "the", "i", "so", "and", "a", "thank you very much"))
"""What the recogniser writes when it is given no speech, as it learnt from subtitles."""


def words_of(text: str) -> list[str]:
    """The words of ``text``, in small letters."""
    return _WORD.findall(text.lower().replace("’", "'"))


def is_open(text: str) -> bool:
    """Whether the last words ask for more: "what is the code of the"."""
    words = words_of(text)
    if not words or text.rstrip().endswith(_OPEN_ENDS):
        return True
    if words[-1] not in _OPEN or " ".join(words[-2:]) in _CLOSED:
        return False
    asked = [place for place, word in enumerate(words) if word in _ASKING]
    if words[-1] in _STRANDED and len(words) > 3 and asked[:1] == [0]:
        return False  # "What is the red lever for?"
    # "Tell me what the code is", but not "And what is".
    return not (words[-1] in _COPULAS and any(0 < place < len(words) - 2 for place in asked))


def likelihood_over(melody: float, text: str) -> float:
    """How likely a turn is over: the melody's likelihood, moved by what the words tell; all of them 0 to 1.

    Words that ask for more outweigh any melody, which was measured to be high at many a cut inside a sentence.
    """
    if is_open(text):
        return min(melody, _OPEN_AT_MOST)
    melody = min(max(melody, 0.01), 0.99)
    odds = math.log(melody / (1 - melody))
    if text.rstrip().endswith("?"):
        odds += 1.0
    return 1 / (1 + math.exp(-odds))


def may_stand_at_an_edge(word: str) -> bool:
    """Whether a name that was misheard may begin or end with it, which no name does with "the" or "of"."""
    return word not in _OPEN


def is_backchannel(text: str) -> bool:
    """Whether ``text`` only signals listening: "Mhm.", "okay, right"."""
    words = words_of(text)
    if not words or len(words) > 4:
        return False
    return " ".join(words) in _BACKCHANNEL_PHRASES or all(word in _BACKCHANNELS for word in words)


def is_nothing(text: str) -> bool:
    """Whether ``text`` has no word at all."""
    return not words_of(text)


def is_invented(text: str) -> bool:
    """Whether ``text`` is what the recogniser makes of noise; people say it too, so ask how sure the voice was."""
    return " ".join(words_of(text)) in _INVENTED
