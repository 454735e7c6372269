"""Documents that people attach: read page by page in a process of its own, or refused with a reason."""

import ctypes
import os
import threading
import time
import zlib
from types import SimpleNamespace

import pytest
import samples
from processor_time import moments

from services import errors, packages
from services.documents import const, pictures, reader
from services.sandbox import seccomp

LOCKED = "EncryptedPackage".encode("utf-16-le")


def test_a_pdf_is_read_by_page():
    document = reader.read(samples.pdf("One", "Two", ""))
    assert document == reader.Document("pdf", 3, ("One", "Two", ""))


def test_word_is_read_by_the_pages_that_were_broken():
    document = reader.read(samples.word())
    assert (document.kind, document.count) == ("docx", 2)
    assert document.pages == ("合約 first page", "second page\nitem | price\n茶 | 30")


MC = b'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
RUN = b"<w:r><w:t>%s</w:t></w:r>"
BOX = b"<w:txbxContent><w:p>%s</w:p><w:p>%s</w:p></w:txbxContent>" % (RUN % b"one", RUN % b"two")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<w:t>x</w:t><w:drawing>%s</w:drawing><w:t>y</w:t>" % BOX, "x\none\ntwo\ny"),
        (
            b"<mc:AlternateContent %s><mc:Choice Requires='wps'>%s</mc:Choice>"
            b"<mc:Fallback><w:pict>%s</w:pict></mc:Fallback></mc:AlternateContent>"
            % (MC, BOX, BOX),
            "one\ntwo",
        ),
    ],
)
def test_a_text_box_of_word_stands_in_lines_of_its_own(content, said):
    assert word_with(b"<w:p><w:r>%s</w:r></w:p>" % content) == said


@pytest.mark.parametrize(
    "content",
    [
        b"<w:moveFrom w:id='1' w:author='a'>%s</w:moveFrom>" % (RUN % b"moved ")
        + RUN % b"stays "
        + b"<w:moveTo w:id='2' w:author='a'>%s</w:moveTo>" % (RUN % b"moved"),
        RUN % b"stays"
        + b"<w:del w:id='1' w:author='a'><w:r><w:delText>gone</w:delText><w:br/><w:tab/></w:r></w:del>"
        + b"<w:ins w:id='2' w:author='a'>%s</w:ins>" % (RUN % b" moved"),
        b"<w:del w:id='1' w:author='a'><w:r><w:pict>%s</w:pict></w:r></w:del>" % BOX
        + RUN % b"stays moved",
    ],
)
def test_what_was_moved_or_deleted_in_word_is_not_read(content):
    assert word_with(b"<w:p>%s</w:p>" % content) == "stays moved"


def word_with(paragraph):
    """What is read of a Word file that begins with this paragraph."""

    def change(xml):
        return xml.replace(b"<w:body>", b"<w:body>" + paragraph)

    document = reader.read(samples.changed(samples.word(), "word/document.xml", change))
    return document.pages[0].removesuffix("\n合約 first page").strip()


def test_a_line_break_in_a_slide_parts_words():
    broken = b"<a:r><a:t>Sales</a:t></a:r><a:br/><a:fld id='{0}' type='x'><a:t>Costs</a:t></a:fld><a:br/>"
    fallback = (
        b"<mc:AlternateContent %s><mc:Choice Requires='a'><a:r><a:t>!</a:t></a:r></mc:Choice>"
        b"<mc:Fallback><a:r><a:t>twice</a:t></a:r></mc:Fallback></mc:AlternateContent>" % MC
    )

    def change(xml):
        return xml.replace("<a:r><a:t>季報</a:t></a:r>".encode(), broken + fallback)

    document = reader.read(samples.changed(samples.slides(), "ppt/slides/slide1.xml", change))
    assert document.pages[0] == "Sales\nCosts\n!\nAbout 季報\nSmile."


def test_a_row_of_a_slide_is_a_line():
    table = (
        b"<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr>%s</a:tr></a:tbl>"
        b"</a:graphicData></a:graphic></p:graphicFrame></p:spTree>"
    )
    cell = b"<a:tc><a:txBody><a:p><a:r><a:t>%s</a:t></a:r><a:br/><a:r><a:t>%s</a:t></a:r></a:p></a:txBody></a:tc>"

    def change(xml):
        cells = cell % (b"a", b"b") + cell % (b"c", b"d")
        return xml.replace(b"</p:spTree>", table % cells)

    document = reader.read(samples.changed(samples.slides(), "ppt/slides/slide1.xml", change))
    assert "\na b | c d\n" in document.pages[0]


def test_slides_come_with_their_notes():
    document = reader.read(samples.slides())
    assert (document.kind, document.count) == ("pptx", 2)
    assert document.pages[0] == "季報\nAbout 季報\nSmile."


def test_sheets_are_read_by_row():
    document = reader.read(samples.sheets())
    assert (document.kind, document.count) == ("xlsx", 3)
    assert document.pages[:2] == ("銷售:\nTea\t3\t\t4.5", "")
    assert document.pages[2].split() == ["Far:", "corner"]


def test_of_a_long_document_the_first_pages_are_read():
    document = reader.read(samples.pdf(*(f"Page {number}" for number in range(500))))
    assert document.count == 500
    assert len(document.pages) == const.MAX_PAGES


def test_of_much_text_the_beginning_is_read():
    long = b"<w:t>%s</w:t></w:r></w:p>" % (b"x" * 5_000) + b"<w:p><w:r><w:t>y</w:t></w:r></w:p>" * 9
    many = (b"<w:p><w:r>" + long) * 100
    file = samples.changed(
        samples.word(),
        "word/document.xml",
        lambda xml: xml.replace(b"<w:body>", b"<w:body>" + many),
    )
    document = reader.read(file)
    assert sum(map(len, document.pages)) == const.MAX_CHARACTERS


@pytest.mark.parametrize(
    ("file", "error"),
    [
        (samples.pdf("One", password="secret"), errors.FileEncrypted),
        (reader.COMPOUND + b"\0" * 500 + LOCKED, errors.FileEncrypted),
        (reader.COMPOUND + b"\0" * 500, errors.UnsupportedFile),
        (samples.pdf("", ""), errors.FileWithoutText),
        (samples.pdf("One")[:400], errors.FileUnreadable),
        (b"%PDF-1.7 \xff\xff", errors.FileUnreadable),
        (samples.word()[:-200], errors.FileUnreadable),
        (
            samples.archive(**{"[Content_Types].xml": b"<a/>", "word/a": b"a"}),
            errors.FileUnreadable,
        ),
        (samples.archive(**{"a.txt": b"a"}), errors.UnsupportedFile),
    ],
    ids=[
        "pdf with a password",
        "office file with a password",
        "doc of 1997",
        "scanned",
        "cut pdf",
        "no pdf",
        "cut docx",
        "no docx",
        "zip",
    ],
)
def test_what_cannot_be_read_says_why(file, error):
    with pytest.raises(error) as refused:
        reader.read(file)
    assert type(refused.value) is error


def bombs():
    word, sheets = samples.word(), samples.sheets()
    spaces = zlib.compress(zlib.compress(b" " * 300_000_000, 9), 9)
    yield (
        "archive of 200 MB",
        samples.archive(
            **{"[Content_Types].xml": b"<a/>", "word/document.xml": b" " * 200_000_000}
        ),
    )
    yield "archive of 5 000 files", samples.archive(**{f"{i}": b"" for i in range(5_000)})
    yield "stream of a PDF", samples.pdf_of(spaces, b"[/FlateDecode/FlateDecode]")
    yield "page of a PDF", samples.pdf_of(samples.text_stream(3_000_000))
    laughs = samples.billion_laughs()
    yield "entities of Word", samples.with_entity(word, "word/document.xml", laughs, "合約")
    yield (
        "entities of Excel",
        samples.with_entity(sheets, "xl/worksheets/sheet1.xml", laughs, "4.5"),
    )
    paragraph = b"<w:p><w:r><w:t>x</w:t></w:r></w:p>"
    yield (
        "paragraphs",
        samples.changed(
            word,
            "word/document.xml",
            lambda xml: xml.replace(b"<w:body>", b"<w:body>" + paragraph * 3_000_000),
        ),
    )


@pytest.mark.parametrize(("file"), [pytest.param(file, id=name) for name, file in bombs()])
def test_a_bomb_costs_its_own_process(file):
    began = time.monotonic()
    with pytest.raises(errors.FileError):
        reader.read(file)
    assert time.monotonic() - began < const.WALL_SECONDS + 5


def test_a_page_of_any_size_is_only_read():
    assert reader.read(samples.pdf_of(samples.text_stream(), box="[0 0 1e30 1e30]")).pages == (
        "Hello",
    )


def test_no_document_reads_other_files(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("XYLOPHONE")
    foreign = f'<!ENTITY g SYSTEM "{secret.as_uri()}">'.encode()
    for file, part, word in (
        (samples.word(), "word/document.xml", "合約"),
        (samples.slides(), "ppt/slides/slide1.xml", "季報"),
        (samples.sheets(), "xl/worksheets/sheet1.xml", "4.5"),
    ):
        try:
            found = str(reader.read(samples.with_entity(file, part, foreign, word)))
        except errors.FileUnreadable:
            found = ""
        assert "XYLOPHONE" not in found


# A document that has got hold of its reader, as a fault of a library would let it.
ESCAPE = """
import ctypes, errno, importlib.util, json, os, resource, signal, socket, subprocess, sys, threading
folder = sys.argv[1]
sys.path[:] = json.loads(sys.argv[2])
spec = importlib.util.spec_from_file_location(
    "woow_documents", folder + "/__init__.py", submodule_search_locations=[folder]
)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
child = importlib.import_module("woow_documents.child")
class Evil:
    def read(self, data):
        done = []
        for name, act in {
            "file": lambda: open("/etc/hostname"),
            "write": lambda: os.open("/tmp/woow-evil", os.O_CREAT | os.O_WRONLY),
            "socket": lambda: socket.socket(),
            "program": lambda: subprocess.run(["/bin/true"], stdin=0, stdout=1, stderr=2),
            "environment": lambda: os.environ["PATH"],
            "signal": lambda: os.kill(os.getppid(), 0),
            "const": lambda: resource.setrlimit(resource.RLIMIT_NPROC, (9, 9)),
            "memory": lambda: _of_parent(libc.process_vm_readv),
            "foreign memory": lambda: _of_parent(libc.process_vm_writev),
            "trace": lambda: _done(libc.ptrace(0x4206, os.getppid(), None, None)),
            "thread": lambda: threading.Thread(target=int).start(),
            "fork": lambda: os.fork() or os._exit(0),
            "descriptors": lambda: [fd for fd in range(3, 60) if _is_open(fd)][0],
        }.items():
            try:
                act()
            except Exception:
                continue
            done.append(name)
        return 1, iter([json.dumps(done)])
def _done(result):
    if result < 0:
        raise OSError
def _of_parent(call):
    ours = ctypes.create_string_buffer(8)
    vectors = [(ctypes.c_size_t * 2)(where, 8) for where in (ctypes.addressof(ours), THERE)]
    _done(call(os.getppid(), vectors[0], 1, vectors[1], 1, 0))
def _is_open(fd):
    try:
        os.read(fd, 0)  # which the filter lets pass, unlike fstat of newer libraries
    except OSError as error:
        return error.errno != errno.EBADF
    return True
child._load = lambda name: Evil()
child.main(bytes.fromhex(sys.argv[3]))
"""


def test_whoever_takes_over_a_reader_reaches_nothing(monkeypatch):
    ours = ctypes.create_string_buffer(b"precious")
    there = f"THERE = {ctypes.addressof(ours)}\nlibc = __import__('ctypes').CDLL(None)\n"
    monkeypatch.setattr(reader, "START", there + ESCAPE)
    with open(os.devnull) as file:
        os.set_inheritable(file.fileno(), True)
        assert reader.read(b"%PDF-1.4").pages == ("[]",)
    assert ours.value == b"precious"


def test_a_reader_without_the_filter_that_it_was_given_reads_nothing(monkeypatch):
    monkeypatch.setattr(seccomp, "program", lambda *_rules: bytes(8))  # no program for a kernel
    with pytest.raises(errors.FileUnreadable) as raised:
        reader.read(samples.pdf("One"))
    assert "has refused the filter" in raised.value.detail
    knows_none = (
        "class Kernel:\n"
        "    def prctl(self, option, *_rest):\n"
        "        return child.ctypes.set_errno(child.errno.EINVAL) and 0 or -1\n"
        "child.ctypes.CDLL = lambda *_name, **_options: Kernel()\n"
    )
    start = ESCAPE.partition("class Evil")[0] + knows_none
    monkeypatch.setattr(reader, "START", f"{start}child.main(bytes.fromhex(sys.argv[3]))")
    assert reader.read(samples.word()).kind == "docx"


def test_a_reader_that_ends_itself_has_met_a_limit(monkeypatch):
    monkeypatch.setattr(reader, "START", ESCAPE.replace("done = []", "os.abort()"))
    with pytest.raises(errors.FileTooComplex):
        reader.read(b"%PDF-1.4")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_of_a_reader_fits_each_machine(machine):
    steps = seccomp.program(reader.ALLOWED, seccomp.refused(), machine=machine)
    assert steps and len(steps) % 8 == 0
    assert not seccomp.program(reader.ALLOWED, seccomp.refused(), machine="riscv64")


BUSY = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
while True: pass
"""


@pytest.mark.parametrize("does", [BUSY, "import time; time.sleep(60)"], ids=["busy", "idle"])
def test_a_reader_that_hangs_is_ended(monkeypatch, does):
    monkeypatch.setattr(reader, "START", does)
    monkeypatch.setattr(const, "WALL_SECONDS", 3.0)
    began = time.monotonic()
    with pytest.raises(errors.FileTooComplex):
        reader.read(b"%PDF-1.4")
    assert time.monotonic() - began < 10


def test_a_reader_that_talks_too_much_is_ended(monkeypatch):
    monkeypatch.setattr(reader, "START", "while True: print('x' * 65536)")
    with pytest.raises(errors.FileTooComplex):
        reader.read(b"%PDF-1.4")


def test_a_reader_that_dies_costs_its_file(monkeypatch):
    monkeypatch.setattr(reader, "START", "import os; os.kill(os.getpid(), 11)")
    with pytest.raises(errors.FileUnreadable):
        reader.read(b"%PDF-1.4")


@pytest.fixture
def slow(monkeypatch):
    """Readers that begin and go on when the test says so; who finds none free is told at once."""
    began, goes_on = threading.Semaphore(0), threading.Event()

    def read_slowly(_data):
        began.release()
        goes_on.wait(5)
        return [b'{"kind": "pdf", "count": 1}', b'{"text": "One"}', b'{"end": true}']

    monkeypatch.setattr(reader, "_said_of", read_slowly)
    monkeypatch.setattr(const, "QUEUE_TIMEOUT", 0.01)
    threads = []

    def begin(person):
        threads.append(threading.Thread(target=reader.read, args=(b"%PDF", person)))
        threads[-1].start()
        assert began.acquire(timeout=5)

    def end():
        goes_on.set()
        for thread in threads:
            thread.join()

    yield SimpleNamespace(begin=begin, end=end)
    end()


def test_the_third_waits_for_a_place(slow):
    for person in range(const.READERS):
        slow.begin(person)
    with pytest.raises(errors.ReaderBusy):
        reader.read(b"%PDF", "another")
    slow.end()
    assert reader.read(b"%PDF", "another").pages == ("One",)


def test_one_person_leaves_a_place_to_the_others(slow):
    slow.begin("ann")
    with pytest.raises(errors.ReaderBusy):
        reader.read(b"%PDF", "ann")
    slow.begin("bob")
    slow.end()
    assert reader.read(b"%PDF", "ann").pages == ("One",)


def test_a_package_that_is_missing_costs_its_kind_only(monkeypatch):
    said = b'{"problem": "Missing", "about": "pptx"}'
    monkeypatch.setattr(reader, "_said_of", lambda _data: [said])
    with pytest.raises(errors.PackageMissing, match="python-pptx"):
        reader.read(samples.slides())


def test_each_library_is_named_for_pip():
    assert set(packages.DOCUMENTS) == {"docx", "openpyxl", "pptx", "pypdfium2"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes([0, 1, 0, 0, 0, 0, 0, 2]), 131_072),
        (b"\x89PNG\r\n\x1a\n", 0),
        (b"\xff\xd8\xff\xe0\x00\x04\0\0\xff\xc2\0\x11\x08\x10\0\x20\0\x03", 0x1000 * 0x2000),
        (b"\xff\xd8\xff\xe0\x00\x00", 0),
        (b"RIFF....WEBPVP8X....\0\0\0\0\xff\xff\x00\x0f\0\0", 65_536 * 16),
        (b"RIFF....WEBPVP8L....\x2f\xff\xff\xff\x0f", 16_384 * 16_384),
        (b"RIFF....WEBPVP8 ....\0\0\0\x9d\x01\x2a\x10\x00\x20\x00", 512),
    ],
)
def test_a_picture_says_how_large_it_is(data, expected):
    assert pictures.pixels(data) == expected


@pytest.mark.parametrize("filler", [b"\xff", b"\xff\x01", b"\xff\xe0\0\x02"])
def test_a_picture_that_hides_its_size_is_not_searched_for_long(filler):
    data = b"\xff\xd8" + filler * (8 * 1024 * 1024 // len(filler))
    assert pictures.pixels(data) > const.MAX_PIXELS
    assert moments(lambda: pictures.pixels(data), 0.05)


def test_a_machine_without_room_for_a_reader_is_busy(monkeypatch):
    def refuse(*_args, **_options):
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(reader.subprocess, "Popen", refuse)
    with pytest.raises(errors.ReaderBusy):
        reader.read(samples.pdf("One"))
