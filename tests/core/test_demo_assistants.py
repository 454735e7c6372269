"""Whom the demo's people meet first: `dev/demo/records.py` makes the assistants for Sales."""

import ast
from pathlib import Path

from lxml import etree

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = 10  # ai.assistant's sequence where nothing else is said


def _assistants():
    for node in ast.parse((ROOT / "dev/demo/records.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "ASSISTANTS":
            return ast.literal_eval(node.value)
    raise AssertionError("The demo has no assistants for Sales.")


def test_salespeople_and_customers_meet_their_own_assistant_first():
    demo = etree.parse(ROOT / "demo/demo.xml").xpath("//record[@model='ai.assistant']")
    assert demo and not any(record.xpath("field[@name='sequence']") for record in demo)
    made = {about["group_ids"]: about["sequence"] for about in _assistants().values()}
    assert made.keys() == {"sales_team.group_sale_salesman", "base.group_portal"}
    assert max(made.values()) < DEFAULT
