"""The demo's own MCP server for times, in its real process: which place a name means, and what it answers."""

import random
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from babel import Locale

from dev import processes
from dev.servers import mcp_servers
from services.mcp.pool.pool import Pool
from services.net.egress import EgressPolicy
from services.specs import ServerSpec

SEED = 20261127
CITIES = 200
LANGUAGES = ("en", "zh_Hant", "zh_Hans")
# Names that a larger city has, too.
NAMESAKES = {
    *("America/Miquelon", "America/St_Thomas", "Atlantic/Stanley", "Indian/Mahe"),
    "Pacific/Chatham",
}


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    server = mcp_servers.start_clock(processes.free_port(), folder=tmp_path_factory.mktemp("clock"))
    server.wait()
    yield ServerSpec(id=1, name="time", url=server.url)
    server.stop()


@pytest.fixture
async def call(clock):
    pool = Pool(EgressPolicy.parse("127.0.0.1:*"))

    async def call(tool, **arguments):
        return await pool.call(clock, 1, tool, arguments, timeout=60)

    yield call
    await pool.close()


def text(result):
    return result["content"][0]["text"]


def drawn():
    """Zones and what CLDR calls their cities in each language."""
    cities = [Locale.parse(language).time_zones for language in LANGUAGES]
    zones = set(cities[1]) & set(cities[2]) - NAMESAKES
    zones = [zone for zone in sorted(zones) if not zone.startswith(("Etc/", "Antarctica/"))]
    for zone in random.Random(SEED).sample(zones, CITIES):
        in_english = {"city": zone.rpartition("/")[2].replace("_", " "), **cities[0].get(zone, {})}
        yield zone, [in_english["city"], *(one[zone]["city"] for one in cities[1:])]


async def test_cities_that_cldr_names_are_found_in_three_languages(call):
    wrong, now = [], datetime.now(UTC)
    for zone, names in drawn():
        for name in names:
            found = (await call("get_current_time", place=name)).get("structuredContent") or {}
            offset = now.astimezone(ZoneInfo(zone)).utcoffset()
            its = now.astimezone(ZoneInfo(found.get("time_zone", "UTC"))).utcoffset()
            if not found or its != offset:
                wrong.append((name, zone, found))
    assert not wrong


@pytest.mark.parametrize(
    ("said", "zone", "taken"),
    [
        ("Lyon", "Europe/Paris", "Lyon, France"),
        ("米蘭", "Europe/Rome", "Milan, Italy"),
        ("雪梨", "Australia/Sydney", "Sydney, Australia"),
        ("悉尼", "Australia/Sydney", "Sydney, Australia"),
        ("紐約", "America/New_York", "New York City, United States"),
        ("Washington, D.C.", "America/New_York", "Washington, United States"),
        ("St. Petersburg", "Europe/Moscow", "Saint Petersburg, Russia"),
        ("sao paulo", "America/Sao_Paulo", "São Paulo, Brazil"),
        # one of several that are called so: the largest, or the one in that country
        ("Paris", "Europe/Paris", "Paris, France"),
        ("Paris, Texas", "America/Chicago", "Paris, United States"),
        ("Paris, France", "Europe/Paris", "Paris, France"),
        ("法國巴黎", "Europe/Paris", "Paris, France"),
        ("Valencia", "America/Caracas", "Valencia, Venezuela"),
        ("Valencia, Spain", "Europe/Madrid", "Valencia, Spain"),
        ("Birmingham", "Europe/London", "Birmingham, United Kingdom"),
        ("聖地牙哥", "America/Santiago", "Santiago, Chile"),
        # as Chinese is written
        ("「倫敦」", "Europe/London", "London, United Kingdom"),
        ("法国，里昂。", "Europe/Paris", "Lyon, France"),
        ("臺北市", "Asia/Taipei", "Taipei, Taiwan"),
        ("東京時間", "Asia/Tokyo", "Tokyo, Japan"),
        ("杜哈那邊", "Asia/Qatar", "Doha, Qatar"),
        ("巴塞罗那那边现在", "Europe/Madrid", "Barcelona, Spain"),
        ("Oslo right now", "Europe/Oslo", "Oslo, Norway"),
        # countries whose people have one time
        ("Kenya", "Africa/Nairobi", "Kenya"),
        ("埃及", "Africa/Cairo", "Egypt"),
        ("中国", "Asia/Shanghai", "China"),
        ("Spain", "Europe/Madrid", "Spain"),
        # zones, and what a small model thinks is one
        ("America/Lima", "America/Lima", "America/Lima"),
        ("asia/ho chi minh", "Asia/Ho_Chi_Minh", "Asia/Ho_Chi_Minh"),
        ("UTC", "UTC", "UTC"),
        ("Europe/Lyon", "Europe/Paris", "Lyon, France"),
    ],
)
async def test_a_place_is_what_people_say(call, said, zone, taken):
    result = await call("get_current_time", place=said)
    assert taken in text(result)
    assert result["structuredContent"]["time_zone"] == zone


@pytest.mark.parametrize(
    ("said", "nearest"),
    [
        ("Lyonn", "Lyon, France"),
        ("Barcelonna", "Barcelona, Spain"),
        ("斯得哥爾摩", "Stockholm, Sweden"),
        ("United States", "Los Angeles"),
        ("澳洲", "Sydney"),
    ],
)
async def test_an_unknown_place_is_answered_with_the_nearest_names(call, said, nearest):
    result = await call("get_current_time", place=said)
    assert result["isError"]
    assert nearest in text(result)
    assert "A time from memory is no answer." in text(result)
    assert not re.search(r"\d", text(result))


@pytest.mark.parametrize("said", ["", "。", "Xqzzt-wvk", "火星上"])
async def test_what_is_no_place_is_an_error(call, said):
    assert (await call("get_current_time", place=said))["isError"]


async def test_the_current_time_is_one_sentence_and_its_parts(call):
    before = datetime.now(UTC)
    result = await call("get_current_time", place="開羅")
    told = result["structuredContent"]
    moment = datetime.fromisoformat(f"{told['date']}T{told['time']}:00{told['utc_offset']}")
    assert before - timedelta(minutes=1) < moment <= datetime.now(UTC)
    assert told["place"], told["country"] == ("Cairo", "Egypt")
    day = f"{told['weekday']}, {moment.day} {moment:%B %Y}"
    assert text(result) == (
        f"It is {told['time']} on {day} in 開羅 (Cairo, Egypt) (UTC{told['utc_offset']})."
    )


@pytest.mark.parametrize(
    ("time", "place", "target", "sentence"),
    [
        ("16:00", "Nairobi", "Lima", "16:00 in Nairobi, Kenya is 08:00 in Lima, Peru, the same day."),
        ("9:40 pm", "Lima", "Nairobi", "21:40 in Lima, Peru is 05:40 in Nairobi, Kenya, the next day."),
        ("1 a.m.", "Seoul", "Lima", "01:00 in Seoul, South Korea is 11:00 in Lima, Peru, the day before."),
        ("下午3點半", "孟買", "Lima", "15:30 in 孟買 (Mumbai, India) is 05:00 in Lima, Peru, the same day."),
        ("16：00", "UTC", "Kathmandu", "16:00 in UTC is 21:45 in Kathmandu, Nepal, the same day."),
        ("12 AM", "UTC", "Tokyo", "00:00 in UTC is 09:00 in Tokyo, Japan, the same day."),
    ],
)  # fmt: skip
async def test_a_time_is_told_of_another_place(call, time, place, target, sentence):
    result = await call("convert_time", time=time, place=place, target_place=target)
    assert text(result) == sentence


@pytest.mark.parametrize("time", ["25:00", "now", "", "12:75"])
async def test_what_is_no_time_of_day_is_an_error(call, time):
    result = await call("convert_time", time=time, place="Lima", target_place="Cairo")
    assert result["isError"]
    assert "HH:MM" in text(result)
