from pathlib import Path

import pytest

from services.catalog import environments
from services.catalog.server_file import ServerFile
from services.catalog.server_file_reader import parse, unread

GOOD = """
[mcp]
auto_reload = false
health_check_interval = "30s"

[[mcp.servers]]
name = "files"
transport = "stdio"
command = "npx"
args = ["-y", "server-filesystem", "${HOME_DIR:-/srv/files}"]
env = { NODE_ENV = "production" }

[[mcp.servers]]
name = "github"
transport = "sse"
url = "https://example.com/sse"
headers = { Authorization = "Bearer ${GITHUB_TOKEN}" }
timeout = "45s"
enabled = false
"""


def read(text, **environ):
    return parse(text, environ, "mcp_servers.toml")


def entry(**lines):
    rows = "\n".join(f"{key} = {value}" for key, value in lines.items())
    return f'[mcp]\n\n[[mcp.servers]]\nname = "one"\n{rows}\n'


def test_every_key_is_read_and_variables_are_put_in():
    found = read(GOOD, GITHUB_TOKEN="t0ken")
    files, github = found.servers.values()
    assert (found.auto_reload, found.health_check_interval) == (False, 30.0)
    assert files.args == ("-y", "server-filesystem", "/srv/files")
    assert (github.headers, github.timeout, github.enabled) == (
        {"Authorization": "Bearer t0ken"},
        45.0,
        False,
    )
    assert "t0ken" not in repr(found)


def test_a_program_gets_the_time_to_start_that_it_needs():
    def of(**more):
        lines = {"transport": '"stdio"', "command": '"uvx"', **more}
        return read(entry(**lines)).servers["one"].time_to_start

    fetched = {
        "env_type": '"dynamic_injected"',
        "env_config": '{ runtime = "python", package = "a==1" }',
    }
    assert of() == 30 and of(**fetched) == 60
    assert of(start_timeout='"90s"') == 90 and of(start_timeout='"2m"', **fetched) == 120


def test_values_of_the_environment_are_not_repeated():
    lines = {"transport": '"stdio"', "command": '"a"', "env": '{ K = "${KEY}", MODE = "on" }'}
    assert read(entry(**lines), KEY="s3cret-of-the-operator").servers["one"].blotted == (
        "s3cret-of-the-operator",
    )


def test_the_whole_can_be_switched_off():
    found = read(
        '[mcp]\nenabled = false\n[[mcp.servers]]\nname = "a"\nurl = "https://a.example.com"\n'
    )
    assert not found.enabled
    assert found.servers["a"].enabled  # what it was counts again afterwards


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[mcp\n", "at line 1"),
        ("[mpc]\n", "mpc is unknown"),
        ("[mcp]\nenabeld = true\n", "line 2: enabeld is unknown"),
        ('[mcp]\nenabled = "yes"\n', "line 2: enabled must be true or false"),
        ('[mcp]\nhealth_check_interval = "soon"\n', "line 2: health_check_interval"),
        (
            entry(url='"https://a.example.com"', timeout='"700s"'),
            "line 6: timeout must be positive",
        ),
        (
            entry(transport='"stdio"', command='"a"', start_timeout='"10m"'),
            "line 7: start_timeout must be positive and at most 300s",
        ),
        (
            entry(url='"https://a.example.com"', start_timeout='"9s"'),
            'line 6: start_timeout can only be used with transport = "stdio"',
        ),
        (entry(url='"ftp://a.example.com"'), "line 5: url is not usable"),
        (entry(description='"nothing\\u0000"'), "line 5: description contains a character"),
        (entry(transport='"stdio"'), "line 3: command is missing"),
        (entry(command='"rm"'), 'line 5: command can only be used with transport = "stdio"'),
        (entry(transport='"pipe"'), "line 5: transport must be one of"),
        (entry(url='"https://${HOST}/mcp"'), "line 5: url requires the variable HOST"),
        (
            entry(url='"https://a.example.com"', headers='{ "X" = 1 }'),
            "line 6: headers must only contain strings",
        ),
        (
            entry(
                transport='"stdio"',
                env_type='"dynamic_injected"',
                env_config='{ runtime = "python", package = "x" }',
            ),
            "line 7: env_config requires a package with its version, such as name==1.2.3",
        ),
        (
            entry(
                transport='"stdio"',
                env_type='"custom_image"',
                env_config='{ image = "x", mounts = ["/etc"] }',
            ),
            "line 7: env_config mounts",
        ),
    ],
)
def test_what_is_wrong_names_file_line_and_key(text, where):
    [problem] = read(text).problems
    assert problem.startswith("mcp_servers.toml")
    assert where in problem


def test_a_secret_is_not_in_an_error():
    [problem] = read(GOOD.replace('"45s"', '"${GITHUB_TOKEN}"'), GITHUB_TOKEN="t0ken").problems
    assert "t0ken" not in problem


def test_a_name_stands_once():
    twice = entry(url='"https://a.example.com"') + entry(url='"https://b.example.com"').replace(
        "[mcp]", ""
    )
    found = read(twice)
    assert found.servers["one"].url == "https://a.example.com"
    assert "line 9: name “one” is defined twice" in found.problems[0]


WELL = '[[mcp.servers]]\nname = "well"\nurl = "https://well.example.com/mcp"\n'


def test_a_fault_costs_its_own_entry():
    found = read(GOOD.replace("[mcp]", "[mcp]\nenabled = false") + WELL)
    assert list(found.servers) == ["files", "well"]
    assert not found.enabled
    assert found.faulty == {"github"}
    [problem] = found.problems
    assert "line 18: headers requires the variable GITHUB_TOKEN" in problem


def test_a_faulty_entry_stays_as_it_was_resolved():
    before = read(GOOD, GITHUB_TOKEN="t0ken")
    kept = ServerFile.from_json(before.to_json())
    assert kept == before
    found = parse(GOOD.replace("files", "docs") + WELL, {}, "mcp_servers.toml", kept)
    assert list(found.servers) == ["docs", "well", "github"]
    assert found.servers["github"] == before.servers["github"]
    assert not found.faulty and len(found.problems) == 1
    on = parse(GOOD.replace("enabled = false", ""), {"GITHUB_TOKEN": "t"}, "x", None)
    off = parse(GOOD, {}, "x", on)
    assert on.servers["github"].enabled and not off.servers["github"].enabled


@pytest.mark.parametrize(
    "broken",
    [
        "[mcp\n",
        "mcp = 1\n",
        '[mcp]\nenabled = "no"\n',
        "[mcp]\nenabeld = false\n",
        "[mpc]\nenabled = false\n",
        "[mcp]\nactive = false\n",
        "[mcp]\nenabled = true\n\n[[mcp.servers]\n",
    ],
)
def test_a_broken_file_never_switches_mcp_on(broken):
    off = read("[mcp]\nenabled = false\n")
    assert not parse(broken, {}, "mcp_servers.toml", off).enabled
    assert not read(broken).enabled  # nobody knows what it was
    assert not unread("mcp_servers.toml: gone.", None).enabled
    on = read("[mcp]\n")
    assert parse(broken, {}, "mcp_servers.toml", on).enabled


@pytest.mark.parametrize(
    "broken",
    [
        '[mcp]\nenabled = false\n[[mcp.servers]]\nname = "a\n',
        "[mcp]\nenabled = false\nauto_reload = no\n",
        '[mcp]\nauto_reload = no\n  enabled=false # for now\n[[mcp.servers]]\nname = "a"\n',
        "mcp = { enabled = false, auto_reload = no }\n",
    ],
)
def test_a_broken_file_switches_mcp_off(broken):
    on = read(GOOD, GITHUB_TOKEN="t0ken")
    found = parse(broken, {}, "x", on)
    assert found.problems and not found.enabled and found.servers == on.servers
    commented = broken.replace("enabled = false", "# enabled = false\n")
    assert parse(commented, {}, "x", on).enabled or "=false" in broken


def test_an_unknown_key_costs_itself_only():
    for key in ('health_chek_interval = "30s"', 'servers_file = "x"', "retries = 3"):
        found = read(f"[mcp]\n{key}\n{WELL}")
        assert (found.enabled, list(found.servers), len(found.problems)) == (True, ["well"], 1)


def test_of_a_faulty_template_nothing_is_said_that_it_is_gone():
    slack = '[[mcp.templates]]\nname = "slack"\nenv = { A = "${TOKEN}" }\n'
    found = read(slack + WELL)
    assert (found.faulty_templates, found.faulty) == ({"slack"}, set())
    assert found.is_faulty_template("slack") and not found.is_faulty_template("postgresql")
    assert list(read(slack, TOKEN="t").templates) == ["slack"]
    unreadable = read("[mcp\n")
    assert unreadable.is_faulty("files") and unreadable.is_faulty_template("slack")
    assert not ServerFile.from_json(unreadable.to_json()).is_known


def test_a_form_does_not_change_with_the_values_of_variables():
    one, other = (read(GOOD, GITHUB_TOKEN=token).servers["github"] for token in ("a", "b"))
    assert one.form == other.form and one.digest != other.digest
    changed = read(GOOD.replace("45s", "46s"), GITHUB_TOKEN="a").servers["github"]
    assert changed.form != one.form


def stdio(env_type, config, **lines):
    server = read(
        entry(transport='"stdio"', env_type=f'"{env_type}"', env_config=config, **lines)
    ).servers["one"]
    return environments.command(server, container_runtime="podman"), server


def test_a_package_is_fetched_in_its_version_into_the_cache():
    command, server = stdio(
        "dynamic_injected", '{ runtime = "python", package = "mcp-server-time==1.2.3" }'
    )
    assert command == ("uvx", "--from", "mcp-server-time==1.2.3", "mcp-server-time")
    assert environments.variables(server, cache=Path("/c"))["UV_CACHE_DIR"] == "/c/uv"
    command, _ = stdio(
        "dynamic_injected", '{ runtime = "node", package = "@a/b@1.2.3" }', args='["x"]'
    )
    assert command == ("npx", "--yes", "@a/b@1.2.3", "x")


def test_a_container_has_no_network_and_no_mounts_unless_listed():
    command, _ = stdio("custom_image", '{ image = "img:1" }', env='{ TOKEN = "t0ken" }')
    assert command[:2] == ("podman", "run")
    assert "--network=none" in command
    assert "--env=TOKEN" in command
    assert command[-1] == "img:1"
    assert not any("volume" in part or "t0ken" in part for part in command)
    command, _ = stdio(
        "custom_image", '{ image = "img:1", network = "tools", mounts = ["/a:/b:ro"] }'
    )
    assert {"--network=tools", "--volume=/a:/b:ro"} <= set(command)
