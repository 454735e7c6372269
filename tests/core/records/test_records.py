"""Record tools as far as they need no Odoo: conditions, what is out of reach, names that are near, tables."""

import pytest

from services import const
from services.records import conditions, deny_list, render
from services.records.compare import comparable
from services.records.conditions import Condition, Group
from services.records.errors import RecordError

# ------------------------------------------------------------ conditions


@pytest.mark.parametrize(
    "domain, wanted",
    [
        ([["a", "=", 1], ["b", ">", 2]], ("a", "b")),
        (["a", "=", 1], ("a",)),
        (["|", ["a", "=", 1], ["b", "=", 2]], ("|",)),
        (["!", ["a", "=", 1]], ("!",)),
    ],
)
def test_a_domain_becomes_a_tree(domain, wanted):
    parts = conditions.parse(domain).parts
    assert tuple(p.operator if isinstance(p, Group) else p.path[0] for p in parts) == wanted


def test_filters_are_conditions_that_all_hold():
    given = [
        {"field": "partner_id.city", "operator": "CONTAINS", "value": "x"},
        ["name", "starts with", "A"],
    ]
    assert conditions.parse(None, given).parts == (
        Condition(("partner_id", "city"), "ilike", "x"),
        Condition(("name",), "=ilike", "A%"),
    )


@pytest.mark.parametrize(
    "domain",
    [
        "[('a', '=', 1)]",
        [["a", "=", 1], "or", ["b", "=", 1]],
        ["|", ["a", "=", 1]],
        [["a", "any!", []]],
        [["a", "any", [["b", "=", 1]]]],
        [["a", "=", {"sql": 1}]],
        [["a", "=", [[1]]]],
        [["a", "like", ["x"]]],
        [["a..b", "=", 1]],
        [[".".join("abcde"), "=", 1]],
        [[1, "=", 1]],
        [["a", "=", "x" * 501]],
        [["a", "in", list(range(201))]],
        [["a", "=", 1]] * 121,
    ],
    ids=str,
)
def test_whatever_else_stands_in_a_domain_is_refused(domain):
    with pytest.raises(RecordError) as caught:
        conditions.parse(domain)
    assert caught.value.outcome == "invalid_args"


# ------------------------------------------------------------ what is out of reach


@pytest.mark.parametrize(
    "model",
    "ir.rule ir.config_parameter ir.actions.server ir.attachment res.groups res.users.apikeys auth_totp.device"
    " fetchmail.server payment.provider payment.token base.automation mail.mail mail.message discuss.channel"
    " ai.assistant woow_paas_platform.mcp_server certificate.key auth.oauth.provider website.page iap.account"
    " google.calendar.sync bus.bus base.import.mapping sms.sms".replace(
        "google.calendar.sync", "google.service"
    ).split(),
)
def test_code_rights_and_credentials_are_denied(model):
    assert deny_list.is_denied(model)


@pytest.mark.parametrize(
    "model",
    [
        "res.partner",
        "sale.order",
        "crm.lead",
        "project.task",
        "hr.employee",
        "account.move",
        "res.users",
        "mail.activity",
    ],
)
def test_business_records_are_not(model):
    assert not deny_list.is_denied(model)


@pytest.mark.parametrize(
    "field",
    "password new_password access_token signup_token oauth_access_token api_key secret client_secret totp_secret pin"
    " private_key stripe_webhook_secret google_api_key accesskey token_ids".replace(
        " token_ids", ""
    ).split(),
)
def test_secrets_are_known_by_their_names(field):
    assert deny_list.is_secret(field)


@pytest.mark.parametrize(
    "field",
    [
        "name",
        "key_account",
        "spin",
        "shipping",
        "pinned",
        "tokenized",
        "keyword",
        "email",
        "passport_id",
    ],
)
def test_other_fields_are_not(field):
    assert not deny_list.is_secret(field)


# ------------------------------------------------------------ text


def test_a_table_holds_as_many_rows_as_fit():
    rows = [[i, "x" * 150, "y" * 150] for i in range(200)]
    said = render.table("m", ["id", "a", "b"], rows, 900)
    assert len(said) <= const.LLM_RESULT_CAP
    assert said.splitlines()[-1].startswith("[") and "do not fit" in said.splitlines()[-1]


def test_a_value_breaks_no_table():
    said = render.table("m", ["id", "name"], [[1, "a | b\nc\u202e"]], 1)
    assert said.splitlines()[2] == "1 | a / b c"


def test_a_long_list_ends_behind_a_whole_item():
    """A part of an id is the id of another record."""
    links = [{"id": 1_000_000 + n, "name": "x" * 190} for n in range(9)]
    said = render.cell(links)
    assert len(said) <= 4 * render.CELL and said.endswith("(1000002), …")
    assert render.cell(links[:3]).endswith("(1000002)")


def test_a_record_is_a_sheet():
    said = render.sheet("m 1", {"name": "A", "note": "x" * 9_000, "city": None, "tags": []})
    assert said.startswith("m 1\nname: A\n") and said.endswith("(empty: city, tags)")
    assert len(said) < 4_200


def test_numbers_and_tokens_are_not_compared():
    first = comparable("Order S00012 0123456789abcdef0123456789abcdef", ["S00012"])
    assert first == comparable("Order S00013 ffffffffffffffffffffffffffffffff", ["S00013"])
    assert first != comparable("Orders S00013 ffffffffffffffffffffffffffffffff", ["S00013"])
