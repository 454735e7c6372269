"""Patterns that may meet untrusted text, each with the texts on which it would have to try again and again."""

import contextlib
from itertools import islice

import httpx

from services import const, jsonrpc, text
from services.approval import taint
from services.catalog import address, mcp_json, template_file
from services.errors import ConfigError
from services.gateway import asking
from services.grounding import check, denials, tables, values
from services.llm import llm_errors, prompt_reader, transcript
from services.llm.lenient_json import LenientJson, TooDeep
from services.mail import headers
from services.mail import letter as mail_letter
from services.mcp.discovery import content, definition_diff, definition_scan
from services.mcp.features import uri_template
from services.mcp.pool import pool
from services.mcp.transport import param_headers
from services.net import egress, faults
from services.oauth import metadata
from services.oauth_server import const as oauth_const
from services.oauth_server import redirects, tokens
from services.openapi import parser
from services.personal_data import archive
from services.records import compare, id_check, placeholders
from services.render import conversation_file, formulas, html_text, markdown, markdown_rules
from services.schemas import elicitation_form
from services.toolset import words
from services.turn import advice, names


def of(pattern, method="search"):
    return getattr(pattern, method)


def template_field(said):
    with contextlib.suppress(ConfigError):
        template_file._field({"name": said, "label": "a", "target": "header", "header": "a"})


def template_of_server(said):
    server = dict.fromkeys(("id", "name", "title", "description", "category", "transport"), "a")
    server |= {"url": said, "has_api_key": False, "header_names": [said], "authorization": "key"}
    with contextlib.suppress(ConfigError):
        template_file.of_server(server)


def signs(said):
    for _code, sign in definition_scan._SIGNS:
        sign.search(said)


def prompt(said):
    reader = prompt_reader.PromptReader(["add"])
    reader.feed(said)
    reader.close()


def letter_by_letter(said):
    reader = prompt_reader.PromptReader(["add"])
    for letter in said:
        reader.feed(letter)
    reader.close()


def lenient(said):
    reader = LenientJson()
    with contextlib.suppress(TooDeep):
        for letter in said:
            if reader.is_done:
                break
            reader.feed(letter)
        reader.close()


def blocks(said):
    stream = markdown.BlockStream()
    for start in range(0, len(said), 4):
        list(stream.feed(said[start : start + 4]))
    list(stream.close())


def challenge(said):
    metadata.challenge_of(httpx.Headers({"www-authenticate": said}))


def export(said):
    mcp_json.write([{"name": "a", "url": said, "transport": "auto"}])


def bearer(said):
    return mcp_json._BEARER.fullmatch(said)


def lines(said):
    definition_diff.rows({"d": said}, {"d": said.replace("b\n", "b\nb\n")})


def grounding_values(said):
    list(values.values(said))


def grounding_names(said):
    list(values.names(said, ()))


def sender(said):
    headers.is_verified([("Authentication-Results", said)], "a", "a.example")
    headers.is_automatic([("Auto-Submitted", said), ("List", said)])


def html_letter(said):
    mail_letter.shown_in(said)
    mail_letter.shown_in("<b>" * mail_letter.MAX_DEPTH + said)


def expand(said):
    uri_template.expand(said, {"a": "%25" * 3_000})


ANSI = ("\x1b[1", "\x1b]", "\x1bP", "\x9b", "\x1b\\", "\x1b ", "1")

# name -> (most characters, what is done with them, texts that are repeated up to there)
PATTERNS = {
    "services.mcp.discovery.content._MIMETYPE": (
        200,
        of(content._MIMETYPE, "fullmatch"),
        ("a/", "a/a", "a"),
    ),
    "services.mcp.discovery.content._NAME_UNSAFE": (
        1_000,
        lambda s: content._NAME_UNSAFE.sub("_", s),
        ("/", "a/"),
    ),
    "services.mcp.discovery.definition_scan._SIGNS": (
        definition_scan.MAX_PART,
        signs,
        (
            "ignore ",
            "ignore x",
            "<",
            "< / ",
            "<" + " " * 7_000,
            "never tell ",
            "do not tell the ",
            "before ",
            "http:/",
            "忽略",
            "不要告诉",
            "api ",
            "overriding the ",
            "send ",
            "send to ",
            "http://1.1.1.",
            "http://a:",
            "your ",
            "your a ",
            "paste ",
        ),
    ),
    "services.mcp.discovery.definition_scan._SECRET": (
        definition_scan.MAX_NAME,
        of(definition_scan._SECRET),
        ("_", "api_", "secret", "credit_card_"),
    ),
    "services.mcp.discovery.definition_scan._HUMP": (
        definition_scan.MAX_NAME,
        lambda name: definition_scan._HUMP.sub("_", name),
        ("a", "A", "aA"),
    ),
    "services.net.egress._TOKEN": (20_000, of(egress._TOKEN, "fullmatch"), ("a", "a ", "a-")),
    "services.net.egress._VALUE": (20_000, of(egress._VALUE, "fullmatch"), ("a", " ", "a ", "a\t")),
    "services.net.faults._NO_SESSION": (
        2_000,
        of(faults._NO_SESSION, "fullmatch"),
        ("session ", "bad request: ", "server not initialized", "session not found" + "!" * 1_900),
    ),
    "services.schemas.elicitation_form._EMAIL": (
        elicitation_form.MAX_EMAIL,
        of(elicitation_form._EMAIL, "fullmatch"),
        ("a", "a@", "@a.", "a."),
    ),
    "services.llm.lenient_json._NUMBER": (
        20_000,
        lenient,
        ("{1", "[1", '["', '{"a', "[\\", '[" "', "[1e", "[[", "{'"),
    ),
    "services.llm.llm_errors._CONTEXT": (
        llm_errors.MAX_MESSAGE,
        of(llm_errors._CONTEXT),
        ("context", "too many "),
    ),
    "services.llm.llm_errors._LIMIT": (
        llm_errors.MAX_MESSAGE,
        llm_errors.context_length,
        ("max", "max ", "limit exceeded", "context length", "1", "1234", "1234 ", "1234 maximum"),
    ),
    "services.llm.llm_errors._NO_TOOLS": (
        llm_errors.MAX_MESSAGE,
        of(llm_errors._NO_TOOLS),
        ("tool", "function "),
    ),
    "services.llm.llm_errors._NO_MODEL": (
        llm_errors.MAX_MESSAGE,
        of(llm_errors._NO_MODEL),
        ("model", "model ", "deployment"),
    ),
    "services.llm.llm_errors._NO_KEY": (
        llm_errors.MAX_MESSAGE,
        of(llm_errors._NO_KEY),
        ("api key", "invalid ", "apikeyapi key "),
    ),
    "services.llm.llm_errors._BUSY": (
        llm_errors.MAX_MESSAGE,
        of(llm_errors._BUSY),
        ("rate", "too many "),
    ),
    "services.llm.llm_errors._QUOTA": (
        llm_errors.MAX_MESSAGE,
        of(llm_errors._QUOTA),
        ("insufficient", "credit "),
    ),
    "services.render.conversation_file._TICKS": (
        20_000,
        of(conversation_file._TICKS, "findall"),
        ("`", "a", "`a"),
    ),
    "services.render.formulas._MARKED": (
        200_000,
        of(formulas._MARKED, "findall"),
        ('<span class="o_ai_math">', '<span class="o_ai_math">a', "<span"),
    ),
    "services.render.formulas._MACRO": (2_000, of(formulas._MACRO), ("\\", "\\re", "\\de")),
    "services.render.formulas._LIKE_TEX": (2_000, of(formulas._LIKE_TEX), ("a", "a'", "'")),
    "services.render.formulas._VALUE": (2_000, of(formulas._VALUE, "fullmatch"), ("a", "1 ")),
    "services.render.html_text.DECLARATIONS": (
        200_000,
        of(html_text.DECLARATIONS, "findall"),
        ("<!", "<!a", "<!>"),
    ),
    "services.render.html_text.UNCLOSED": (
        200_000,
        of(html_text.UNCLOSED, "findall"),
        ("<", "<a", "<a ", "<a b='", "</"),
    ),
    "services.render.markdown._FENCE": (20_000, blocks, ("`", "```", " ", "```\n", "~~~a\n\n")),
    "services.render.markdown._LIST": (20_000, blocks, ("- ", "- a\n\n", "1", "\n", "- a\n\n 1")),
    "services.render.markdown._HEADING": (20_000, blocks, ("#", "# a\n", "\n\na")),
    "services.render.markdown._MARK": (20_000, blocks, ("- a\n\n1", "- a\n\n-")),
    "services.render.markdown._SAFE_LINK": (
        20_000,
        of(markdown._SAFE_LINK, "match"),
        ("http", "mailto"),
    ),
    "services.render.markdown._RECORD_LINK": (
        20_000,
        of(markdown._RECORD_LINK, "fullmatch"),
        ("/odoo/", "a/"),
    ),
    "services.render.markdown_rules._TASK": (
        20_000,
        of(markdown_rules._TASK, "match"),
        ("[ ] ", " "),
    ),
    "services.render.markdown_rules._BARE_LINK": (
        20_000,
        lambda s: [
            markdown_rules._without_end_of_sentence(m[0])
            for m in markdown_rules._BARE_LINK.finditer(s)
        ],
        ("http://", "https", "http://a" + ")" * 1_990 + " ", "http://" + "." * 1_990 + " "),
    ),
    "services.render.markdown_rules._MATH": (
        2_100,
        of(markdown_rules._MATH, "match"),
        ("\\(", "$$", "$a", "\\["),
    ),
    "services.records.placeholders.PLACEHOLDER": (
        20_000,
        placeholders.paths,
        ("{{", "{{ object.a", "{{ object." + "a." * 90 + "}}", "{"),
    ),
    "services.records.placeholders.FIELD": (
        20_000,
        placeholders.fields_of,
        ("{", "{a", "{{a", "{a b ", "{a}}"),
    ),
    "services.catalog.mcp_json._PLACEHOLDER": (
        2_000,
        of(mcp_json._PLACEHOLDER),
        ("${", "<", "<a", "$"),
    ),
    "services.catalog.address.without_secrets": (
        2_000,
        address.secrets,
        ("?key", "&key", "?", "&a=key", "?keytoken=", "?key={a", "?key=", "#a&"),
    ),
    "services.catalog.address._SECRET": (2_000, export, ("?key", "?a=auth&s", "?ke")),
    "services.catalog.address._OPEN": (2_000, address.secrets, ("&key={", "?token={a}")),
    "services.catalog.address._WORDS": (
        2_000,
        export,
        ("/a1", "a1-", "a", "/a1b2c3d4e5f6g7h8i9j0k"),
    ),
    "services.catalog.address._WORD": (2_000, address.is_key, ("a", "a1", "1a", "a1111")),
    "services.catalog.address._UUID": (2_000, address.is_key, ("0", "00000000-", "0000-")),
    "services.catalog.mcp_json._NO_WORD": (2_000, export, ("?key.", "?a..token")),
    "services.catalog.mcp_json._BEARER": (20_000, bearer, ("bearer ", " ", "\n")),
    "services.catalog.template_file.CODE": (
        20_000,
        of(template_file.CODE, "fullmatch"),
        ("a", "a."),
    ),
    "services.catalog.template_file._ICON": (
        20_000,
        of(template_file._ICON, "fullmatch"),
        ("fa-a", "fa-"),
    ),
    "services.catalog.template_file._NAMED": (
        2_000,
        of(template_file._NAMED, "findall"),
        ("{a", "{", "{a}"),
    ),
    "services.catalog.template_file._field": (20_000, template_field, ("a", "a.")),
    "services.catalog.template_file.code_of": (20_000, template_file.code_of, ("a.", ".", "a")),
    "services.catalog.template_file._field_name": (
        2_000,
        template_of_server,
        ("?key=", "&", "/a1", "key.="),
    ),
    "services.approval.taint._QUOTE": (100_000, taint.without_quotes, (">", " >", "\n >", "> a\n")),
    "services.approval.taint._LETTERS_AND_DIGITS": (
        24_000,
        taint.holds_sentences,
        ("a", "a ", "-", "a1", "天", "a-", "1 ", "[", '{"', '"a" '),
    ),
    "services.approval.taint._NAME": (2_000, of(taint._NAME, "fullmatch"), ("a", "a ", "'", "a.")),
    "services.approval.taint._ITEM_BREAK": (
        100_000,
        lambda worst: taint.listed_names([worst]),
        ("'", "a'", "'a", "a ", ",", "天", "("),
    ),
    "services.approval.taint._WORDS": (100_000, taint._WORDS.findall, ("a", "a ", "天")),
    "services.turn.advice._QUOTED": (
        advice.MAX_RESULT,
        advice._QUOTED.findall,
        ('"', '"a', '"a"', "a"),
    ),
    "services.grounding.values._VALUE": (
        values.PIECE,
        grounding_values,
        (
            "1",
            "a",
            "a/",
            "Ab/",
            "a-1",
            "1.",
            "1,",
            "1 ",
            "12:34 ",
            "2026-",
            "2026-03-05 ",
            "May ",
            "5 May ",
            "a.b@",
            "a@a.",
            "http://",
            "](/a",
            "現在三",
            "三點五十",
            "上午 ",
            "UTC+",
            "1+02:00",
            "1 a",
            "$1",
            "1 hour",
            "+1 1",
            "+12-34",
            "01 234 ",
            "1–",
            "1/2 ",
        ),
    ),
    "services.grounding.values._MAY_HOLD": (values.PIECE, of(values._MAY_HOLD), ("a", " ")),
    "services.grounding.values._SKIPPED": (
        check.MAX_ANSWER,
        values.without_code,
        ("```", "```\n", "~~~\n", "```\n~~~\n", " ", "\n", "# ", "**1", "24/", "step "),
    ),
    "services.grounding.values._NAME": (
        check.MAX_ANSWER,
        grounding_names,
        ("“", "“a", "「", '"', "**", "** ", "|", "| ", "|a\n", "\n", "| a |", "*", "**a:"),
    ),
    "services.grounding.denials._DENIAL": (
        check.MAX_ANSWER,
        lambda text: list(islice(denials.denials(text), check.MAX_CHECKED)),
        ("no ", "no a. ", "not a ", "n't a a ", "沒有", "沒有。", "0 ", "0個", "[]"),
    ),
    "services.grounding.denials._FAILURE": (
        check.MAX_ANSWER,
        of(denials._FAILURE),
        ("a", "fai", "can", "no ", "沒", "任何錯", "not "),
    ),
    "services.grounding.denials._SENTENCE_END": (600, of(denials._SENTENCE_END), ("a", "。")),
    "services.grounding.denials._IDENTIFIER": (600, of(denials._IDENTIFIER), ("a", "a.")),
    "services.grounding.values._ABOUT": (20, of(values._ABOUT), ("about ", "約", "a", " $")),
    "services.grounding.values._WORD": (100, of(values._WORD), ("a", " ")),
    "services.grounding.values._GROUPS": (300, values.readings_of, ("1,", "123,", "1.")),
    "services.grounding.tables._CELL": (
        20_000,
        tables._CELL.split,
        ("|", " | ", ",", "1,", "1,234", ": ", " / ", " "),
    ),
    "services.grounding.tables._NUMBER": (
        60,
        of(tables._NUMBER, "match"),
        ("1", "1,234", "a", "$"),
    ),
    "services.grounding.tables._IS_ID": (20_000, of(tables._IS_ID), ("id", "_id", "ids")),
    "services.grounding.check.SIGN": (
        check.MAX_ANSWER,
        check.without_marked,
        (" ", " *(", " *(a", " *(a)* ", "\n"),
    ),
    "services.grounding.check.ESCAPE": (
        check.MAX_SOURCES // 10,
        of(check.ESCAPE),
        ("\\u", "\\u123", "\\"),
    ),
    "services.grounding.check.ITEM": (
        check.MAX_ANSWER,
        check.ITEM.findall,
        (" ", "\n", " \n", "- ", "1", "|", "| "),
    ),
    "services.grounding.check.WORD": (
        check.MAX_SOURCES // 10,
        check.WORD.findall,
        ("a", " ", "a "),
    ),
    "services.grounding.check.DIGIT_RUN": (80, check.DIGIT_RUN.findall, ("1", "a1")),
    "services.grounding.check.SEPARATORS": (
        check.MAX_SOURCES // 10,
        lambda s: check.SEPARATORS.sub("", s),
        ("1 ", "- ", " "),
    ),
    "services.grounding.check.TARGET": (2_100, of(check.TARGET, "match"), ("](", "](a")),
    "services.grounding.check.LASTS": (
        check.MAX_SOURCES // 10,
        check.LASTS.findall,
        ("duration", "hours", "duration_a", "duration: 1", "hours "),
    ),
    "services.grounding.check.SPOKEN": (
        values.PIECE,
        lambda s: list(check.spoken_numbers(s)),
        ("三", "三 ", "one ", "two week", "十天"),
    ),
    "services.turn.names.LEGAL": (20_000, of(names.LEGAL, "fullmatch"), ("a", "a.")),
    "services.turn.names._slug": (
        200,
        lambda s: names.make_aliases([(s, s), (s, s), (s, "b")]),
        ("a", ".", "a.", "ﷺ", "\u0301"),
    ),
    "services.oauth.metadata._PARAM": (
        100_000,
        challenge,
        (
            "Bearer a",
            "Bearer ",
            "Bearer " + "a" * 99_000,
            'Bearer a="',
            "Bearer a=",
            'Bearer a="\\',
            "Bearer a= ",
        ),
    ),
    "services.oauth.metadata._QUOTED_PAIR": (
        100_000,
        challenge,
        ('Bearer a="\\a', 'Bearer a="' + "\\a" * 900 + '" '),
    ),
    "services.openapi.parser._JSON": (
        5_000,
        of(parser._JSON, "fullmatch"),
        ("application/", "+", "application/a+", "+json"),
    ),
    "services.mcp.transport.param_headers._TOKEN": (
        20_000,
        of(param_headers._TOKEN, "fullmatch"),
        ("a", "a "),
    ),
    "services.mcp.transport.param_headers._PLAIN": (
        20_000,
        of(param_headers._PLAIN, "fullmatch"),
        ("a", "a ", " "),
    ),
    "services.toolset.words._PART": (
        words.MAX_TEXT,
        words.words,
        ("a", "A", "Aa", "aA", "1", "a1", "漢", "漢a", "_", "é"),
    ),
    "services.toolset.words._NO_BLANKS": (words.MAX_TEXT, of(words._NO_BLANKS), ("a", "漢")),
    "services.toolset.words._PATH": (
        words.MAX_TEXT,
        of(words._PATH),
        ("/", " /", " ~", "~.", "a.", "a.m", "a.doc", " ./"),
    ),
    "services.records.id_check.NUMBER": (
        compare.MAX_TEXT,
        id_check.NUMBER.findall,
        ("1", "1 ", "12345678901"),
    ),
    "services.records.id_check.OTHER_NUMBERS": (
        compare.MAX_TEXT,
        of(id_check.OTHER_NUMBERS),
        (
            "1",
            "1,111",
            "1.",
            "1 a",
            "1 as",
            "1-1",
            "2026-11",
            "1:",
            "$1",
            "1 Jan ",
            "Jan 1 ",
            "Jan",
        ),
    ),
    "services.records.id_check.OF_TABLE": (
        compare.MAX_TEXT,
        id_check.OF_TABLE.findall,
        ("1", "(1", "(1)", "1 |", "\n1 |", "\n1"),
    ),
    "services.records.id_check.OF_SHEET": (
        compare.MAX_TEXT,
        id_check.OF_SHEET.findall,
        ("a", "a.", "\na.b ", "a.a", "\na.b 1", "(1", "_"),
    ),
    "services.records.id_check.IS_TABLE": (
        compare.MAX_TEXT,
        id_check.IS_TABLE.match,
        ("a", "a.", "a.b (", "_", "."),
    ),
    "services.records.id_check.IS_ID": (
        compare.MAX_TEXT,
        id_check.IS_ID.search,
        ("id", "_id", "ids", ".", "_"),
    ),
    "services.personal_data.archive._UNSAFE": (2_000, archive.file_name, ("a", "/", "a/", "\n")),
    "services.records.compare._ID": (
        compare.MAX_TEXT,
        lambda s: compare._ID.sub("id", s),
        ("/1", "=", "1", '"1.', "#1234567890", "/12345678901"),
    ),
    "services.records.compare._STAMPS": (
        compare.MAX_TEXT,
        compare.without_stamps,
        ("UID:", "UID:\n ", "UID:\n \n", "\n ", "U", "CREATED;UID:"),
    ),
    "services.records.compare._TOKEN": (
        compare.MAX_TEXT,
        compare.comparable,
        (
            "a",
            "a-",
            "0" * 31 + " ",
            "0" * 32 + "g",
            "01234567-",
            "01234567-89ab-cdef-0123-456789abcde ",
        ),
    ),
    "services.mcp.pool.pool._LIST_CHANGED": (
        64_000,
        of(pool._LIST_CHANGED, "fullmatch"),
        ("notifications/", "tools"),
    ),
    "services.llm.prompt_reader._OPENER": (
        60_000,
        prompt,
        ("`", "<tool_call>", "[TOOL_CALLS]", "[", "{", "<", "[TOOL"),
    ),
    "services.llm.prompt_reader._FENCE": (
        8_000,
        letter_by_letter,
        ("```", "``` ", "```\n", "```json\n", "``"),
    ),
    "services.llm.prompt_reader._FIRST_KEY": (
        20_000,
        prompt,
        ("[ ", "{ ", '{"', "{a", "[{", '{"message', '{"message":"",'),
    ),
    "services.llm.prompt_reader._FIRST_KEY_BEGUN": (
        8_000,
        letter_by_letter,
        (" ", "[ ", "{ ", '{"', "{a", "["),
    ),
    "services.llm.prompt_reader._REMAINS": (
        8_000,
        letter_by_letter,
        (
            '{"tool_calls": []}',
            '{"tool_calls": []} ',
            "]",
            '{"message":"",',
            '{"tool_calls":1,"message":"",',
        ),
    ),
    "services.jsonrpc.ID": (
        65_536,
        lambda s: jsonrpc.ID.search(s.encode(), 0, 65_536),
        ('"id"', '"id" ', '"id":', '"id": "'),
    ),
    "services.text._ANSI": (200_000, text.clean, ANSI),
    "services.text._FORMULA": (200_000, text.csv_cell, (" ", "-", "1", "-1", "-1%", ";", ";-1")),
    "services.text._CELLS": (200_000, text.csv_cell, (";", "a;", "a")),
    "services.text._INVISIBLE": (200_000, text.clean, ("\u200b", "a\u200b", "\x00", "é")),
    "services.text._JOINERS": (200_000, text.clean, ("\u200d", "é\u200d", "a\u200d", "\u200dé")),
    "services.text._UNSEEN": (200_000, text.visible, (" ", "\u200b", "a\u200b", " \xa0", "é")),
    "services.text._UNSTORABLE": (200_000, text.storable, ("\0", "a\0", "é", "\ud800")),
    "services.llm.transcript._function_call": (
        20_000,
        lambda s: transcript._function_call({"id": "1", "alias": s, "arguments": {}}),
        ("a", ".", "a."),
    ),
    "services.mcp.features.uri_template._EXPRESSION": (
        uri_template.MAX_TEMPLATE,
        uri_template.variables,
        ("{", "{a", "{a,", "{a}"),
    ),
    "services.mcp.features.uri_template._MODIFIER": (
        uri_template.MAX_TEMPLATE,
        uri_template.variables,
        ("{a:1", "{" + "a:" * 200 + "}", "{" + "1" * 400 + "}", "{" + ":1" * 200 + "}"),
    ),
    "services.mcp.features.uri_template._ENCODED_TWICE": (
        8_000,
        lambda s: uri_template._ENCODED_TWICE.sub("%", s),
        ("%25", "%", "%252"),
    ),
    "services.mcp.discovery.definition_diff._listed": (
        128_000,
        definition_diff._listed,
        (" ", ",", "a ", "a, ", ";\n", "a"),
    ),
    "services.oauth_server.const.CODE": (16_384, oauth_const.CODE.fullmatch, ("a", "-", "a ")),
    "services.gateway.asking._WORD": (
        10_000,
        lambda s: asking.tool_name(s, 1),
        ("a", "a ", " ", "é"),
    ),
    "services.oauth_server.redirects._CHARACTERS": (
        16_384,
        redirects._CHARACTERS.fullmatch,
        ("a", "a ", "%", "https://"),
    ),
    "services.oauth_server.tokens.CHALLENGE": (
        16_384,
        tokens.CHALLENGE.fullmatch,
        ("a", "-", "é"),
    ),
    "services.oauth_server.tokens._VERIFIER": (
        16_384,
        lambda s: tokens.proves(s, ""),
        ("a", "~", "é"),
    ),
    "services.oauth_server.tokens._FAMILY_OF": (
        16_384,
        tokens.family_of,
        ("woow_rt.", "woow_rt.a.", "a", "-."),
    ),
    "services.mail.headers": (
        20_000,
        sender,
        ("(", "\\", '"', ";", "=", "a=b ", "a;b=c(", "a; b=c "),
    ),
    "services.mail.letter._MARKUP": (
        const.PROMPT_CHARS,
        html_letter,
        ("<!--", "<", "<a ", "<a b='", "</b>", "<p>", "<![CDATA[", "&", "<script>", "<b></i>"),
    ),
    "services.mail.letter._START": (
        const.PROMPT_CHARS,
        html_letter,
        ("<", "</", "< ", "<1", "<½"),
    ),
    "services.mail.letter._QUOTED": (
        const.PROMPT_CHARS,
        lambda s: mail_letter.shown_in(f"<a {s}>"),
        ('"', "a='", "a=b "),
    ),
    "services.mail.letter.shown_in": (
        const.PROMPT_CHARS,
        lambda s: mail_letter.shown_in(f"<script>{s}"),
        ("</", "</scrip", "<script>", "</script"),
    ),
    "services.mail.letter.divided": (
        const.PROMPT_CHARS,
        mail_letter.divided,
        ("> a\n", "a:\n", "a@b wrote:\n", "a: b@c\n", "---", "\n", " "),
    ),
    "services.mail.letter._WORD": (
        const.PROMPT_CHARS,
        lambda s: mail_letter.unknown(s, s[::-1]),
        ("a", "a ", "ab\n", "\n", "-"),
    ),
    "services.mail.letter.FORWARDS": (
        const.PROMPT_CHARS,
        mail_letter.is_reply,
        ("re", "fw", " ", "re ", ":"),
    ),
    # hand-written loops
    "services.mcp.discovery.definition_diff.rows": (
        128_000,
        lines,
        (
            "a\n",
            "a\nb\n",
            "".join(f"{n}\n" for n in range(63)),
            "".join(f"{n}\n" for n in range(300)),
            "a",
        ),
    ),
}
