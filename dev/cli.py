"""The commands behind the Makefile."""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from dev.cache import try_lock
from dev.checks import compatibility, lint, package, pictures, runners
from dev.demo import demo
from dev.paths import DEV, ROOT
from dev.progress import DevError, say, warn
from dev.servers.instance import Instance, prepare_links
from dev.setup import node, odoo_venv, wkhtmltopdf


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m dev", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("setup", help="get Odoo, the Python and Node environments").set_defaults(
        run=_setup
    )
    commands.add_parser("demo", help="start the whole demo").set_defaults(
        run=lambda _options: demo.run_demo()
    )
    test = commands.add_parser("test", help="run every test, or those of one runner")
    test.add_argument("--only", choices=runners.RUNNERS)
    test.add_argument(
        "--beside",
        type=lambda names: names.split(","),
        default=[],
        help="modules of Odoo that are there, too, for --only odoo, with commas between them",
    )
    test.add_argument("arguments", nargs="*", help="more arguments for pytest, after --")
    test.set_defaults(
        run=lambda options: runners.run_tests(options.only, options.arguments, options.beside)
    )
    tried = commands.add_parser("compatibility", help="try the addon in other people's Odoos")
    tried.add_argument("names", nargs="*", help="of dev/setup/environments.py")
    tried.set_defaults(run=lambda options: compatibility.run_all(options.names))
    odoo = commands.add_parser("odoo", help="run odoo-bin with a development database")
    odoo.add_argument("args", nargs=argparse.REMAINDER)
    odoo.set_defaults(run=_odoo)
    commands.add_parser("i18n", help="export and merge the terms").set_defaults(run=_i18n)
    simulate = commands.add_parser("simulate", help="run simulated worlds, see docs/simulation.md")
    simulate.add_argument("seeds")
    simulate.add_argument("--mutants", action="store_true")
    simulate.set_defaults(run=_simulate)
    commands.add_parser("lint", help="run every linter").set_defaults(
        run=lambda _options: lint.run_lint()
    )
    commands.add_parser("format", help="let the formatters write").set_defaults(
        run=lambda _options: lint.run_format()
    )
    commands.add_parser("package", help="make the archive of the addon").set_defaults(
        run=lambda _options: package.main()
    )
    commands.add_parser("pictures", help="take the pictures of the docs again").set_defaults(
        run=lambda _options: pictures.take()
    )
    commands.add_parser("clean", help="remove .dev, leave the cache").set_defaults(run=_clean)
    options = parser.parse_args(argv)
    try:
        return int(options.run(options) or 0)
    except DevError as error:
        warn(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


def _setup(_options: argparse.Namespace) -> None:
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="setup") as pool:
        pdf = pool.submit(wkhtmltopdf.folder)
        node.node_modules()
        odoo_venv.main()
        pdf.result()
    prepare_links()
    say(
        "Set up. Next: make demo, make test, make lint, or make odoo ARGS='-i woow_paas_platform --stop-after-init'."
    )


def _odoo(options: argparse.Namespace) -> int:
    """odoo-bin with the database of ``DB_NAME`` (default ``dev``) in this checkout's development cluster."""
    odoo_venv.main()
    instance = Instance("dev", os.environ.get("DB_NAME", "dev"))
    instance.postgres.start()
    try:
        instance.write_config(
            {"http_port": instance.port("http", 8069), "gevent_port": instance.port("gevent", 8072)}
        )
        args = options.args[1:] if options.args[:1] == ["--"] else options.args
        return subprocess.call(
            [str(arg) for arg in instance.odoo(*args)],
            env={**os.environ, **instance.postgres.environment},
        )
    finally:
        instance.postgres.stop()


def _i18n(_options: argparse.Namespace) -> int:
    return subprocess.call(
        [str(odoo_venv.main() / "bin/python"), "-m", "dev.checks.i18n"], cwd=ROOT
    )


def _simulate(options: argparse.Namespace) -> int:
    mutants = ["--mutants"] if options.mutants else []
    program = [odoo_venv.main() / "bin/python", "-m", "sim", options.seeds, *mutants]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.call(
        [str(part) for part in program], cwd=ROOT / "tests/core", env=environment
    )


def _clean(_options: argparse.Namespace) -> None:
    for lock in (DEV / "run").glob("*.lock"):
        with try_lock(lock) as free:
            if not free:
                raise DevError(f"{lock.stem} still runs in this checkout: end it first.")
    shutil.rmtree(DEV, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
