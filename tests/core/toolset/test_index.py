"""Finding tools by words: in English and Chinese, whatever servers write, and fast."""

import json

from processor_time import seconds

from services.specs import ServerSpec, ToolSpec
from services.toolset import lookup
from services.toolset.index import ToolIndex
from services.toolset.lookup import Lookup
from services.toolset.words import MAX_TEXT, words


def index_of(*names):
    return ToolIndex(
        [(name, about, "", "") for name, _, about in (n.partition(": ") for n in names)]
    )


def test_a_question_meets_names_in_any_form():
    index = index_of(
        "listIssues: Lists the issues of a repository",
        "send_mail: Sends an e-mail",
        "HTTPServer.restart: Restarts a server",
    )
    assert index.search("show me every issue", 8) == [0]
    assert index.search("sending mails", 8) == [1]
    assert index.search("restart the http server", 8)[0] == 2
    assert index.search("of the and", 8) == [] == index.search("", 8)


def test_chinese_needs_no_blanks():
    index = index_of("a: 查詢天氣預報", "b: 傳送電子郵件", "c: 发送邮件给同事", "d: 売上を検索する")
    assert index.search("明天的天氣", 8) == [0]
    assert index.search("請幫我寄一封電子郵件", 8)[0] == 1
    assert index.search("给同事发邮件", 8)[0] == 2
    assert index.search("検索", 8) == [3]


def test_chinese_meets_english_and_the_other_way_round():
    english = index_of(
        "list_files: Lists a folder", "send_email: Sends a message", "forecast: Rain"
    )
    assert english.search("列出資料夾裡的檔案", 8)[0] == 0
    assert english.search("发送邮件", 8)[0] == 1
    assert english.search("明天的天氣預報", 8)[0] == 2
    chinese = index_of("a: 查询天气", "b: 發送郵件", "c: 获取新闻热榜")
    assert [chinese.search(words, 8)[0] for words in ("weather", "send a mail", "news")] == [
        0,
        1,
        2,
    ]


def test_a_part_of_a_longer_word_means_nothing_of_its_own():
    """投影片 are slides and 影片 a video, 儲存庫 a repository and 儲存 to save."""
    index = index_of("get_video: Streams", "clone_repo: Copies", "add_slide: Draws", "save_file: X")
    assert index.search("做一份投影片", 8) == [2]
    assert index.search("儲存", 8) == [3]
    assert index.search("複製儲存庫", 8) == [1]
    assert index.search("repository", 8) == [1]
    assert index.search("開一份影片", 8)[0] == 0


def test_what_a_tool_says_first_counts_more():
    first, last = "Prints invoices", "Pays the people of a firm, in any currency, on its last day"
    index = index_of(f"one: {last}. {first}.", f"two: {first}. {last}.")
    assert index.search("print an invoice", 2) == [1, 0]
    assert index.search("pay people", 2) == [0, 1]


def test_tools_are_found_by_what_is_said_of_their_server():
    tools = [
        ToolSpec(id=n, server_id=n, name="search", alias=f"search_{n}", description="Searches.")
        for n in (1, 2)
    ]
    servers = {
        1: ServerSpec(id=1, name="one", description="Homestays and hotels all over the world."),
        2: ServerSpec(id=2, name="two", description="Trains in China."),
    }
    lookup = Lookup(tools, servers)
    assert lookup.find(["search a train"])[0].id == 2
    assert lookup.find(["search a homestay"])[0].id == 1


def test_a_rare_word_counts_more_and_equals_keep_their_order():
    names = [f"get_item_{number}: Gets one" for number in range(20)]
    index = index_of(*names, "get_invoice: Gets one")
    assert index.search("get invoice", 3) == [20, 0, 1]


def test_a_text_that_repeats_a_word_does_not_win_by_it():
    index = index_of("pay: " + "invoice " * 5_000, "send_invoice: Sends an invoice")
    assert index.search("send invoice", 2) == [1, 0]


def test_foreign_texts_are_looked_at_up_to_a_length():
    assert len(words("漢" * 1_000_000)) < MAX_TEXT
    assert len(words("x" * 1_000_000)) == 1
    assert words("\ud800 \0 a1") == ["1"]


def test_ten_thousand_tools_are_searched_in_milliseconds():
    verbs = ("list", "get", "create", "delete", "update")
    index = index_of(
        *(f"{verbs[n % 5]}_thing_{n % 997}: About one of the things {n}" for n in range(10_000))
    )
    assert index.search("delete thing 996", 8)
    assert seconds(lambda: index.search("please delete the thing 17 and list it", 8)) < 0.2


def test_what_is_left_out_of_a_description_is_told():
    tool = ToolSpec(
        id=1,
        server_id=1,
        name="add",
        alias="s__add",
        description="Adds." + " " * 600 + "And deletes.",
    )
    long = ToolSpec(id=2, server_id=1, name="say", alias="s__say", description="Says. " * 100)
    answer = json.loads(lookup.found([], [tool, long]).text)
    assert [one["description"][-12:] for one in answer["more"]] == ["And deletes.", "Says. Says.…"]
