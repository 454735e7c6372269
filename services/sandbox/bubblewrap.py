"""Sandboxes of bubblewrap: a program in namespaces of its own, with nothing of this host in reach but what it needs.

It finds `/usr`, what of `/etc` names hosts and certificates, its own folders, and those that it works in. It sees no
other process and, unless it needs one, no network; it gains no privileges, makes no namespaces, and has limits.
"""

import functools
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..specs import SandboxSpec
from . import seccomp

PACKAGE = "/package"  # where a program that was fetched finds its package
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64")  # links into /usr, or folders of their own
OF_ETC = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "gai.conf", "host.conf", "hosts"),
    *("group", "ld.so.cache", "localtime", "nsswitch.conf", "passwd", "pki", "protocols"),
    *("resolv.conf", "services", "ssl", "timezone"),
)
TEMPORARY = 256 * 1024 * 1024  # bytes of /tmp
LIMITS = {
    "core": 0,
    "nofile": 1024,
    "nproc": 512,
    "fsize": 1 << 30,
    "data": 4 << 30,
}  # setrlimit(2)
TRY_AGAIN = 60.0  # s after which a host that allowed no sandbox is asked again
PROBE_TIME = 10.0  # s

EAFNOSUPPORT, ENOSYS = 97, 38
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW* of clone(2)
FAMILIES = (1, 2, 10, 16)  # of sockets: unix, IPv4, IPv6, netlink
# What leads out of namespaces, into other processes or deep into the kernel; Docker's default refuses these, too.
REFUSED = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd"),
    *("mount", "umount2", "pivot_root", "unshare", "setns", "open_tree", "move_mount", "fsopen"),
    *("fsconfig", "fsmount", "fspick", "mount_setattr", "name_to_handle_at", "open_by_handle_at"),
    *("add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot"),
    *("swapon", "swapoff", "acct", "quotactl"),
)
RULES = (
    *(seccomp.Rule(call, seccomp.refused()) for call in REFUSED),
    # These two have others to fall back on, which a filter can read.
    *(
        seccomp.Rule(f"io_uring_{call}", seccomp.refused(ENOSYS))
        for call in ("setup", "enter", "register")
    ),
    seccomp.Rule("clone3", seccomp.refused(ENOSYS)),
    seccomp.Rule("clone", seccomp.refused(), argument=0, bits=NEW_NAMESPACES),
    seccomp.Rule("socket", seccomp.refused(EAFNOSUPPORT), argument=0, values=FAMILIES),
)


class _Probe:
    """Question to this host whether it allows sandboxes, one at a time; a yes stays, a no is asked for again."""

    def __init__(self):
        self._problem: str | None = None
        self._until = 0.0
        self._asking = threading.Lock()

    def look(self) -> str:
        with self._asking:
            if self._is_old():
                self._ask()
            return self._problem or ""

    def known(self) -> str | None:
        if self._is_old() and self._asking.acquire(blocking=False):
            threading.Thread(target=self._ask_and_release, name="sandbox", daemon=True).start()
        return self._problem

    def _is_old(self) -> bool:
        return time.monotonic() >= self._until

    def _ask(self) -> None:
        self._problem = _try()
        self._until = time.monotonic() + TRY_AGAIN if self._problem else float("inf")

    def _ask_and_release(self) -> None:
        try:
            self._ask()
        finally:
            self._asking.release()


_probe = _Probe()


def problem() -> str:
    """Reason why this host allows no sandbox, for the log, or ``""``. It may start a program, and wait for it."""
    return _probe.look()


def known_problem() -> str | None:
    """The same without waiting; None while it is asked for the first time."""
    return _probe.known()


def _try() -> str:
    filters = calls()
    if not filters or not seccomp.is_known_to_kernel():
        return "The kernel has no filters of system calls for this machine."
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed."
    with os.fdopen(file_of(filters), "rb") as file:
        command = wrapped(SandboxSpec(network=False), ["/usr/bin/true"], {}, file.fileno())
        try:
            done = subprocess.run(  # noqa: S603 our own program
                command,
                pass_fds=[file.fileno()],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PROBE_TIME,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    return (
        done.stderr.strip()[-500:] or f"bwrap ended with {done.returncode}."
        if done.returncode
        else ""
    )


@functools.cache
def calls() -> bytes:
    """The filter of system calls; empty for a machine that we do not know."""
    return seccomp.program(RULES, seccomp.ALLOW)


def file_of(content: bytes) -> int:
    """A descriptor from which `content` can be read, by a program that inherits it; its caller closes it."""
    file = os.memfd_create("sandbox")
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def wrapped(
    box: SandboxSpec,
    command: Sequence[str],
    environment: Mapping[str, str],
    filters: int,
    *,
    package: str = "",
    is_fetching: bool = False,
) -> list[str]:
    """The command that runs another one in a sandbox.

    :param environment: the program's, for where programs are found
    :param filters: the descriptor of `calls`
    :param package: folder that the program finds at `PACKAGE`
    :param is_fetching: whether that folder is filled now, from the network
    """
    bwrap = shutil.which("bwrap", path=environment.get("PATH")) or "bwrap"
    options = [bwrap, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    options += ["--unshare-cgroup-try", "--die-with-parent", "--cap-drop", "ALL"]
    if not (box.network or is_fetching):
        options.append("--unshare-net")
    readable = _readable(command, environment)
    readable += [place for path in box.readable for place in _places(Path(path))]
    if box.runtime == "node":  # a package's program is not there yet to be asked what it runs in
        readable += _readable(["node"], environment)
    if is_fetching:
        readable += [Path("/etc/npmrc"), Path("/etc/uv"), *_own_settings(environment)]
    options += [*_system(), "--proc", "/proc", "--dev", "/dev"]
    options += ["--size", str(TEMPORARY), "--tmpfs", "/tmp"]  # noqa: S108 its own
    mounted = [
        path
        for path in dict.fromkeys(readable)
        if os.path.exists(path) and not _is_of_system(path)  # pathlib's fails at what is closed
    ]
    for path in sorted(mounted):
        options += ["--ro-bind", str(path), str(path)]
    hidden = list(_hidden(box.hidden, [Path("/usr"), *mounted]))
    for path, is_folder in hidden:
        options += ["--tmpfs", path] if is_folder else ["--ro-bind", "/dev/null", path]
    for folder in () if is_fetching else box.folders:  # which may lie in one that is hidden
        options += ["--bind", folder, folder]
    for path in (path for path, is_folder in hidden if is_folder):
        options += ["--remount-ro", path]
    if package:
        options += ["--bind" if is_fetching else "--ro-bind", package, PACKAGE]
    options += ["--remount-ro", "/"]
    options += ["--setenv", "HOME", "/tmp", "--setenv", "TMPDIR", "/tmp"]  # noqa: S108
    options += ["--unsetenv", "LD_LIBRARY_PATH", "--chdir", PACKAGE if is_fetching else "/tmp"]  # noqa: S108
    options += ["--seccomp", str(filters), "--", "/usr/bin/prlimit"]
    return [*options, *(f"--{name}={most}" for name, most in LIMITS.items()), "--", *command]


def _system() -> Iterable[str]:
    """Mounts of what each program of this host needs."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for name in OF_ETC:
        path = Path("/etc", name)
        if path.exists():
            yield from ("--ro-bind", os.path.realpath(path), str(path))


def _is_of_system(path: Path) -> bool:
    return path.parts[1:2] in [("usr",), *((name,) for name in SYSTEM)]


def _readable(command: Sequence[str], environment: Mapping[str, str]) -> list[Path]:
    """Folders of a program, of the interpreter that its first line names, and of all that links lead over."""
    found: list[Path] = []
    program = shutil.which(command[0], path=environment.get("PATH"))
    while program and Path(program) not in found:
        path = Path(program)
        found.append(path)
        while path.is_symlink():
            path = path.parent / path.readlink()
            found.append(Path(os.path.normpath(path)))
        program = _interpreter(path, environment)
    return [place for path in found for place in _places(path)]


def _interpreter(program: Path, environment: Mapping[str, str]) -> str | None:
    try:
        with program.open("rb") as file:
            head = file.read(256)
    except OSError:
        return None
    words = head.partition(b"\n")[0].removeprefix(b"#!").decode(errors="replace").split()
    if not head.startswith(b"#!") or not words:
        return None
    if Path(words[0]).name != "env":
        return words[0]
    named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), None)
    return named and shutil.which(named, path=environment.get("PATH"))


def _places(path: Path) -> list[Path]:
    """Paths that belong to a file: its `node_modules`, or the folders beside its `bin`; else it alone.

    Not `share` of a home, where keyrings and everybody else's data lie.
    """
    if "node_modules" in path.parts:
        return [Path(*path.parts[: path.parts.index("node_modules") + 1])]
    if path.parent.name != "bin":
        return [path]
    prefix = path.parent.parent
    beside = ["lib", "lib64", "libexec", "pyvenv.cfg", *(["share"] * (prefix.name != ".local"))]
    return [path.parent, *(prefix / name for name in beside)]


def _own_settings(environment: Mapping[str, str]) -> Iterable[Path]:
    """Settings of this user for what fetches packages: where from, and with which key."""
    if home := environment.get("HOME"):
        yield from (Path(home, ".npmrc"), Path(home, ".config/uv"))


def _hidden(paths: Iterable[str], mounted: Sequence[Path]) -> Iterable[tuple[str, bool]]:
    """Paths in a folder that a program needs which are no program's business, and whether each is a folder."""
    for real in map(os.path.realpath, paths):
        for place in mounted:
            root = os.path.realpath(place)
            if Path(real).is_relative_to(root) and os.path.exists(real):
                yield str(place / os.path.relpath(real, root)), os.path.isdir(real)
