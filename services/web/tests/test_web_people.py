"""L7: what is remembered of a person is shown in the page's own origin, and erased."""

from __future__ import annotations

import httpx2
import pytest
from web_fakes import Running, example

pytestmark = pytest.mark.behaviour("L7")


async def test_a_profile_and_what_is_remembered_are_shown_and_erased(web: Running) -> None:
    profile = (await web.page.get("/api/people/mara/profile")).json()
    assert profile == {**example("agent.profile"), "user_id": "mara"}
    assert (await web.page.get("/api/people/mara/memories")).json() == example("agent.memories")
    for what in ("profile", "memories"):
        assert (await web.page.delete(f"/api/people/mara/{what}")).status_code == 204
    assert web.behind.told == [("profile", {"erased": "mara"}), ("memories", {"erased": "mara"})]


async def test_another_page_erases_nothing_and_a_strange_name_is_refused(web: Running) -> None:
    async with httpx2.AsyncClient(base_url=web.url, headers={"origin": "https://elsewhere.example"}) as elsewhere:
        assert (await elsewhere.delete("/api/people/mara/profile")).status_code == 403
    assert web.behind.told == []
    refused = await web.page.get("/api/people/~mara/profile")
    assert refused.status_code == 400
