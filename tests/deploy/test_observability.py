"""The collector, Jaeger and the dashboard, with the product on this machine and no container: each file as it is.

::

    talkdown up ── traces, metrics ──> collector.yaml ──┬─ traces ──> Jaeger: one question, one trace
                                                        └─ metrics ─> what Prometheus fetches: the dashboard's names

Jaeger's program is an OpenTelemetry collector, and reads the configuration that the collector's image is given.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml
from dashboard import FOLDER, families
from docker_engine import Engine
from jaeger import LOOPBACK, Jaeger, free_ports, get, running_jaeger, started
from test_jaeger import AMBER, is_one_question, is_one_save

from embedded.product import Product, copy_of, environment_in, running

DEPLOY = Path(__file__).parents[2] / "deploy"
CURL = """curl() { python3 -c 'import sys, urllib.request
sys.stdout.write(urllib.request.urlopen(sys.argv[2]).read().decode())' "$@"; }
"""
"""Enough of it for ``curl -s URL``, on machines that have none."""
DRIVEN = frozenset(
    {
        "gen_ai_client_operation_duration_seconds",
        "http_server_request_duration_seconds",
        "messaging_process_duration_seconds",
        "talkdown_bus_lag",
        "talkdown_document_time_to_searchable_seconds",
        "talkdown_refresh_duration_seconds",
        "talkdown_turn_duration_seconds",
        "talkdown_turn_running",
        "talkdown_turn_search_duration_seconds",
        "talkdown_turn_time_to_first_delta_seconds",
        "talkdown_turn_wait_duration_seconds",
        "talkdown_web_streams",
        "target_info",
    }
)
"""What a question and a save without a provider, a call, and an accident are measured by."""


@dataclass(frozen=True)
class Watched:
    """The product, Jaeger behind the collector, and where Prometheus would fetch."""

    product: Product
    jaeger: Jaeger
    metrics: str

    def scraped(self) -> str:
        """What Prometheus would read now, exemplars included."""
        return get(self.metrics, {"accept": "application/openmetrics-text; version=1.0.0"})[1].decode()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory, handbook: Path) -> Iterator[Watched]:
    place = tmp_path_factory.mktemp("watched")
    listen, metrics = free_ports(2)
    url = f"http://{LOOPBACK}:{listen}"
    with running_jaeger(place) as (jaeger, otlp):
        where = {
            "COLLECTOR_LISTEN": f"{LOOPBACK}:{listen}",
            "COLLECTOR_METRICS": f"{LOOPBACK}:{metrics}",
            "COLLECTOR_JAEGER": otlp,
        }
        ready = f"http://{LOOPBACK}:{metrics}/metrics"
        with started(FOLDER / "collector.yaml", where, place / "collector.log", lambda: get(ready)[0] == 200):
            told = {
                "TALKDOWN_OTLP_ENDPOINT": url,
                "TALKDOWN_OTLP_METRICS_ENDPOINT": url,
                "TALKDOWN_OTLP_METRICS_INTERVAL_S": "0.5",
                "TALKDOWN_JAEGER_URL": jaeger.url,
            }
            folder = copy_of(handbook, place / "notes")
            with running(folder, place / "run", environment_in(place, **told)) as product:
                product.until(lambda: product.manifest().state == "current")
                yield Watched(product, jaeger, ready)


@pytest.mark.behaviour("E2")
def test_a_question_goes_through_the_collector_to_jaeger_as_one_trace(watched: Watched) -> None:
    is_one_question(watched.product, watched.jaeger, watched.product.ask(AMBER).trace_id)


@pytest.mark.behaviour("E2")
def test_a_save_goes_through_the_collector_to_jaeger_as_one_trace(watched: Watched) -> None:
    is_one_save(watched.product, watched.jaeger)


@pytest.mark.behaviour("E2")
def test_the_commands_of_the_page_on_tracing_find_a_question_and_its_steps(watched: Watched) -> None:
    """The commands as they are written, in a shell; a question need not be slow to be found here."""
    answer = watched.product.ask(AMBER)
    is_one_question(watched.product, watched.jaeger, answer.trace_id)
    (written,) = re.findall(r"```sh\nJ=\S+\n(.*?)```", (DEPLOY.parent / "docs/tracing.md").read_text(), re.DOTALL)
    script = (
        f"{CURL}J={watched.jaeger.url} ID={answer.trace_id}\n{written.replace('minDuration=2s', 'minDuration=1ms')}"
    )
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=60, check=True)
    lines = done.stdout.splitlines()
    assert answer.trace_id in {line.split()[0] for line in lines}
    longest = next(line for line in lines if "\t" in line)
    assert longest.split("\t")[2:] in (["web", "POST /api/turns"], ["agent", "invoke_agent talkdown"])
    assert any(line.endswith("retriever\tretrieval") for line in lines)


def test_the_dashboard_asks_for_what_the_collector_offers_prometheus(watched: Watched) -> None:
    product = watched.product
    product.ask(AMBER)
    file = product.save(f"{uuid4().hex}.md", "# Birds\n\nA bittern booms in the reeds.\n")
    product.until(lambda: product.finds("bittern"))
    file.unlink()

    def offered() -> set[str]:
        return set(re.findall(r"^# TYPE (\S+) ", watched.scraped(), re.MULTILINE))

    product.until(lambda: offered() >= DRIVEN)
    assert families() >= DRIVEN, "each of them is on the dashboard"
    assert offered() <= families() | {"target", "target_info"}, "nothing is measured that nobody looks at"


def test_a_slow_answer_on_the_dashboard_leads_to_its_trace(watched: Watched) -> None:
    product = watched.product
    answer = product.ask(AMBER)
    product.until(lambda: f'trace_id="{answer.trace_id}"' in watched.scraped())
    sources = yaml.safe_load((FOLDER / "grafana/datasources.yaml").read_text())["datasources"]
    prometheus, jaeger = sorted(sources, key=lambda source: source["type"] != "prometheus")
    (leads,) = prometheus["jsonData"]["exemplarTraceIdDestinations"]
    assert leads == {"name": "trace_id", "datasourceUid": jaeger["uid"]}


def test_replicas_are_told_apart_in_both_signals(watched: Watched) -> None:
    product = watched.product
    trace_id = product.ask(AMBER).trace_id
    trace = product.until(lambda: watched.jaeger.trace(trace_id))
    of_traces = {(span.service, span.instance) for span in trace.spans}
    pattern = re.compile(r'^target_info\{.*instance="([^"]+)",job="talkdown/([^"]+)"', re.MULTILINE)
    of_metrics = {(service, instance) for instance, service in pattern.findall(watched.scraped())}
    assert of_traces <= of_metrics


def test_the_files_are_laid_over_the_compose_file_and_nothing_else_changes(engine: Engine) -> None:
    base, overlay = str(DEPLOY / "compose.yaml"), str(DEPLOY / "compose.observability.yaml")
    before = json.loads(engine.run("compose", "--file", base, "config", "--format", "json").stdout)["services"]
    merged = json.loads(engine.run("compose", "--file", base, "--file", overlay, "config", "--format", "json").stdout)[
        "services"
    ]
    assert set(merged) - set(before) == {"collector", "prometheus", "grafana"}
    for name, service in before.items():
        told, was = environment(merged[name]), environment(service)
        changed = {key for key in told if told[key] != was.get(key)}
        expected = {"TALKDOWN_OTLP_ENDPOINT", "TALKDOWN_OTLP_METRICS_ENDPOINT"} if "build" in service else set[str]()
        assert changed == expected
        assert {**merged[name], "environment": None} == {**service, "environment": None}
    for name in ("collector", "prometheus", "grafana"):
        for volume in merged[name]["volumes"]:
            assert volume["type"] == "volume" or Path(volume["source"]).is_file()
        assert merged[name]["read_only"]
        assert all(port["host_ip"] == LOOPBACK for port in merged[name].get("ports", ()))


def environment(service: dict[str, Any]) -> dict[str, str]:
    """The environment of a service of a compose file."""
    return service.get("environment") or {}
