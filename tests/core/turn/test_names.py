import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from services.turn.names import (
    OTHERS,
    OWN,
    RECORD_PREFIX,
    SYSTEM,
    make_aliases,
    may_be_of,
    may_collide,
    server_key,
    server_names,
)

names = st.text(max_size=140)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(names, names), max_size=30))
def test_aliases_are_legal_unique_and_repeatable(tools):
    aliases = make_aliases(tools)
    assert len(aliases) == len(tools) == len({alias.lower() for alias in aliases})
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", alias) for alias in aliases)
    assert aliases == make_aliases(tools)


def test_plain_names_stay_readable():
    assert make_aliases([("time", "get_current_time")]) == ["time__get_current_time"]
    assert make_aliases([("My server", "files.read")]) == ["My_server__files_read"]


def test_collision_gives_every_party_a_hash_whatever_the_order():
    pairs = [("s", "a.b"), ("s", "a_b"), ("s", "a-b")]
    aliases = dict(zip(pairs, make_aliases(pairs), strict=True))
    reversed_aliases = dict(zip(pairs[::-1], make_aliases(pairs[::-1]), strict=True))
    assert aliases == reversed_aliases
    assert aliases["s", "a-b"] == "s__a-b"
    assert re.fullmatch(r"s__a_b_[0-9a-f]{8}", aliases["s", "a.b"])


def test_separator_inside_names_cannot_impersonate_another_server():
    first, second = make_aliases([("a__b", "c"), ("a", "b__c")])
    assert first != second


def test_long_name_keeps_its_head():
    (alias,) = make_aliases([("server", "x" * 128)])
    assert len(alias) == 64 and alias.startswith("server__xxxx")


def test_same_pair_twice():
    first, second = make_aliases([("a", "b"), ("a", "b")])
    assert first != second


def test_chinese_names_stay_apart():
    first, second = make_aliases([("天氣", "查詢"), ("天氣", "預報")])
    assert first != second


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["record", "Record_", "rècord__x"]) | names, names)))
def test_no_server_takes_a_name_that_vouches_for_the_record(tools):
    assert not [a for a in make_aliases(tools) if a.lower().startswith(RECORD_PREFIX)]
    assert all(alias.startswith(RECORD_PREFIX) for alias in make_aliases([(None, "x" * 99)] * 2))


SERVERS = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.sampled_from(["crm", "CRM", "crm#3", "crm_3", "crm#3#3", "crm#7"]) | names,
        st.sampled_from([SYSTEM, OWN, OTHERS]),
    ),
    unique_by=lambda server: server[0],
    max_size=12,
)


def test_a_number_is_no_name_of_its_own():
    """What `server_names` puts behind a name without Latin letters leaves a server called “2” its name."""
    assert server_names([(1, "2", OWN), (2, "天氣", SYSTEM), (3, "天氣", OTHERS)])[1] == "2"
    assert server_key("天氣#2") not in ("2", server_key("天氣"))
    assert server_names([(1, "2", OWN), (2, "天氣", OTHERS), (5, "天氣", OTHERS)])[1] == "2"


@settings(max_examples=200, deadline=None)
@given(SERVERS, SERVERS)
@example(servers=[(1, "2", OWN)], more=[(2, "", OTHERS)])
def test_servers_of_others_change_no_name_of_the_system_or_of_a_persons_own(servers, more):
    numbers = {number for number, *_ in servers}
    others = [(number, name, OTHERS) for number, name, _ in more if number not in numbers]
    before, after = server_names(servers), server_names([*servers, *others])
    keys = [server_key(name) for name in after.values()]
    assert len(keys) == len(set(keys)) == len(servers) + len(others)
    for number, name, whose in servers:
        assert whose != SYSTEM or after[number] == before[number]
        is_made = before[number] != name or name.count("#") or "_" in name
        assert whose != OWN or is_made or after[number] == before[number]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(names, names), max_size=8), st.sets(st.text("ab_", max_size=6)))
def test_tools_that_share_an_alias_are_of_servers_that_may(tools, taken):
    for one in tools:
        for other in tools:
            if not may_collide(one[0], other[0]):
                first, second = make_aliases([one])[0], make_aliases([other])[0]
                assert first.lower() != second.lower()
    for (server, tool), alias in zip(tools, make_aliases(tools, taken), strict=True):
        assert alias.lower() not in taken
        assert may_be_of(alias, server) and may_be_of(f"{server}.{tool}", server)
