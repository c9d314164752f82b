from contracts.events import EVENTS, DocumentDeleted, type_of


def test_every_event_names_a_type_of_its_own() -> None:
    assert len({type_of(kind) for kind in EVENTS}) == len(EVENTS)
    assert type_of(DocumentDeleted) == "document.deleted.v1"
