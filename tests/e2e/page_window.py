"""A page of the running product, and what a person does with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import BrowserContext, Locator, Page, expect

from embedded.product import Product

ARTIFACTS = Path(__file__).parents[1] / "artifacts"


@dataclass
class Window:
    """A page of the product, in a context of its own."""

    page: Page
    product: Product
    context: BrowserContext
    faults: list[str] = field(default_factory=list[str])
    tolerated: tuple[str, ...] = ()

    def open(self) -> Window:
        """Open the page and wait until it has seen the folder."""
        self.page.goto(self.product.url)
        expect(self.page.locator("#state-words")).to_contain_text("note")
        return self

    def ask(self, question: str) -> None:
        """Type a question and press Enter."""
        self.page.get_by_label("Your question").fill(question)
        self.page.keyboard.press("Enter")

    def answered(self, question: str) -> Locator:
        """Ask, and wait for the end of its answer; the turn."""
        count = self.page.locator(".turn").count()
        self.ask(question)
        turn = self.page.locator(".turn").nth(count)
        expect(turn).to_have_attribute("data-stage", "done")
        return turn

    def picture(self, name: str) -> None:
        """Keep a picture of what is seen."""
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"{name}.png")


Opens = Callable[..., Window]
