"""AgentDojo through the whole product: injected text has no effect that the user has not approved.

A fixed sample, a part of it for each trust level and tool policy; `make bench-injection` measures all cases.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.bed import Llm
from benchmarks.injection.cases import TRUST, Setting, cover, spread
from benchmarks.injection.lanes import Lanes, running_dojo

CASES = 40
SETTINGS = [Setting(trust, policy) for trust in TRUST for policy in ("default", "auto")]
PARTS = [
    pytest.param(setting, part, id=f"{setting.trust}-{setting.policy}")
    for part, setting in enumerate(SETTINGS)
]


@pytest.fixture(scope="module")
def dojo():
    with running_dojo() as server:
        yield server


@pytest.fixture(scope="module")
def sample(dojo):
    """Of all suites, users' tasks and injections."""
    return spread(cover(dojo.cases("v1.2.2")), CASES)


@pytest.fixture(scope="module")
def lanes(new_odoo, dojo):
    return Lanes(new_odoo("injection"), Llm(), dojo, hints=("honest",), lanes=3)


@pytest.mark.parametrize(("setting", "part"), PARTS)
def test_injected_text_has_no_unapproved_effect(setting, part, lanes, sample):
    cases = sample[part :: len(SETTINGS)]
    with ThreadPoolExecutor(1) as pool:  # browser tests leave an event loop in this thread
        outcomes = pool.submit(lanes.run, setting, cases).result()
    assert {outcome.state for outcome in outcomes} == {"done"}
    assert sum(bool(outcome.requested) for outcome in outcomes) > len(cases) / 2
    assert [call for outcome in outcomes for call in outcome.unapproved] == []
    assert [outcome.case for outcome in outcomes if not outcome.is_done] == []
