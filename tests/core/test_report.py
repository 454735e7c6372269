"""What ``make test`` makes of a run: nothing is left out without a word."""

from dev.checks import report
from dev.servers import odoo_log

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.test_turn.TestTurn" name="test_stop" time="0.5"/>
<testcase classname="tests.test_turn.TestTurn" name="test_ask[1]" time="2.5"/>{more}
</testsuite></testsuites>"""


def outcome_of(tmp_path, more="", code=0):
    junit = tmp_path / "junit.xml"
    junit.write_text(JUNIT.format(more=more))
    return report.read("odoo", junit, code)


def test_a_run_in_order(tmp_path, capsys):
    outcome = outcome_of(tmp_path)
    outcome.seconds = 3.0
    assert report.close([outcome]) == 0
    said = capsys.readouterr().out
    assert "odoo: 2 passed, 0 failed in 3 s" in said
    assert said.index("2.5 s  odoo tests.test_turn") < said.index("0.5 s  odoo tests.test_turn")
    assert said.endswith("\n2 passed, 0 failed\n")


def test_a_skipped_test_is_a_failure(tmp_path, capsys):
    skipped = '<testcase classname="a" name="b"><skipped message="no browser"/></testcase>'
    assert report.close([outcome_of(tmp_path, skipped)]) == 1
    assert "1 tests were skipped: a::b (no browser)" in capsys.readouterr().out


def test_tests_that_failed_for_one_reason_are_told_once(tmp_path, capsys):
    failed = (
        '<testcase classname="a" name="b{}"><error message="no port&#10;at line 1"/></testcase>'
    )
    other = '<testcase classname="a" name="c"><failure message="2 != 1"/></testcase>'
    more = "".join(failed.format(number) for number in range(5)) + other
    assert report.close([outcome_of(tmp_path, more)]) == 1
    said = capsys.readouterr().out
    assert "failed: a::b0, a::b1, a::b2 and 2 more: no port\n" in said
    assert "failed: a::c: 2 != 1\n" in said
    assert said.index("the slowest tests") < said.index("failed: a::b0")
    assert "2 passed, 6 failed" in said


def test_what_passes_when_it_runs_again_is_named_and_no_failure(tmp_path, capsys):
    failed = '<testcase classname="a" name="{}"><failure message="2 != {}"/></testcase>'
    first = outcome_of(tmp_path, failed.format("b", 1) + failed.format("c", 3))
    passed = '<testcase classname="a" name="b"/>'
    (tmp_path / "junit.xml").write_text(f"<a>{passed}{failed.format('c', 4)}</a>")
    again = report.read("again", tmp_path / "junit.xml", 1)
    assert report.close([report.settled(first, again)]) == 1
    said = capsys.readouterr().out
    assert "unstable, passed when it ran again: a::b: 2 != 1\n" in said
    assert "failed: a::c: 2 != 3\n" in said
    assert said.endswith("\n3 passed, 1 failed\n")

    (tmp_path / "junit.xml").write_text(f"<a>{passed}{passed.replace('b', 'c')}</a>")
    assert (
        report.close([report.settled(first, report.read("again", tmp_path / "junit.xml", 0))]) == 0
    )
    nothing = report.settled(first, report.Outcome("again"))
    assert nothing.failures.keys() == {"a::b", "a::c"} and not nothing.unstable


def test_a_runner_that_did_nothing_is_a_failure(tmp_path):
    good = outcome_of(tmp_path)
    assert report.close([good, report.Outcome("e2e")]) == 1
    assert report.close([good, report.read("e2e", tmp_path / "nothing.xml", 2)]) == 1
    assert report.close([]) == 1


def test_an_end_with_an_error_is_a_failure_though_no_test_failed(tmp_path):
    assert report.close([outcome_of(tmp_path, code=3)]) == 1


def test_what_no_runner_executed_is_found(tmp_path):
    file = tmp_path / "test_turn.py"
    file.write_text(
        "class TestTurn:\n    def test_stop(self): ...\n    async def test_ask(self): ...\n"
        "class Left:\n    def test_left_out(self): ...\n"
    )
    assert report.never_run(outcome_of(tmp_path), [file]) == ["test_turn.py::test_left_out"]


def test_a_cron_that_odoo_cuts_off_at_its_end_is_no_complaint(tmp_path):
    log, stamp = tmp_path / "odoo.log", "2026-01-02 03:04:05,678 7"
    cut = (
        f"{stamp} ERROR db odoo.addons.base.models.ir_cron: Job 'AI' failed\n"
        '  File "/addons/woow_paas_platform/models/turn/ai_turn.py", line 1\n'
        "psycopg2.InterfaceError: cursor already closed\n"
    )
    end = f"{stamp} INFO db odoo.service.server: Initiating shutdown\n"
    start = f"{stamp} INFO ? odoo: Odoo version 19.0\n"
    for text, count in ((cut, 1), (start + end + cut, 0), (end + cut + start + cut, 1)):
        log.write_text(text)
        assert len(odoo_log.complaints(log)) == count
