"""Filters of system calls (seccomp(2)) as programs for the kernel, built by hand: no library of Debian's is in Python.

A call is compared by its number, which differs by machine. Where we know none, there is no filter.
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PR_SET_SECCOMP = 22  # prctl(2)
MODE_FILTER = 2
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000  # seccomp(2), actions
# Fields of `struct seccomp_data`; of an argument the lower half, on machines whose bytes are in this order.
NUMBER, MACHINE, ARGUMENTS = 0, 4, 16
LOAD, AND, EQUAL, ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x45, 0x06  # bpf_common.h

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
X32 = 0x40000000  # a bit of the number, of calls that x86_64 has a second time
# By name: the number on x86_64 and on aarch64, which lacks those that newer ones replace.
CALLS: Mapping[str, tuple[int, int | None]] = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "poll": (7, None),
    "lseek": (8, 62), "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "ioctl": (16, 29),
    "readv": (19, 65), "writev": (20, 66), "sched_yield": (24, 124), "mremap": (25, 216),
    "madvise": (28, 233), "nanosleep": (35, 101), "getpid": (39, 172), "socket": (41, 198),
    "clone": (56, 220), "exit": (60, 93), "getrusage": (98, 165), "ptrace": (101, 117),
    "sigaltstack": (131, 132), "pivot_root": (155, 41), "acct": (163, 89), "mount": (165, 40),
    "umount2": (166, 39), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
    "init_module": (175, 105), "delete_module": (176, 106), "quotactl": (179, 60), "gettid": (186, 178),
    "futex": (202, 98), "sched_getaffinity": (204, 123), "restart_syscall": (219, 128),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115),
    "exit_group": (231, 94), "tgkill": (234, 131), "kexec_load": (246, 104), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "unshare": (272, 97), "set_robust_list": (273, 99),
    "perf_event_open": (298, 241), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "setns": (308, 268), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "finit_module": (313, 273), "getrandom": (318, 278),
    "kexec_file_load": (320, 294), "bpf": (321, 280), "userfaultfd": (323, 282), "rseq": (334, 293),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "clone3": (435, 435), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "mount_setattr": (442, 442),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """Action of a filter on a system call.

    :ivar argument: which of its arguments counts, from 0; None for none
    :ivar bits: the rule counts only where the argument has one of them
    :ivar values: the rule counts only where the argument is none of them
    """

    call: str
    action: int
    argument: int | None = None
    bits: int = 0
    values: tuple[int, ...] = ()


def refused(number: int = errno.EPERM) -> int:
    """The action that lets a call fail.

    :param number: of the error that the program sees
    """
    return ERRNO | number


def program(rules: Iterable[Rule], otherwise: int, *, machine: str = "") -> bytes:
    """Instructions for the kernel; none (``b""``) for a machine that we do not know.

    :param otherwise: what becomes of calls without a rule
    """
    machine = machine or platform.machine()
    if machine not in MACHINES:
        return b""
    column = list(MACHINES).index(machine)
    steps = [
        _step(LOAD, MACHINE),
        _step(EQUAL, MACHINES[machine], 1, 0),
        _step(RETURN, KILL),
        _step(LOAD, NUMBER),
    ]
    if machine == "x86_64":
        steps += [_step(ANY_BIT, X32, 0, 1), _step(RETURN, refused())]
    for rule in rules:
        number = CALLS[rule.call][column]
        if number is not None:
            body = _body(rule)
            steps += [_step(EQUAL, number, 0, len(body)), *body]
    return b"".join([*steps, _step(RETURN, otherwise)])


def _body(rule: Rule) -> list[bytes]:
    """The steps of a rule, after which the number is loaded again."""
    end = _step(RETURN, rule.action)
    if rule.argument is None:
        return [end]
    load = _step(LOAD, ARGUMENTS + 8 * rule.argument)
    if rule.bits:
        tests = [_step(ANY_BIT, rule.bits, 0, 1)]
    else:
        most = len(rule.values)
        tests = [_step(EQUAL, value, most - place, 0) for place, value in enumerate(rule.values)]
    return [load, *tests, end, _step(LOAD, NUMBER)]


def _step(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    """One ``struct sock_filter``."""
    return struct.pack("HBBI", code, when_true, when_false, value)


def is_known_to_kernel() -> bool:
    """True if the kernel takes filters: it then complains of the missing address, not of the mode."""
    libc = ctypes.CDLL(None, use_errno=True)
    if platform.machine() not in MACHINES:
        return False
    return libc.prctl(PR_SET_SECCOMP, MODE_FILTER, None) != 0 and ctypes.get_errno() == errno.EFAULT
