"""The archive that `make package` makes: all of the addon, and nothing that serves development only."""

import ast
import fnmatch
import os.path
import re
import subprocess
import zipfile
from pathlib import PurePosixPath

import pytest

from dev.checks import package
from dev.paths import ADDON, ROOT

DEVELOPMENT = ("dev", "benchmarks", "tests/core", "tests/e2e", "tests/conformance", ".ci")
DEVELOPMENT_FILES = {"Makefile", "package.json", "package-lock.json", "pyproject.toml", ".npmrc"}
MANIFEST = ast.literal_eval((ROOT / "__manifest__.py").read_text())
LARGEST = 6_000_000  # bytes


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The text of each file below the addon's folder; of what is no text an empty one."""
    archive = package.build(tmp_path_factory.mktemp("package"))
    assert archive.name == f"{ADDON}-{MANIFEST['version']}.zip"
    assert archive.stat().st_size < LARGEST
    found = {}
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            folder, _slash, path = name.partition("/")
            assert folder == ADDON
            if not name.endswith("/"):
                found[path] = opened.read(name).decode(errors="ignore")
    return found


def _is_module(path, files):
    return bool({f"{path}.py", f"{path}/__init__.py"} & files.keys())


def test_nothing_for_development_only(files):
    assert not [name for name in files if name.startswith(DEVELOPMENT)]
    assert not DEVELOPMENT_FILES & files.keys()
    assert not [name for name in files if name.startswith(".")]


def test_the_licence_that_the_manifest_names(files):
    assert MANIFEST["license"] == "LGPL-3"
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in files["LICENSE"]
    assert "GNU GENERAL PUBLIC LICENSE" in files["COPYING"]  # which the former supplements


def test_all_that_the_manifest_names(files):
    patterns = [*MANIFEST["data"], *MANIFEST["demo"], "i18n/zh_TW.po", "data/neutralize.sql"]
    patterns += ["static/description/icon.png", "static/description/index.html", "migrations/*"]
    for bundle in MANIFEST["assets"].values():
        names = [item if isinstance(item, str) else item[-1] for item in bundle]
        prefix = f"{ADDON}/"
        patterns += [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    missing = [
        pattern
        for pattern in patterns
        if not fnmatch.filter(files, pattern.replace("/**/", "/").replace("**", "*"))
    ]
    assert missing == []


def test_what_cannot_live_beside_it_is_excluded():
    assert MANIFEST["excludes"] == ["ai_base_gt"]


def test_each_import_of_the_addon_is_met(files):
    missing = []
    for name, text in files.items():
        if not name.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.level:
                folder = PurePosixPath(name).parents[node.level - 1]
                base = folder.joinpath(*(node.module or "").split("."))
                if not (
                    _is_module(base, files)
                    or all(_is_module(base / one.name, files) for one in node.names)
                ):
                    missing.append(f"{name}:{node.lineno}")
            elif isinstance(node, ast.Import | ast.ImportFrom):
                modules = [getattr(node, "module", None) or one.name for one in node.names]
                if {module.split(".")[0] for module in modules} & {"dev", "benchmarks"}:
                    missing.append(f"{name}:{node.lineno}")
    assert missing == []


# Loaded by the chat, or with it.
BESIDE = {  # bundles that are loaded before it
    f"{ADDON}.assets_chat_dialogs": (f"{ADDON}.assets_chat",),
    f"{ADDON}.assets_questions": (f"{ADDON}.assets_chat",),
    f"{ADDON}.assets_decisions": (f"{ADDON}.assets_chat", f"{ADDON}.assets_questions"),
}


def _scripts(bundle, files):
    """Those of a bundle, with the ones that it includes."""
    found = set()
    for item in MANIFEST["assets"].get(bundle, ()):
        if isinstance(item, str):
            pattern = item.removeprefix(f"{ADDON}/").replace("/**/", "/")
            found |= set(fnmatch.filter(files, pattern))
        elif item[0] == "include":
            found |= _scripts(item[1], files)
        elif item[0] == "remove":
            found -= set(fnmatch.filter(found, item[1].removeprefix(f"{ADDON}/")))
    return {name for name in found if name.endswith(".js")}


@pytest.mark.parametrize("bundle", [name for name in MANIFEST["assets"] if "test" not in name])
def test_each_bundle_has_what_its_scripts_import(files, bundle):
    """Without one of them none of the bundle's modules is loaded, and its page stays empty."""
    scripts = _scripts(bundle, files)
    there = scripts | (_scripts("web.assets_backend", files) if "backend" in bundle else set())
    there = there.union(*(_scripts(before, files) for before in BESIDE.get(bundle, ())))
    missing = [
        f"{name}: {path}"
        for name in scripts
        for path in re.findall(r'from "(\.{1,2}/[^"]+)"', files[name])
        if os.path.normpath(PurePosixPath(name).parent / f"{path}.js") not in there
    ]
    assert missing == []


def test_each_link_of_the_documents_leads_somewhere(files):
    dead = []
    for name, text in files.items():
        if not name.endswith((".md", "index.html")):
            continue
        links = re.findall(r"\]\(([^)\s#]+)", text) + re.findall(r'(?:src|href)="([^"#]+)"', text)
        for link in links:
            target = os.path.normpath(PurePosixPath(name).parent / link)
            if ":" not in link and target not in files:
                dead.append(f"{name}: {link}")
    assert dead == []


def test_a_file_that_git_does_not_know_is_told(tmp_path, monkeypatch, capsys):
    def git(*arguments):
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--quiet")
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "__manifest__.py").write_text(repr(MANIFEST))
    git("add", ".")
    git("commit", "--quiet", "--message", "Begin")
    monkeypatch.setattr(package, "ROOT", tmp_path)
    monkeypatch.setattr(package.build, "__defaults__", (tmp_path / "dist",))
    (tmp_path / "known.log").touch()
    package.main()
    assert "git does not know" not in "".join(capsys.readouterr())
    (tmp_path / "models").mkdir()
    for name in ("models/new one.py", "forgotten.py"):
        (tmp_path / name).touch()
    assert {"forgotten.py", "models/new one.py"} <= set(package._untracked())
    package.main()
    said = "".join(capsys.readouterr())
    assert "forgotten.py" in said and "models/new one.py" in said
    assert "known.log" not in said
