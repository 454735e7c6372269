"""Packages of Debian's archive, unpacked below a folder; nothing is installed on the system.

apt works in a private root with one line for one suite, at the mirror that this machine uses already, and checks the
signature of the archive.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dev.commands import run
from dev.progress import DevError

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# What apt believes to be there in any version that is asked for; it gets neither that nor what only that needs.
INSTALLED = """Package: {name}
Status: install ok installed
Version: 999
Architecture: {machine}
Multi-Arch: same
Maintainer: none
Description: none

"""


def download(
    apt: Path,
    suite: str,
    packages: Sequence[str],
    *,
    dependencies: bool = False,
    without: Sequence[str] = (),
) -> list[Path]:
    """The files of ``packages`` in Debian's ``suite``.

    :param apt: the private root, an absent folder
    :param dependencies: also what they depend on, down to the C library
    :param without: dependencies that are left out, with all that only they need
    """
    if not KEYRING.exists():
        raise DevError(
            f"{KEYRING} is missing: install debian-archive-keyring, or point ODOO_HOME at an Odoo 19."
        )
    for name in ("lists/partial", "cache/archives/partial", "etc/parts", "debs"):
        (apt / name).mkdir(parents=True)
    (apt / "etc/sources.list").write_text(f"deb [signed-by={KEYRING}] {_mirror()} {suite} main\n")
    machine = run(["dpkg", "--print-architecture"], what="Reading this machine's kind").strip()
    installed = (INSTALLED.format(name=name, machine=machine) for name in without)
    (apt / "status").write_text("".join(installed))
    options = {
        "Dir::State::Lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "Dir::Etc::sourcelist": apt / "etc/sources.list",
        "Dir::Etc::sourceparts": apt / "etc/parts",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": apt / "etc/parts",
        "APT::Sandbox::User": "",
        "APT::Install-Recommends": "false",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
    }
    flags = [flag for key, value in options.items() for flag in ("-o", f"{key}={value}")]
    run(["apt-get", *flags, "update"], what=f"Reading the list of Debian {suite}")
    get = ["install", "--download-only", "-y"] if dependencies else ["download"]
    what = f"Downloading {packages[0]} of Debian {suite}"
    run(["apt-get", *flags, *get, *packages], what=what, cwd=apt / "debs")
    folder = apt / ("cache/archives" if dependencies else "debs")
    return sorted(folder.glob("*.deb"))


def _mirror() -> str:
    """Address of the Debian mirror in this machine's own apt set-up."""
    seen = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(ORIGIN)|$(LABEL)"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    for line in seen:
        uri, _, origin = line.partition("|")
        if origin == "Debian|Debian":
            return uri
    # Before the first "apt-get update" apt knows no targets, so its source files are read.
    folder = Path("/etc/apt")
    for source in sorted([*folder.glob("sources.list"), *folder.glob("sources.list.d/*")]):
        for found in re.finditer(
            r"^(?:URIs:|deb(?:\s+\[[^\]]*\])?)\s+(\S+)", source.read_text(), re.M
        ):
            if re.search(r"/debian/?$", found[1]):
                return found[1]
    raise DevError(
        "No Debian mirror is set up on this machine: point ODOO_HOME at an Odoo 19 that you have."
    )


def unpack(deb: Path, tree: Path, leave_out: Sequence[str] = ()) -> None:
    """The files of ``deb`` below ``tree``, but for those that match a pattern."""
    tree.mkdir(exist_ok=True)
    leave = [f"--exclude={pattern}" for pattern in leave_out]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as data:
        done = subprocess.run(
            ["tar", "-x", "-C", str(tree), "--no-same-owner", "--wildcards", *leave],
            stdin=data.stdout,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode or data.returncode:
        raise DevError(f"Unpacking {deb.name} failed:\n{done.stderr}")
