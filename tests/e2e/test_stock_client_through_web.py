"""The stock openai package, pointed at web's one port with the command line's token, asks a typed question."""

from __future__ import annotations

import pytest
from openai import AsyncOpenAI

from embedded.product import Product


@pytest.mark.behaviour("V2", "V9")
async def test_the_stock_client_gets_a_credential_and_an_answer_through_web(product: Product) -> None:
    async with AsyncOpenAI(api_key=product.token, base_url=f"{product.url}/v1", max_retries=0) as shell:
        secret = await shell.realtime.client_secrets.create()
    assert secret.value.startswith("ek_")
    text = ""
    async with (
        AsyncOpenAI(api_key=secret.value, base_url=f"{product.url}/v1", max_retries=0) as client,
        client.realtime.connect(model="gpt-realtime-2.1", max_retries=0) as session,
    ):
        await session.conversation.item.create(
            item={
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "What is the amber valve recovery code?"}],
            }
        )
        await session.response.create()
        async for event in session:
            assert event.type != "error", event
            if event.type == "response.output_text.delta":
                text += event.delta
            if event.type == "response.done":
                assert event.response.status == "completed"
                break
    assert "ORCHID-47" in text
