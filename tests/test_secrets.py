import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from cryptography.fernet import Fernet
from odoo.exceptions import AccessError, UserError, ValidationError
from odoo.tests import tagged
from odoo.tools import mute_logger
from odoo.tools.misc import file_open

from ..services.errors import ConfigError
from ..services.net.egress import EgressPolicy
from ..tools import sentences, settings, vault
from .common import AiCase


@tagged("post_install", "-at_install")
class TestSecrets(AiCase):
    def test_nobody_reads_a_secret_back(self):
        self.user_server.with_user(self.owner).api_key = "s3cret-key"
        self.user_server.with_user(self.owner).headers_json = '{"X-Team": "s3cret-header"}'
        for user in (self.admin, self.owner):
            server = self.user_server.with_user(user)
            self.env.invalidate_all()
            fields = [name for name in server.fields_get() if server._fields[name].store or True]
            values = str(server.read(fields))
            self.assertNotIn("s3cret", values)
            self.assertTrue(server.has_api_key)
            self.assertEqual(server.header_names, "X-Team")
            with self.assertRaises(AccessError):
                server.read(["api_key_encrypted"])

    def test_stored_encrypted(self):
        self.env.flush_all()
        self.env.cr.execute(
            "SELECT api_key_encrypted FROM ai_config WHERE id = %s", [self.provider.id]
        )
        (stored,) = self.env.cr.fetchone()
        self.assertNotIn("sk-provider-secret", stored)
        self.assertEqual(self.provider._read_secret("api_key"), "sk-provider-secret")

    def test_the_key_of_a_server_is_stored_encrypted(self):
        self.user_server.api_key = "sk-server-secret"
        self.env.flush_all()
        self.env.cr.execute(
            f"SELECT row_to_json(s)::text FROM {self.user_server._table} s WHERE id = %s",
            [self.user_server.id],
        )
        (stored,) = self.env.cr.fetchone()
        self.assertNotIn("sk-server-secret", stored)
        self.assertEqual(self.user_server._read_secret("api_key"), "sk-server-secret")

    def test_empty_input_keeps_the_secret(self):
        self.provider.write({"api_key": "", "name": "Renamed"})
        self.assertEqual(self.provider._read_secret("api_key"), "sk-provider-secret")

    def test_a_providers_key_goes_to_no_other_host(self):
        config = self.provider
        config.api_base_url = "http://127.0.0.1:9/v2"
        self.assertEqual(config._llm_spec().api_key, "sk-provider-secret", "the same origin")
        for vals in (
            {"api_base_url": "http://elsewhere.example.com/v1"},
            {"api_base_url": "https://elsewhere.example.com/v1", "api_key": ""},
        ):
            with self.subTest(vals=vals):
                config.api_key = "sk-provider-secret"
                config.write(vals)
                self.assertFalse(config.has_api_key)
                self.assertFalse(config._llm_spec().api_key)
        config.write({"api_base_url": "http://127.0.0.1:9/v1", "api_key": "sk-new"})
        self.assertEqual(config._llm_spec().api_key, "sk-new")

    def test_a_form_says_that_the_key_stays_behind(self):
        self.server.api_key = "s3cret-key"
        self.env.flush_all()
        self.env.invalidate_all()
        for record, name in ((self.provider, "api_base_url"), (self.server, "url")):
            old = record[name]
            for values, is_told in (
                ({name: f"{old}/v2"}, False),
                ({name: "https://elsewhere.example.com/v1"}, True),
                ({name: "https://elsewhere.example.com/v1", "api_key": "new"}, False),
            ):
                with self.subTest(model=record._name, values=values):
                    told = record.onchange(values, [name], {name: {}, "api_key": {}})
                    self.assertEqual("are not carried over" in str(told.get("warning")), is_told)
        self.provider.api_key_encrypted = False
        told = self.provider.onchange({"api_base_url": "https://x.org"}, ["api_base_url"], {})
        self.assertNotIn("warning", told)

    def test_a_copy_has_no_secret(self):
        self.assertFalse(self.provider.copy().has_api_key)

    def test_neutralize_clears_secrets_and_switches_off(self):
        self.server.api_key = "s3cret-key"
        self.env.flush_all()
        with file_open("woow_paas_platform/data/neutralize.sql") as file:
            self.env.cr.execute(file.read())
        self.env.invalidate_all()
        self.assertFalse(self.provider.has_api_key)
        self.assertFalse(self.server.has_api_key)
        self.assertFalse(self.server.active)

    def test_the_engine_gets_it_and_its_repr_hides_it(self):
        self.server.api_key = "s3cret-key"
        spec = self.server._server_spec()
        self.assertEqual(spec.api_key, "s3cret-key")
        self.assertNotIn("s3cret", repr(spec))
        self.assertNotIn("sk-provider", repr(self.provider._llm_spec()))

    def test_the_operators_addresses(self):
        read = settings.get.__wrapped__
        with patch.dict(os.environ, {"WOOW_AI_EGRESS_ALLOW": "LOCALHOST:80, [::1]:*"}):
            self.assertEqual(
                read().egress_allow,
                EgressPolicy(frozenset({("localhost", 80), ("::1", None)})),
            )
        for wrong in ("localhost", "a:80, b:99999"):
            with (
                patch.dict(os.environ, {"WOOW_AI_EGRESS_ALLOW": wrong}),
                self.assertLogs(settings.__name__, "ERROR"),
            ):
                self.assertEqual(read().egress_allow, EgressPolicy())

    def _settings(self, section, **twins):
        """As this odoo.conf and this environment say."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "odoo.conf").write_text(f"[options]\nrunner_capacity = 1\n[woow_ai]\n{section}\n")
        known = {"config": str(folder / "odoo.conf"), "data_dir": str(folder)}
        environment = {f"WOOW_AI_{key.upper()}": value for key, value in twins.items()}
        environment |= {k: v for k, v in os.environ.items() if not k.startswith("WOOW_AI_")}
        with (
            patch.object(settings, "config", known),
            patch.dict(os.environ, environment, clear=True),
            self.assertLogs(settings.__name__, "WARNING") as said,
        ):
            settings._logger.error("Something is said in any case.")
            found = settings.get.__wrapped__()
        self.said = said.output[1:]
        return found

    def test_a_wrong_value_costs_its_own_key(self):
        found = self._settings(
            "runner_capacity = many\nlease_seconds =\nmax_streams = 7\nidle_seconds = nan\n"
            "in_process_runner = False ; said\nmetrics_tenants = nein\nsandbox = on\n"
            "metrics_port = 70000\negress_allow = here\nrunner_capazity = 9",
        )
        self.assertEqual((found.runner_capacity, found.lease_seconds), (32, 15.0))
        self.assertEqual((found.max_streams, found.idle_seconds), (7, 60.0))
        self.assertEqual((found.in_process_runner, found.metrics_tenants), (True, False))
        self.assertEqual((found.sandbox, found.metrics_port), ("required", 0))
        self.assertEqual(
            set(found.faults),
            {"runner_capacity", "lease_seconds", "idle_seconds", "in_process_runner", "sandbox"}
            | {"metrics_tenants", "metrics_port", "egress_allow"},
        )
        (unknown,) = found.unknown
        self.assertRegex(unknown, r"^runner_capazity in /.*/odoo.conf, line 13 is unknown\.$")
        self.assertRegex(
            found.faults["runner_capacity"],
            r"^runner_capacity in /.*/odoo.conf, line 4: “many” is not a whole number from 1 to",
        )
        self.assertIn("line 5: is empty", found.faults["lease_seconds"])
        self.assertIn("A comment needs a line of its own", found.faults["in_process_runner"])

    def test_an_empty_twin_is_none_and_a_wrong_one_hides_nothing(self):
        key = Fernet.generate_key().decode()
        section = f"secret_key = {key}\nrunner_capacity = 5"
        found = self._settings(section, secret_key="", runner_capacity=" ")
        self.assertEqual((found.secret_key, found.runner_capacity), ((key,), 5))
        self.assertFalse(found.faults)
        found = self._settings("sandbox = off\nrunner_capacity = 5", runner_capacity="x")
        self.assertEqual((found.runner_capacity, set(found.faults)), (5, {"runner_capacity"}))
        self.assertIn("WOOW_AI_RUNNER_CAPACITY in the environment", found.faults["runner_capacity"])
        # Nothing weaker than what may have been meant.
        found = self._settings("sandbox = off", sandbox="requird")
        self.assertEqual(found.sandbox, "required")
        found = self._settings(section, secret_key="s3cret")
        self.assertEqual((found.secret_key, set(found.faults)), ((), {"secret_key"}))
        self.assertNotIn("s3cret", found.faults["secret_key"])

    def test_variables_of_others_are_none_of_ours(self):
        others = ("service_host", "service_port", "port_8069_tcp_addr", "demo_llm_url")
        found = self._settings("", secret_kye="x", **dict.fromkeys(others, "tcp://10.0.0.1"))
        self.assertEqual(found.unknown, ("WOOW_AI_SECRET_KYE in the environment is unknown.",))
        self.assertFalse(found.faults)

    def test_a_key_on_a_line_of_its_own_is_shown_nowhere(self):
        first, made = (Fernet.generate_key().decode() for _key in range(2))
        for second in (made, re.sub("[^a-zA-Z=]", "x", made)):
            with self.subTest(second):
                self._assert_shown_nowhere(first, second)

    def _assert_shown_nowhere(self, first, second):
        found = self._settings(f"secret_key = {first},\n{second}\n{'z' * 30} = 1")  # behind any key
        self.assertEqual(found.secret_key, (first,))
        self.assertFalse(found.faults)
        self.assertRegex(found.unknown[0], r"^A key in /.*/odoo.conf, line 5 is unknown\.$")
        self.assertTrue(found.unknown[1].startswith(f"{'z' * 20} in "))
        told = f"{self.said} {found.unknown} {found.faults}".lower()
        self.assertFalse([n for n in range(40) if second[n : n + 5].lower() in told])

    def test_no_key_at_all_is_said(self):
        found = self._settings("secret_key =")
        self.assertEqual((len(found.secret_key), found.faults), (1, {}))
        self.assertIn("line 4 is empty: the key in data_dir counts", str(self.said))
        found = self._settings("secret_key = ,")
        self.assertEqual((found.secret_key, set(found.faults)), ((), {"secret_key"}))

    def test_a_key_in_data_dir_that_cannot_be_used_is_a_fault(self):
        for broken, told in (
            (patch.object(os, "link", side_effect=OSError(1, "Not permitted")), "Not permitted"),
            (patch.object(Fernet, "generate_key", return_value=b""), "has no Fernet key"),
        ):
            with self.subTest(told), broken:
                found = self._settings("")
                self.assertEqual((found.secret_key, set(found.faults)), ((), {"secret_key"}))
                self.assertIn(f"woow_ai_secret_key: {told}.", found.faults["secret_key"])

    def test_a_key_that_could_not_be_read_is_looked_for_again(self):
        own = {"config": "", "data_dir": self.enterContext(tempfile.TemporaryDirectory())}
        self.patch(settings, "config", own)
        self.patch(settings._logger, "disabled", True)
        self.enterContext(patch.dict(os.environ))
        os.environ.pop("WOOW_AI_SECRET_KEY", None)
        self.addCleanup(settings.get.cache_clear)
        for seconds, is_found in ((60, False), (-1, True)):
            settings.get.cache_clear()
            self.patch(settings, "RETRY_AFTER", seconds)
            with patch.object(settings, "_made_secret_key", side_effect=OSError(5, "I/O")):
                self.assertFalse(settings.get().secret_key)
            self.assertEqual(bool(settings.secret_keys()), is_found)

    def test_a_key_of_an_earlier_version_is_named_in_the_log_and_is_no_fault(self):
        with patch.object(settings._logger, "warning") as warning:
            found = self._settings("wakeup = redis://:s3cret@host", wakeup="nats://s3cret@host")
        self.assertFalse(found.faults)
        lines = [call.args[0] % call.args[1:] for call in warning.call_args_list]
        self.assertRegex(lines[0], r"^wakeup in /.*/odoo.conf, line 4 is no longer used\. Postgre")
        self.assertRegex(lines[1], r"^WOOW_AI_WAKEUP in the environment is no longer used\.")
        self.assertNotIn("s3cret", str(lines))

    def test_a_secret_key_that_is_none_is_said_and_replaced_by_no_other(self):
        found = self._settings('secret_key = "not a key"')
        self.assertEqual((found.secret_key, set(found.faults)), ((), {"secret_key"}))
        self.enterContext(patch.object(settings, "get", lambda: found))
        Provider = self.env["ai.config"].with_user(self.admin)
        with self.assertRaisesRegex(UserError, "secret_key is not valid") as caught:
            Provider.create({"name": "x", "api_base_url": "http://x", "model": "m", "api_key": "k"})
        self.assertEqual(caught.exception.code, "secret_key_invalid")
        self.assertFalse(vault.opens("gAAAA"))
        shown = self.env["res.config.settings"].create({})
        self.assertIn("is no Fernet key", shown.woow_operator_problem)

    def test_a_spec_says_who_asks(self):
        self.assertEqual(self.server._server_spec(self.member).person, self.member.id)
        self.assertEqual(self.server._server_spec().person, 0)

    def _released(self, *names):
        released = replace(settings.get(), released_env=frozenset(names))
        return patch.object(settings, "get", lambda: released)

    def test_a_key_from_the_environment_is_one_that_the_operator_released(self):
        with patch.dict(os.environ, {"GITHUB_TOKEN": "s3cret-key", "PGPASSWORD": "s3cret-other"}):
            with self._released("GITHUB_TOKEN"):
                self.server.api_key_env = "GITHUB_TOKEN"
                self.assertEqual(self.server._server_spec().api_key, "s3cret-key")
                with self.assertRaises(ValidationError) as caught:
                    self.server.api_key_env = "PGPASSWORD"
                self.assertIn("released_env", str(caught.exception))
            with self._released(), self.assertRaises(ConfigError):
                self.server._server_spec()  # taken back

    def test_a_server_of_a_service_never_gets_the_operators_key(self):
        with self._released("GITHUB_TOKEN"), self.assertRaises(ValidationError):
            self.user_server.with_user(self.owner).api_key_env = "GITHUB_TOKEN"

    def test_a_server_without_its_key_costs_only_its_own_tools(self):
        with self._released("GITHUB_TOKEN"), patch.dict(os.environ):
            os.environ.pop("GITHUB_TOKEN", None)
            self.server.api_key_env = "GITHUB_TOKEN"
            request = self._ask(self.member, service=self.service).sudo()._turn_request()
        self.assertEqual({server.id for server in request.servers}, {self.user_server.id})
        problems = {spec.name: spec.problem for spec in request.tools}
        self.assertEqual(problems["forecast"], "The configuration is not valid.")
        self.assertFalse(problems["run_flow"])

    def test_a_sentence_with_a_name_is_translated_too(self):
        self.env["res.lang"]._activate_lang("zh_TW")
        with self._released("GITHUB_TOKEN"):
            self.server.api_key_env = "GITHUB_TOKEN"
        with self._released(), self.assertRaises(ConfigError) as caught:
            self.server._server_spec()
        chinese = sentences.in_language("zh_TW", str(caught.exception))
        self.assertIn("GITHUB_TOKEN", chinese)
        self.assertNotIn("missing", chinese)

    @mute_logger("odoo.addons.woow_paas_platform.models.mixins.secret_mixin")
    def test_all_secrets_move_to_a_new_key(self):
        old, new = settings.get(), Fernet.generate_key().decode()
        self.server.write({"api_key": "s3cret-key", "headers_json": '{"X": "y"}'})
        self.user_server.api_key_encrypted = "damaged"
        self.env.flush_all()
        both = replace(old, secret_key=(new, *old.secret_key))
        with patch.object(settings, "get", lambda: both):
            done, failed = self.env["woow_paas_platform.secret.mixin"]._rotate_secrets()
        self.assertGreaterEqual(done, 3)
        self.assertEqual(
            failed, [f"woow_paas_platform_mcp_server.api_key_encrypted {self.user_server.id}"]
        )
        with patch.object(settings, "get", lambda: replace(old, secret_key=(new,))):
            self.assertEqual(self.server._read_secret("api_key"), "s3cret-key")
            self.assertEqual(self.server._read_secret("headers_json"), '{"X": "y"}')
            self.assertEqual(self.provider._read_secret("api_key"), "sk-provider-secret")
