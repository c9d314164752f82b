"""The sentences that the extractive answer says itself, in the language of the question."""

from __future__ import annotations

from typing import Final

from contracts.search import Passage

# {place} names the nearest passage, {n} is its citation.
_NEAREST: Final = {
    "en": "The notes do not answer that. The nearest passage is in {place} [{n}].",
    "de": "Die Notizen beantworten das nicht. Am nächsten kommt eine Stelle in {place} [{n}].",
    "fr": "Les notes n'y répondent pas. Le passage le plus proche se trouve dans {place} [{n}].",
    "es": "Las notas no responden a eso. El pasaje más cercano está en {place} [{n}].",
    "it": "Gli appunti non rispondono a questa domanda. Il passaggio più vicino è in {place} [{n}].",
    "pt": "As notas não respondem a isso. A passagem mais próxima está em {place} [{n}].",
    "nl": "De notities geven daar geen antwoord op. De dichtstbijzijnde passage staat in {place} [{n}].",
    "zh": "笔记里没有这个问题的答案。最接近的一段在 {place} [{n}]。",
    "ja": "ノートにはその答えがありません。最も近い箇所は {place} にあります [{n}]。",
    "ko": "노트에는 그 답이 없습니다. 가장 가까운 부분은 {place}에 있습니다 [{n}].",
}
_NOTHING: Final = {
    "en": "Nothing in the notes speaks of that.",
    "de": "In den Notizen steht nichts dazu.",
    "fr": "Rien dans les notes n'en parle.",
    "es": "Nada en las notas habla de eso.",
    "it": "Niente negli appunti ne parla.",
    "pt": "Nada nas notas fala disso.",
    "nl": "In de notities staat daar niets over.",
    "zh": "笔记里没有提到这个。",
    "ja": "ノートにはそれについての記述がありません。",
    "ko": "노트에는 그에 대한 내용이 없습니다.",
}
_NO_NOTES: Final = {
    "en": "There is no note to search yet. If the folder holds some, they are being read: ask again in a moment.",
    "de": "Es gibt noch keine Notiz zu durchsuchen. Liegen welche im Ordner, werden sie gerade gelesen.",
    "fr": "Il n'y a pas encore de note à consulter. S'il y en a dans le dossier, elles sont en cours de lecture.",
    "es": "Aún no hay notas que consultar. Si hay alguna en la carpeta, se está leyendo ahora.",
    "it": "Non ci sono ancora appunti da consultare. Se la cartella ne contiene, li sto leggendo ora.",
    "pt": "Ainda não há notas para consultar. Se houver alguma na pasta, está sendo lida agora.",
    "nl": "Er zijn nog geen notities om in te zoeken. Staan er in de map, dan worden ze nu gelezen.",
    "zh": "还没有可以搜索的笔记。如果文件夹里有笔记，正在读取，请稍后再问。",
    "ja": "まだ検索できるノートがありません。フォルダーにあれば、いま読み込んでいます。",
    "ko": "아직 검색할 노트가 없습니다. 폴더에 노트가 있다면 지금 읽는 중입니다.",
}
_SEVERAL: Final = {
    "en": "The notes speak of more than one:",
    "de": "Die Notizen nennen mehr als eine Möglichkeit:",
    "fr": "Les notes en mentionnent plusieurs :",
    "es": "Las notas mencionan más de uno:",
    "it": "Gli appunti ne citano più di uno:",
    "pt": "As notas mencionam mais de um:",
    "nl": "De notities noemen er meer dan een:",
    "zh": "笔记里提到了不止一个：",
    "ja": "ノートには複数の記述があります：",
    "ko": "노트에는 둘 이상이 나옵니다:",
}
_LEFT: Final = {
    "en": "That was all of it.",
    "de": "Das war alles.",
    "fr": "C'était tout.",
    "es": "Eso era todo.",
    "it": "Era tutto.",
    "pt": "Era tudo.",
    "nl": "Dat was alles.",
    "zh": "就这些了。",
    "ja": "以上です。",
    "ko": "그게 전부입니다.",
}


def nothing_left(language: str) -> str:
    """Say that an answer was heard to its end."""
    return _LEFT.get(language, _LEFT["en"])


def no_notes(language: str) -> str:
    """Say that there is nothing to search, which is so while a folder is read for the first time."""
    return _NO_NOTES.get(language, _NO_NOTES["en"])


def nothing_found(language: str, nearest: Passage | None, place: int) -> str:
    """Say that the notes do not hold the answer, naming the nearest passage by its path, heading and citation (T12)."""
    if nearest is None:
        return _NOTHING.get(language, _NOTHING["en"])
    named = " › ".join((nearest.path, *nearest.heading[-1:]))
    return _NEAREST.get(language, _NEAREST["en"]).format(place=named, n=place)


def several(language: str) -> str:
    """Open an answer that gives several things of one name, each with its source (T14)."""
    return _SEVERAL.get(language, _SEVERAL["en"])
