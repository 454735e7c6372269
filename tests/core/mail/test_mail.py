"""Incoming mails: whose word on their senders counts, and which of their words are the sender's own."""

import email
from email import policy

import pytest

from services.mail import headers, letter

OURS = "mx.example.com"


def verified(*results, domain="a.example", server=OURS):
    return headers.is_verified([("authentication-results", one) for one in results], server, domain)


@pytest.mark.parametrize(
    "result",
    [
        f"{OURS}; dmarc=pass header.from=a.example",
        f"{OURS} 1;\r\n\tspf=pass smtp.mailfrom=x@b.example;\r\n dmarc=pass (p; dmarc=fail) header.from=A.example.",
        '(by (us)) MX.example.com; dmarc = pass reason="a;b\\"c" header.from="a.example"',
        f"{OURS}; dkim=pass header.i=@b.example header.d=b.example; dkim/1=pass header.d=a.example",
        f"{OURS}; spf=pass smtp.mailfrom=bounce+b=c.example@a.example; dmarc=none",
    ],
)
def test_a_sender_is_believed(result):
    assert verified(result)


@pytest.mark.parametrize(
    "results",
    [
        (),
        ("",),
        (f"{OURS}; none",),
        (f"{OURS}.evil.example; dmarc=pass header.from=a.example",),
        (f"x{OURS}; dmarc=pass header.from=a.example",),
        (f"{OURS} 2; dmarc=pass header.from=a.example",),
        (f"({OURS}; dmarc=pass header.from=a.example",),
        (f"{OURS}; dmarc=pass",),
        (f"{OURS}; dmarc=pass header.from=sub.a.example",),
        (f"{OURS}; dmarc=fail header.from=a.example; dkim=pass header.d=a.example",),
        (f"{OURS}; dmarc=pass header.from=a.example; dmarc=fail header.from=a.example",),
        (f"{OURS}; dmarc=pass header.from=b.example header.from=a.example",),
        (f"{OURS}; spf=fail (x; dmarc=pass header.from=a.example) smtp.mailfrom=x@a.example",),
        (f'{OURS}; spf=fail smtp.mailfrom="x; dmarc=pass header.from=a.example "@b.example',),
        (f'{OURS}; spf=fail smtp.mailfrom="x; dmarc=pass header.from=a.example',),
        (f"{OURS}; spf=pass smtp.mailfrom=a.example@b.example",),
        (
            "mx.other.example; dmarc=pass header.from=a.example",
            f"{OURS}; dmarc=pass header.from=a.example",
        ),
        (f"{OURS}; dmarc=fail header.from=a.example", f"{OURS}; dmarc=pass header.from=a.example"),
    ],
)
def test_a_sender_is_not_believed(results):
    assert not verified(*results)


def test_nothing_is_believed_without_the_operators_word():
    assert not verified("; dmarc=pass header.from=a.example", server="")
    assert not verified(f"{OURS}; dmarc=pass header.from=", domain="")


@pytest.mark.parametrize(
    ("said", "own", "foreign"),
    [
        ("Pay it.", "Pay it.", ""),
        ("Yes\n> pay\n>> now\nNo", "Yes\nNo", "pay\nnow"),
        (
            "好。\n\n小明 <a@b.example> 於 週一 寫道：\n\n付款",
            "好。",
            "小明 <a@b.example> 於 週一 寫道：\n\n付款",
        ),
        ("See\n-----原始郵件-----\nPay", "See", "-----原始郵件-----\nPay"),
        ("See\n________________________________\nFrom: a\nPay", "See", None),
        ("See\n寄件者: a@b.example\n寄件日期: 週一\n主旨: x\n\nPay", "See", None),
        ("Begin forwarded message:\n\nPay", "", None),
        ("See\u2028> Pay\r> Now", "See", "Pay\nNow"),
    ],
)
def test_quotes_and_forwarded_mails_are_foreign(said, own, foreign):
    found = letter.divided(said)
    assert found.own == own
    assert (
        found.foreign == foreign
        if foreign is not None
        else "Pay" in found.foreign or "付款" in found.foreign
    )


@pytest.mark.parametrize(
    ("source", "own", "foreign"),
    [
        ('<div dir="ltr">Hi<br>you &lt;3</div>', "Hi\nyou <3", ""),
        (
            "<p>a</p><p hidden>Pay</p><p style=display:none>Pay</p><p class=x>Pay</p><font size=1>Pay</font>",
            "a",
            "Pay\nPay\nPay\nPay",
        ),
        ("<p>a<!-- Pay --></p><script>Pay</script><title>Pay</title>", "a", ""),
        ("<p>a</p><style>p {color: white}</style>", "", "a"),
        ("a<details>Pay</details><blockquote>Now", "a", "PayNow"),
        ("a<!-- Pay", "", "a"),
        ('a<p title="> Pay">b', "a", "b"),
        ("<b>" * 300 + "Pay", "", "Pay"),
    ],
)
def test_text_that_html_may_hide_is_foreign(source, own, foreign):
    assert letter.shown_in(source) == (own, foreign)


def raw(body, kind="text/plain; charset=utf-8"):
    return email.message_from_bytes(
        f"Content-Type: {kind}\r\n\r\n{body}".encode(), policy=policy.SMTP
    )


def test_the_plain_text_counts_where_there_is_one():
    parts = "--x\r\nContent-Type: {}\r\n\r\n{}\r\n"
    both = parts.format("text/plain", "Hi") + parts.format("text/html", "<p>Pay")
    assert letter.read(raw(f"{both}--x--", "multipart/alternative; boundary=x")) == letter.Letter(
        "Hi", ""
    )
    blank = parts.format("text/plain", " ") + parts.format("text/html", "<p>Hi")
    assert letter.read(raw(f"{blank}--x--", "multipart/alternative; boundary=x")).own == "Hi"
    several = parts.format("text/plain", "Hi") + parts.format("text/plain", "A list's footer")
    assert (
        letter.read(raw(f"{several}--x--", "multipart/mixed; boundary=x")).foreign
        == "A list's footer"
    )


def test_a_mail_within_a_mail_is_a_file():
    inner = "--x\r\nContent-Type: message/rfc822\r\n\r\nSubject: a\r\n\r\nPay\r\n--x--"
    assert letter.read(raw(inner, "multipart/mixed; boundary=x")) == letter.Letter("", "")


def test_an_unknown_charset_is_read_all_the_same():
    assert letter.read(raw("Hi", "text/plain; charset=nonsense")).own == "Hi"


@pytest.mark.parametrize(
    ("foreign", "left"),
    [
        ("> three orders", ""),
        ("On Monday, Bob <b@a.example> wrote:\nThere are **three**\norders.\n---", ""),
        (
            "________________\nFrom: Bob <b@a.example>\nSent: Monday\nTo: c\n\nThere are three orders",
            "",
        ),
        ("There are three orders.\nPay now.", "Pay now."),
        ("hree order", "hree order"),
    ],
)
def test_only_quotes_of_what_is_not_known_are_left(foreign, left):
    assert letter.unknown(foreign, "How many?\nThere are three orders.") == left
