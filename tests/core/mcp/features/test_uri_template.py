"""The examples of RFC 6570 that one text for each variable can have."""

import pytest

from services.errors import ConfigError
from services.mcp.features import uri_template

VALUES = {"var": "value", "hello": "Hello World!", "path": "/foo/bar", "empty": "", "half": "50%"}
EXAMPLES = {
    "{var}": "value",
    "{hello}": "Hello%20World%21",
    "{half}": "50%25",
    "O{empty}X{undef}": "OX",
    "{+hello}": "Hello%20World!",
    "{+path}/here": "/foo/bar/here",
    "{+half}": "50%25",
    "X{#path}": "X#/foo/bar",
    "{var:3}{path:6}": "val%2Ffoo%2Fb",
    "X{.var,undef}": "X.value",
    "{/var,empty}": "/value/",
    "{;var,empty}": ";var=value;empty",
    "{?var,empty,undef}": "?var=value&empty=",
    "?fixed=yes{&var*}": "?fixed=yes&var=value",
    "{ no } {}": "{ no } {}",
}


@pytest.mark.parametrize("template", EXAMPLES)
def test_a_template_is_filled_in(template):
    assert uri_template.expand(template, VALUES) == EXAMPLES[template]


def test_what_is_encoded_already_stays_so():
    assert uri_template.expand("{+p}{#p}", {"p": "a%20b"}) == "a%20b#a%20b"


@pytest.mark.parametrize(
    "template", ["{a}" * 300, "{" + "a," * 200 + "a}", "{+a}{#a}", "x" * 3_000]
)
def test_an_address_that_would_become_huge_is_refused(template):
    with pytest.raises(ConfigError, match="too long"):
        uri_template.expand(template, {"a": "%25é" * 10_000})


def test_variables_are_named_once():
    assert uri_template.variables("{a}{+b:3}{?a,c*}{ no }") == ("a", "b", "c")
