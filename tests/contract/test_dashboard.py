"""The dashboard asks for what the product measures, and its files name each other rightly; no server is needed."""

from __future__ import annotations

import importlib
import json
import re
from typing import Any

import pytest
import yaml
from dashboard import FOLDER, expressions, grouped_by, selected

from chassis import conventions, metrics
from chassis.metrics import Counter, Histogram, Instrument

APPS = ("agent.app", "ingestor.app", "retriever.app", "voice_gateway.app", "web.app")
BY_PROMETHEUS = {"target_info"}
LABELS = {"le", "job", "instance"}


@pytest.fixture(scope="module")
def measured() -> list[Instrument]:
    """Everything that the services measure."""
    for name in APPS:
        importlib.import_module(name)
    return [one for name, one in metrics.instruments().items() if not name.startswith("talkdown.test.")]


def stored(instrument: Instrument) -> set[str]:
    """The names under which Prometheus stores an instrument.

    https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/ says how they are made.
    """
    name = re.sub(r"[^a-zA-Z0-9:]", "_", instrument.name)
    name += "_seconds" if instrument.unit == "s" else ""
    match instrument:
        case Histogram():
            return {f"{name}_{part}" for part in ("bucket", "count", "sum")}
        case Counter():
            return {f"{name}_total"}
        case _:
            return {name}


def test_every_query_is_one_and_asks_for_what_is_measured(measured: list[Instrument]) -> None:
    assert len(expressions()) > 20
    assert selected() - BY_PROMETHEUS <= {name for one in measured for name in stored(one)}


def test_everything_that_is_measured_is_on_the_dashboard(measured: list[Instrument]) -> None:
    assert [one.name for one in measured if not stored(one) & selected()] == []


def test_what_is_grouped_by_is_an_attribute_of_ours() -> None:
    attributes = {str(value).replace(".", "_") for name, value in vars(conventions).items() if name.isupper()}
    assert grouped_by() <= attributes | LABELS
    legends = re.findall(r"\{\{(\w+)\}\}", (FOLDER / "grafana/talkdown.json").read_text(encoding="utf-8"))
    assert set(legends) <= grouped_by()


def test_units_and_names_are_as_the_conventions_have_them(measured: list[Instrument]) -> None:
    ours = {"talkdown", "http", "messaging", "gen_ai"}
    assert {one.name.partition(".")[0] for one in measured} == ours
    for one in measured:
        assert re.fullmatch(r"s|\{[a-z]+\}", one.unit)
        assert one.description.endswith(".")


def test_the_files_name_each_other() -> None:
    compose, collector, prometheus, sources, boards = (
        yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
        for name in (
            "../compose.observability.yaml",
            "collector.yaml",
            "prometheus.yaml",
            "grafana/datasources.yaml",
            "grafana/dashboards.yaml",
        )
    )
    services: dict[str, Any] = compose["services"]
    (job,) = prometheus["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    host, port = target.split(":")
    assert host in services
    assert collector["exporters"]["prometheus"]["endpoint"].endswith(f":{port}}}")
    told = {service["environment"]["TALKDOWN_OTLP_METRICS_ENDPOINT"] for name, service in services.items() if name in
            ("agent", "ingestor", "retriever", "voice-gateway", "web")}  # fmt: skip
    assert told == {"http://collector:4318"}
    assert collector["receivers"]["otlp"]["protocols"]["http"]["endpoint"].endswith(":4318}")
    board = json.loads((FOLDER / "grafana/talkdown.json").read_text(encoding="utf-8"))
    used = {target["datasource"]["uid"] for panel in board["panels"] for target in panel.get("targets", ())}
    assert used == {"prometheus"} <= {source["uid"] for source in sources["datasources"]}
    mounted = {volume.split(":")[1] for volume in services["grafana"]["volumes"]}
    assert f"{boards['providers'][0]['options']['path']}/talkdown.json" in mounted
    assert services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] in mounted
    pipelines = collector["service"]["pipelines"]
    for pipeline in pipelines.values():
        for kind, names in pipeline.items():
            assert set(names) <= set(collector[kind])


def test_no_panel_covers_another() -> None:
    board = json.loads((FOLDER / "grafana/talkdown.json").read_text(encoding="utf-8"))
    covered: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & covered
        assert max(x for x, _ in cells) < 24
        covered |= cells
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
