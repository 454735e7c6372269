"""A log that was tampered with: each finding is named, and an honest one has none."""

import copy

import pytest

from services.audit import chain
from services.audit.check import Check

DAYS = ("2026-11-01", "2026-11-02")
SHARDS = ("6a.1f", "6a.20")


def signed(digest):
    return f"signed {digest}"


def checkpoint(number, previous, heads, cut="", first=1):
    content = {
        "number": number,
        "at": "2026-11-02 00:00:00",
        "previous": previous,
        "heads": heads,
        "cut": cut,
        "first": first,
    }
    digest = chain.digest(content)
    return {**content, "fingerprint": digest, "signature": signed(digest)}


def entries(day, shard, count, origin=""):
    made = [
        {
            "day": day,
            "shard": shard,
            "at": f"{day} 10:00:0{number}",
            "act": "changed",
            "model": "ai.assistant",
            "res_id": number,
            "person": "p1",
            "codes": chain.canonical({"active": [True, False]}),
        }
        for number in range(count)
    ]
    return list(chain.extend((0, ""), origin, made))


@pytest.fixture
def log():
    """Two days of two shards; the second day has one entry more than its checkpoint knows of."""
    first = [row for shard in SHARDS for row in entries(DAYS[0], shard, 4)]
    one = checkpoint(1, "", {DAYS[0]: heads(first)})
    second = [row for shard in SHARDS for row in entries(DAYS[1], shard, 4, one["fingerprint"])]
    known = [row for row in second if row["seq"] < 4 or row["shard"] != SHARDS[1]]
    return [one, checkpoint(2, one["fingerprint"], {DAYS[1]: heads(known)})], first + second


def heads(rows):
    return {row["shard"]: [row["seq"], row["fingerprint"]] for row in rows}


def found(log, known=None):
    checkpoints, rows = log
    check = Check(lambda digest, signature: signature == signed(digest), known)
    rows = sorted(rows, key=lambda row: (row["day"], row["shard"], row["seq"]))
    return [(one.code, one.sentence) for one in check.problems(checkpoints, rows)], check


def relinked(rows):
    """Their digests and links as somebody without the key makes them."""
    return list(chain.extend((0, ""), rows[0]["previous"], [bare(row) for row in rows]))


def bare(row):
    return {field: row[field] for field in chain.ENTRY if field not in ("seq", "previous")}


def test_an_honest_log_has_no_problem(log):
    problems, check = found(log)
    assert not problems
    assert (check.entries, check.unsealed, check.checkpoints) == (16, 1, 2)
    assert check.head == (2, log[0][1]["fingerprint"])
    assert not found(log, check.head)[0]
    assert not found(([], []))[0]


@pytest.mark.parametrize("field", chain.ENTRY)
def test_an_edited_entry_is_named(log, field):
    row = log[1][5]
    row[field] = {int: 99, str: "x"}[type(row[field])]
    assert any(code == "changed" for code, _sentence in found(log)[0])


def test_an_edited_entry_whose_shard_is_linked_again(log):
    rows = log[1]
    rows[1]["res_id"] = 77
    rows[:4] = relinked(rows[:4])
    assert found(log)[0] == [("changed", f"{DAYS[0]} {SHARDS[0]}: entry 4 was changed.")]


def test_codes_in_another_spelling_were_changed(log):
    log[1][0]["codes"] = '{"active": [true, false]}'
    assert [code for code, _sentence in found(log)[0]] == ["changed"]


def test_deleted_entries_are_named(log):
    del log[1][1:3]
    assert found(log)[0] == [("missing", f"{DAYS[0]} {SHARDS[0]}: entries 2 to 3 are missing.")]


def test_a_cut_tail_is_named(log):
    del log[1][3]
    assert found(log)[0] == [("cut", f"{DAYS[0]} {SHARDS[0]}: the end is missing, entries 4 to 4.")]


def test_a_shard_that_is_gone_is_named(log):
    del log[1][4:8]
    assert [code for code, _sentence in found(log)[0]] == ["cut"]


def test_reordered_entries_are_named(log):
    rows = log[1]
    one, two = (copy.copy(row) for row in rows[1:3])
    one["seq"], two["seq"] = two["seq"], one["seq"]
    for row in (one, two):
        row["fingerprint"] = chain.digest({field: row[field] for field in chain.ENTRY})
    rows[1:3] = [one, two]
    codes = {code for code, _sentence in found(log)[0]}
    assert codes == {"reordered"}


def test_what_no_checkpoint_knows_can_go_unnoticed(log):
    log[1].pop()
    assert not found(log)[0]


def test_checkpoints_are_checked(log):
    checkpoints, _rows = log
    unsigned = copy.deepcopy(log)
    unsigned[0][1]["signature"] = ""
    assert [code for code, _sentence in found(unsigned)[0]] == ["checkpoint_unsigned"]
    edited = copy.deepcopy(log)
    del edited[0][0]["heads"][DAYS[0]][SHARDS[0]]
    assert [code for code, _sentence in found(edited)[0]] == ["checkpoint_changed"]
    gone = ([checkpoints[1]], log[1])
    assert "checkpoint_missing" in {code for code, _sentence in found(gone)[0]}
    tail = ([checkpoints[0]], log[1][:8])
    assert not found(tail)[0]
    written_down = (2, checkpoints[1]["fingerprint"])
    assert [code for code, _sentence in found(tail, written_down)[0]] == ["unknown_checkpoint"]


def test_days_behind_a_cut_may_be_gone_and_may_not_come_back(log):
    checkpoints, rows = log
    checkpoints.append(checkpoint(3, checkpoints[1]["fingerprint"], {}, cut=DAYS[0]))
    assert not found((checkpoints, rows[8:]))[0]
    assert {code for code, _sentence in found((checkpoints, rows))[0]} == {"back"}


def test_the_checkpoints_of_such_days_go_with_them(log):
    checkpoints, _rows = log
    third = checkpoint(3, checkpoints[1]["fingerprint"], {}, cut=DAYS[1], first=3)
    assert not found(([third], []))[0]
    later = entries("2026-11-03", SHARDS[0], 2, third["fingerprint"])
    assert not found(([third], later))[0]
