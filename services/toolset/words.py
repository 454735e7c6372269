"""Words of a text, so that a question and a tool's description meet: ``list_issues`` and “listing an issue”.

Names are split where their parts begin, English words lose their endings, and Chinese, Japanese and Korean, which
are written without blanks, become pairs of characters.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

MAX_TEXT = 2_000  # characters of one text that are looked at
MAX_WORD = 40  # characters

_PART = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+"  # kana, Han, Hangul
    r"|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+"
)
_NO_BLANKS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_ARTICLES = """
a all an and any are as at be by can each for from has have if in into is it its me my not of on only or other our over
than that the their then there these this those to tool use used using was we were what when where which will with you
your
"""
_EMPTY = frozenset(_ARTICLES.split())
# What people and tools call the same, in English and in Chinese as it is written in Taiwan and in China; a line is a
# group.
_SAME = """
create add new insert make generate build write 建立 新增 創建 创建 添加 產生 产生 生成 製作 制作 撰寫 编写
get fetch read retrieve load show view open look check collect 取得 讀取 获取 獲取 读取 查看 檢視 開啟 打开 收集
find search query discover 查詢 查询 搜尋 搜索 尋找 查找 寻找 檢索 检索
list enumerate browse 列出 清單 清单 列表 瀏覽 浏览
delete remove erase drop clear 刪除 删除 移除 清除
update edit modify change set replace rename 更新 修改 編輯 编辑 變更 变更 設定 设置
send post publish share submit deliver 傳送 發送 发送 寄出 發布 发布 分享
save write store export 儲存 保存 存檔 匯出 导出 写入 寫入
file document path txt markdown md 檔案 文件 文档
picture image photo png jpg screenshot 圖片 图片 圖像 图像 影像 照片 截圖 截图
presentation powerpoint ppt pptx slide 簡報 投影片 演示 幻灯
word docx document
spreadsheet excel xls xlsx sheet workbook 試算表 表格
website web page url site html browser link 網站 网站 網頁 网页 網址 网址 連結 链接
news headline article trend trending 新聞 新闻 頭條 头条 趨勢 趋势 熱門 热门
compute calculate math sum 計算 计算
summary summarize abstract 摘要 總結 总结
mail email message 郵件 邮件 信件 訊息 消息
calendar event schedule meeting appointment 行事曆 日曆 日历 日程 會議 会议
map route direction navigate location place geocode address 地圖 地图 路線 路线 導航 导航 位置 地點 地点 地址
weather forecast temperature 天氣 天气 氣象 气象 預報 预报
stock price ticker share quote market 股票 股價 股价 價格 价格
crypto cryptocurrency bitcoin coin 加密貨幣 加密货币 比特幣 比特币
run execute command shell terminal 執行 执行 命令 指令
hotel flight ticket travel trip 飯店 酒店 航班 機票 车票 車票 旅遊 旅行
paper article publication 論文 论文 文章
repository repo git 儲存庫 仓库
database sql table 資料庫 数据库
user person people member contact 使用者 用户 成員 成员 聯絡人 联系人
video youtube transcript subtitle 影片 视频 字幕
audio music song sound 音訊 音频 音樂 音乐 歌曲
time date clock day today current now 時間 时间 日期 今天 目前 当前
note memo 筆記 笔记 備忘 备忘
error bug issue problem 錯誤 错误 問題 问题
convert transform format 轉換 转换 格式
recipe dish food cook 食譜 食谱 菜譜 菜谱 烹飪 烹饪
extract parse 擷取 提取 解析
company organization business 公司 企業 企业
invoice bill payment 發票 发票 付款
customer client 客戶 客户
order purchase 訂單 订单 採購 采购
folder directory 資料夾 文件夹 目錄 目录
train railway 火車 火车 列車 列车 高鐵 高铁
chart graph plot 圖表 图表
text content 文字 文本 內容 内容
rank top 排名 排行 榜單 榜单
book 書籍 书籍 圖書 图书
character role 角色
report 報告 报告 報表 报表
product item 產品 产品 商品
task todo 任務 任务 待辦 待办
translate translation 翻譯 翻译
download 下載 下载
upload 上傳 上传
detail information info 詳情 详情 詳細 详细 資訊 信息
compare difference different diff 比較 比较 差異 差异
city 城市
station 車站 车站
"""
_GENERIC = """
get make find use generate provide help need want task step information info detail detailed data latest related
multiple different various relevant specific according based
"""
_PATH = re.compile(r"(?:^|\s)[~.]{0,2}/\w|\w\.(?:md|txt|pdf|docx?|csv|json|html?)\b")


def words(text: str) -> list[str]:
    """
    >>> words("listIssues of HTTPServers"), words("查詢天氣")
    (['list', 'issu', 'http', 'server'], ['查詢', '詢天', '天氣'])
    """
    found = []
    for match in _PART.finditer(text[:MAX_TEXT]):
        part = match[0]
        if _NO_BLANKS.match(part):
            found += [part[i : i + 2] for i in range(max(1, len(part) - 1))]
        elif (word := part[:MAX_WORD].lower()) not in _EMPTY:
            found.append(stem(word))
    return found


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """
    >>> [stem(word) for word in ("queries", "query", "creating", "creates", "stopped", "news")]
    ['query', 'query', 'creat', 'creat', 'stop', 'new']
    """
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word


def _groups() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Other terms of its groups for each term; an English term is a stem."""
    same: dict[str, dict[str, None]] = {}
    for line in _SAME.strip().splitlines():
        group = [one if _NO_BLANKS.match(one) else stem(one) for one in line.split()]
        for term in group:
            same.setdefault(term, {}).update(
                dict.fromkeys(other for other in group if other != term)
            )
    return {term: tuple(tuple(words(other)) for other in others) for term, others in same.items()}


SYNONYMS = _groups()
_LONGEST = max(map(len, filter(_NO_BLANKS.match, SYNONYMS)))  # characters


def _terms(text: str) -> Iterator[str]:
    """Terms that may have synonyms. Where there are no blanks the longest term counts: 投影片 holds no 影片."""
    for match in _PART.finditer(text[:MAX_TEXT]):
        part, at = match[0], 0
        if not _NO_BLANKS.match(part):
            yield stem(part[:MAX_WORD].lower())
            continue
        while at < len(part):
            sizes = range(min(_LONGEST, len(part) - at), 1, -1)
            size = next((n for n in sizes if part[at : at + n] in SYNONYMS), 0)
            if size:
                yield part[at : at + size]
            at += size or 1


def same(query: str) -> Iterator[tuple[list[str], set[str]]]:
    """Terms of a query that have synonyms: ``(its words, the words of those that mean the same)``.

    >>> [term for term, _others in same("做投影片")]
    [['投影', '影片']]
    """
    is_path = _PATH.search(query[:MAX_TEXT])
    terms: list[str] = [*_terms(query), *([stem("file")] if is_path else [])]
    for term in dict.fromkeys(terms):
        if others := SYNONYMS.get(term):
            yield words(term), {word for other in others for word in other}


GENERIC = frozenset(words(_GENERIC))


def of_query(query: str) -> list[str]:
    """The words of a query; who writes a path means a file.

    >>> of_query("save it to /home/u/report")
    ['sav', 'hom', 'u', 'report', 'fil']
    """
    return words(query) + (words("file") if _PATH.search(query[:MAX_TEXT]) else [])
