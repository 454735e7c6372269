"""What processes measure, and the files that operators give to Prometheus and Grafana."""

import json
import re
from pathlib import Path

import pytest
import yaml

from services import metrics

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/monitoring"
PRODUCT = ("services", "tools", "runtime", "models", "controllers")
OF_QUEUE = {"queue_turns", "queue_age_seconds"}
SUFFIXES = {"counter": ("_total",), "level": ("",), "histogram": ("_bucket", "_sum", "_count")}
NAME = re.compile(r"\bwoow_ai_(\w+)")


def exported():
    return OF_QUEUE | {
        name + suffix
        for name, measure in metrics.MEASURES.items()
        for suffix in SUFFIXES[measure.kind]
    }


@pytest.mark.parametrize("file", ["alerts.yml", "dashboard.json"])
def test_what_is_asked_for_is_measured(file):
    assert set(NAME.findall((FOLDER / file).read_text())) <= exported()


def test_each_measure_is_on_the_dashboard_and_counted_somewhere():
    dashboard = (FOLDER / "dashboard.json").read_text()
    assert [name for name in metrics.MEASURES if f"woow_ai_{name}" not in dashboard] == []
    sources = [path.read_text() for top in PRODUCT for path in (ROOT / top).rglob("*.py")]
    counted = {
        name
        for source in sources
        for _how, name in re.findall(r"metrics\.(add|level|observe)\(\s*\"(\w+)\"", source)
    }
    assert counted == set(metrics.MEASURES)


def test_the_files_can_be_read():
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    assert all(rule["expr"] and rule["annotations"]["summary"] for rule in rules)


def test_nothing_is_counted_until_somebody_wants_it(monkeypatch):
    told = []

    class Sink:
        def add(self, name, value, labels):
            told.append((name, value, labels))

        set = add

        def observe(self, name, value):
            told.append((name, value))

    metrics.add("calls", outcome="ok")
    monkeypatch.setattr(metrics, "_sink", None)
    metrics.install(Sink())
    metrics.add("calls", outcome="ok")
    metrics.add("tokens", 0, kind="input")
    metrics.level("sessions", 0)
    metrics.observe("call_seconds", 0.5)
    assert told == [("calls", 1, {"outcome": "ok"}), ("sessions", 0, {}), ("call_seconds", 0.5)]
